"""The background scan of a logdir: its thread, its state, and its failures."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.discovery import catalog, scanner
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.discovery.trace_head import Heads
from tb_privateuse1.readers import READERS
from tb_privateuse1.trace.errors import TraceError
from tests.support.clock import FakeClock
from tests.support.trace_files import trace


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Make scans list the first run at once and continue when the event is set."""
    go = threading.Event()
    walk = catalog.walk

    def waiting(*arguments: Any, **options: Any) -> Iterator[catalog.Entry]:
        for entry in walk(*arguments, **options):
            yield entry
            go.wait(10)

    monkeypatch.setattr(catalog, "walk", waiting)
    monkeypatch.setattr(scanner, "_PUBLISH_S", -1)
    yield go
    go.set()


def until(condition: object, seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def test_the_constructor_starts_nothing(tmp_path: Path) -> None:
    before = threading.active_count()
    Scanner(str(tmp_path), READERS).close()
    assert threading.active_count() == before


def test_active_while_the_first_scan_runs_and_then_if_there_are_traces(
    tmp_path: Path, slow: threading.Event
) -> None:
    trace(tmp_path / "a" / "host_1.1.pt.trace.json")
    trace(tmp_path / "b" / "host_1.1.pt.trace.json")
    found = Scanner(str(tmp_path), READERS)
    assert found.is_active()
    assert found.catalog().runs.scanning
    until(lambda: found.catalog().runs.runs)
    assert found.find("a").worker == "host_1"  # listed already
    with pytest.raises(TraceError) as caught:
        found.find("b", wait_s=0.01)
    assert caught.value.code == "scanning"
    slow.set()
    assert found.find("b").worker == "host_1"  # waits
    assert not found.catalog().runs.scanning
    assert found.is_active()
    found.close()


def test_an_empty_logdir_is_inactive_until_a_trace_appears(tmp_path: Path) -> None:
    found = Scanner(str(tmp_path / "later"), READERS, interval_s=0.02)
    with pytest.raises(TraceError):
        found.find()
    assert not found.is_active()
    assert [warning.code for warning in found.catalog().runs.warnings] == ["no_such_path"]
    path = trace(tmp_path / "later" / "r" / "host_1.1.pt.trace.json")
    until(found.is_active)
    assert found.catalog().runs.warnings == ()
    size = path.stat().st_size
    trace(path, note="grown")
    until(lambda: found.find().trace.size > size)
    path.unlink()
    until(lambda: not found.is_active())
    found.close()


def test_interval_of_zero_scans_once(tmp_path: Path) -> None:
    found = Scanner(str(tmp_path), READERS, interval_s=0)
    with pytest.raises(TraceError):
        found.find()
    trace(tmp_path / "r" / "host_1.1.pt.trace.json")
    assert found._thread
    found._thread.join()
    assert not found.is_active()


def test_a_change_is_seen_after_the_interval_and_not_before(tmp_path: Path) -> None:
    clock = FakeClock()
    found = Scanner(str(tmp_path), READERS, interval_s=3, clock=clock.now, wait=clock.wait)
    found.catalog()  # starts the scans
    assert clock.until_someone_waits() == 3
    trace(tmp_path / "r" / "host_1.1.pt.trace.json")
    clock.advance(2.5)
    assert clock.until_someone_waits() == 0.5
    assert not found.is_active()
    clock.advance(0.5)
    assert clock.until_someone_waits() == 3
    assert found.is_active()
    found.close()


def test_a_search_that_finds_the_same_leaves_the_catalog(
    tmp_path: Path,
) -> None:
    path = trace(tmp_path / "r" / "host_1.1.pt.trace.json")
    found = Scanner(str(tmp_path), READERS)
    heads = Heads(READERS, clock=lambda: time.time_ns() + 3600 * 10**9)  # long after
    found._scan(heads)
    first = found._catalog
    assert not first.runs.scanning
    found._scan(heads)
    assert found._catalog is first, "what asks for it knows by that that nothing changed"
    trace(path, note="grown")
    found._scan(heads)
    assert found._catalog != first
    path.unlink()
    found._scan(heads)
    assert found._catalog.runs.runs == ()


def test_a_slow_scan_is_followed_by_a_pause_as_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()

    def walk(*_: object, **__: object) -> Iterator[catalog.Entry]:
        clock.advance(8)
        yield from ()

    monkeypatch.setattr(catalog, "walk", walk)
    found = Scanner(str(tmp_path), READERS, interval_s=3, clock=clock.now, wait=clock.wait)
    found.catalog()
    assert clock.until_someone_waits() == 8
    found.close()


def test_a_scan_that_fails_is_a_warning_and_the_next_one_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace(tmp_path / "r" / "host_1.1.pt.trace.json")
    walk, fails = catalog.walk, [True]

    def failing(*arguments: Any, **options: Any) -> Iterator[catalog.Entry]:
        if fails:
            raise RuntimeError("disk on fire")
        return walk(*arguments, **options)

    monkeypatch.setattr(catalog, "walk", failing)
    found = Scanner(str(tmp_path), READERS, interval_s=0.02)
    until(lambda: not found.catalog().runs.scanning)
    assert "disk on fire" in found.catalog().runs.warnings[0].message
    fails.clear()
    until(found.is_active)
    assert found.catalog().runs.warnings == ()
    found.close()


def test_logdir_spec(tmp_path: Path) -> None:
    trace(tmp_path / "x" / "r" / "host_1.1.pt.trace.json")
    found = Scanner(
        "", READERS, [("one", str(tmp_path / "x")), ("two", "nofs://bucket")], interval_s=0
    )
    assert found.find("one/r").worker == "host_1"
    assert [warning.code for warning in found.catalog().runs.warnings] == ["remote_driver"]
    found.close()
