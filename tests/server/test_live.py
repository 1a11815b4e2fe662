"""A run that goes on: what is new, grown, replaced or deleted shows, and nothing else is read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_privateuse1.discovery.file import File
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.discovery.trace_head import Heads
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.engines import local
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tests.support import logdir as made
from tests.support.server import serve
from tests.support.trace_files import sidecar, trace
from tests.support.web import until

INTERVAL_S = 0.05


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for name in ("a", "b", "c"):
        trace(tmp_path / "log" / name / "host_1.1.pt.trace.json", rank=0, name=f"aten::{name}")
    return tmp_path / "log"


@pytest.fixture
def scanner(log: Path) -> Iterator[Scanner]:
    result = Scanner(str(log), READERS, interval_s=INTERVAL_S)
    yield result
    result.close()


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the files whose heads were read, as if none had only just changed."""
    sizes: list[int] = []
    monkeypatch.setattr(File, "may_seem_same", lambda *_: False)
    original = Heads._trace
    monkeypatch.setattr(Heads, "_trace", lambda *a: sizes.append(a[3].size) or original(*a))
    return sizes


def names(scanner: Scanner) -> list[str]:
    return [run.run for run in scanner.catalog().runs.runs]


def test_only_what_changed_is_looked_at(log: Path, looked: list[int], scanner: Scanner) -> None:
    before = {name: scanner.find(name) for name in "abc"}
    assert len(looked) == 3
    looked.clear()

    new = trace(log / "d" / "host_1.1.pt.trace.json", rank=0)
    until(lambda: names(scanner) == ["a", "b", "c", "d"])
    assert looked == [new.stat().st_size]

    grown = trace(log / "b" / "host_1.1.pt.trace.json", rank=0, note="grown")
    until(lambda: scanner.find("b") != before["b"])
    assert looked[1:] == [grown.stat().st_size]

    (log / "c" / "other").write_bytes(Path(before["c"].trace.path).read_bytes())
    os.replace(log / "c" / "other", before["c"].trace.path)  # the same content, written anew
    until(lambda: scanner.find("c") != before["c"])
    assert len(looked) == 3

    sidecar(log / "a" / "host_1.1.kernel_event.json")
    until(lambda: scanner.find("a").sidecar is not None)
    second = trace(log / "a" / "host_1.2.pt.trace.json", rank=0)
    until(lambda: len(scanner.catalog().runs.runs[0].workers[0].spans) == 2)
    assert scanner.find("a").trace.path == str(second)
    assert scanner.find("a", span=1).sidecar is not None

    shutil.rmtree(log / "d")
    until(lambda: names(scanner) == ["a", "b", "c"])
    Path(before["b"].trace.path).unlink()
    until(lambda: names(scanner) == ["a", "c"])
    with pytest.raises(TraceError, match="no run b"):
        scanner.find("b")
    assert len(looked) == 4  # and the second span


def test_only_what_changed_is_read(
    log: Path, scanner: Scanner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    original = local.ingest

    def counting(files: TraceFiles, *rest: object) -> object:
        read.append(files.trace.path)
        return original(files, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(local, "ingest", counting)
    made_of = Store(jobs=0, cache_dir=tmp_path / "cache")
    traces = {name: made_of.trace(scanner.find(name)) for name in "abc"}
    assert len(read) == 3
    read.clear()
    path = trace(log / "b" / "host_1.1.pt.trace.json", rank=0, name="aten::renamed", note="x")
    size = path.stat().st_size
    until(lambda: scanner.find("b").trace.size == size)
    assert "aten::renamed" in made_of.trace(scanner.find("b")).strings
    for name in "ac":
        assert made_of.trace(scanner.find(name)) is traces[name]
    assert read == [str(path)]


def test_a_real_tensorboard_shows_what_changed(tmp_path: Path) -> None:
    log = made.write(tmp_path / "log")
    with serve("--logdir", log, "--reload_interval", "1") as board:

        def spans(run: str) -> list[dict[str, object]] | None:
            listed = board.plugin("runs").json["runs"]
            found = [r["workers"][0]["spans"] for r in listed if r["run"] == run]
            return found[0] if found else None

        until(lambda: spans("host"))
        assert board.plugin("operators?run=host").json["rows"][0]["name"] == "aten::mm"
        path = next((log / "host").glob("*.json"))
        trace(path, name="aten::renamed")
        trace(log / "later" / "host_1.1.pt.trace.json")
        shutil.rmtree(log / "mlp")
        size = path.stat().st_size
        until(lambda: (s := spans("host")) and s[0]["bytes"] == size)
        until(lambda: spans("later"))
        until(lambda: spans("mlp") is None)
        assert board.plugin("operators?run=host").json["rows"][0]["name"] == "aten::renamed"
        assert board.plugin("overview?run=mlp").status == 404
