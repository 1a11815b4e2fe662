"""Other recordings of a run that several readers need at once: each is read by one of them."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tb_privateuse1 import readers
from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers.raw import Progress, Raw
from tb_privateuse1.storage import cache_directory, disk_cache, ingest
from tb_privateuse1.storage.file_lock import Claim
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tests.server.storage.conftest import but_parts
from tests.unit.inference.device_timeline.test_other_recordings import recorded


@pytest.fixture
def four(tmp_path: Path) -> list[TraceFiles]:
    """Two ranks with two spans each; the last one asks two of the others, the first one none."""
    for rank in (0, 1):
        for span in (100, 200):
            recorded(tmp_path / "log", f"host_{rank}.{span}", rank)
    return list(catalog.scan(str(tmp_path / "log"), readers.READERS).files.values())


class Readings:
    """Which files were read, by name; ``first`` happens before the shared one is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, first: Callable[[], object]) -> None:
        self.names: list[str] = []
        read = readers.read

        def noted(path: str, progress: Progress, *more: Any) -> Raw:
            self.names.append(Path(path).name.removesuffix(".pt.trace.json"))
            if self.names[-1] == "host_0.100":
                first()
            return read(path, progress, *more)

        monkeypatch.setattr(readers, "read", noted)


def sleeps_by(monkeypatch: pytest.MonkeyPatch, look: Callable[[float], object]) -> None:
    """Let ``look`` take the place of its sleeps; a reader waits for a new file's clock, too."""
    monkeypatch.setattr(ingest, "time", SimpleNamespace(sleep=look))


def target(files: TraceFiles, tmp_path: Path) -> Path:
    return tmp_path / "cache" / f"{disk_cache.cache_key(files)}.arrow"


def test_readers_at_the_same_time_read_another_recording_once(
    four: list[TraceFiles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_ask, asked, claim = threading.Event(), set[int](), cache_directory.claim

    def noted(path: Path) -> Claim | None:
        asked.add(threading.get_ident())
        if len(asked) == 3:
            all_ask.set()
        return claim(path)

    monkeypatch.setattr(cache_directory, "claim", noted)
    readings = Readings(monkeypatch, lambda: all_ask.wait(10))
    with ThreadPoolExecutor(3) as pool:
        made = [
            pool.submit(ingest.ingest, files, None, [target(files, tmp_path)]) for files in four[1:]
        ]
        assert all(len(one.result(60).kernels) for one in made)
    assert len(asked) == 3
    assert readings.names.count("host_0.100") == 1


def test_servers_at_the_same_time_read_each_recording_once(
    four: list[TraceFiles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Barrier(8)
    readings = Readings(monkeypatch, lambda: None)

    def server(files: TraceFiles) -> int:
        start.wait(10)
        return len(Store(0, tmp_path / "cache").trace(files).kernels)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(server, four * 2))
    names = [f"host_{rank}.{span}" for rank in (0, 1) for span in (100, 200)]
    assert sorted(readings.names) == names
    assert len(but_parts(tmp_path / "cache")) == 4  # no claim is left


def test_a_reader_that_was_killed_is_followed(
    four: list[TraceFiles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = target(four[0], tmp_path)
    code = "import sys, pathlib; from tb_privateuse1.storage import cache_directory\n"
    code += (
        "claim = cache_directory.claim(pathlib.Path(sys.argv[1])); print(bool(claim), flush=True)\n"
    )
    code += "sys.stdin.read()"
    readings = Readings(monkeypatch, lambda: None)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"True\n"
        looks: list[float] = []

        def look(seconds: float) -> None:
            looks.append(seconds)
            holder.kill()
            holder.wait()

        sleeps_by(monkeypatch, look)
        trace = ingest.ingest(four[1], None, [target(four[1], tmp_path)])
    assert looks == [ingest._LOOK_S]
    assert len(trace.kernels)
    assert readings.names == ["host_0.200", "host_0.100"]
    assert path.is_file()


def test_a_reader_that_was_stopped_is_passed_over(
    four: list[TraceFiles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []
    sleeps_by(monkeypatch, looks.append)
    readings = Readings(monkeypatch, lambda: None)
    held = cache_directory.claim(target(four[0], tmp_path))
    assert held
    with held:
        ingest.ingest(four[1], None, [target(four[1], tmp_path)])
    assert sum(looks) == cache_directory.STALL_S
    assert readings.names == ["host_0.200", "host_0.100"]


def test_who_is_canceled_while_it_waits_makes_no_trace(
    four: list[TraceFiles], tmp_path: Path
) -> None:
    """One without the other's durations would be stored for good."""

    def cancel(phase: str, *_: object) -> None:
        if phase == "inferring":
            looks.append(phase)
        if len(looks) > 1:
            raise TraceError("canceled", "enough")

    looks: list[str] = []
    held = cache_directory.claim(target(four[0], tmp_path))
    assert held
    with held, pytest.raises(TraceError, match="enough"):
        ingest.ingest(four[1], cancel, [target(four[1], tmp_path)])
