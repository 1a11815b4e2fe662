"""The store reads each trace once, anew when it changed, and reports progress and errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.storage import disk_cache, failure_cache, ingest
from tb_privateuse1.storage.engines import local
from tb_privateuse1.storage.jobs import Pending, Progress
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tests.support.same import same
from tests.support.trace_files import trace


def unreadable(files: TraceFiles, made: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, whoever reads a file fails."""

    def fail(*_: object) -> None:
        raise AssertionError("it was read again")

    monkeypatch.setattr(local, "in_process", fail)
    monkeypatch.setattr(local, "ingest", fail)


def until(condition: object, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def test_in_a_process_and_in_the_thread_it_is_the_same(
    files: TraceFiles, made: Store, tmp_path: Path
) -> None:
    apart = made.trace(files)
    here = Store(jobs=0, cache_dir=tmp_path / "other").trace(files)
    assert same(apart, here)
    assert apart.meta.worker == "host_1"
    assert apart.meta.rank == 3
    assert apart.meta.timeline == "inferred"
    assert apart.meta.files == files.names


def test_read_once_then_from_memory_then_from_disk(
    files: TraceFiles, made: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = made.trace(files)
    unreadable(files, made, monkeypatch)
    assert made.trace(files) is first
    again = Store(cache_dir=tmp_path / "cache")
    assert same(again.trace(files, wait_s=0), first)


def test_a_changed_file_is_read_anew(files: TraceFiles, made: Store) -> None:
    assert made.trace(files).strings
    trace(Path(files.trace.path), rank=3, name="aten::renamed")
    assert "aten::renamed" in made.trace(files).strings
    Path(files.sidecar.path).unlink()  # type: ignore[union-attr]
    assert made.trace(files).meta.timeline == "none"


def test_a_deleted_file_is_an_error_even_if_it_was_read(files: TraceFiles, made: Store) -> None:
    made.trace(files)
    Path(files.trace.path).unlink()
    with pytest.raises(
        TraceError, match=r"host_1\.1\.pt\.trace\.json\.gz cannot be read"
    ) as caught:
        made.trace(files)
    assert caught.value.code == "unreadable"


@pytest.mark.parametrize("jobs", [0, 1])
def test_an_unreadable_trace_fails_once_and_is_remembered(
    files: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    path = Path(files.trace.path)
    path.write_bytes(path.read_bytes()[:30])
    made = Store(jobs, tmp_path / "cache")
    with pytest.raises(TraceError) as first:
        made.trace(files)
    assert str(tmp_path) not in first.value.message  # names, no paths of the server
    with monkeypatch.context() as patch:
        unreadable(files, made, patch)
        with pytest.raises(TraceError) as second:
            made.trace(files)
    assert second.value is not first.value
    assert (second.value.code, second.value.message) == (first.value.code, first.value.message)
    trace(path)
    assert made.trace(files).ops
    made.close()


def test_an_unreadable_sidecar_costs_the_device_times_only(files: TraceFiles, made: Store) -> None:
    assert files.sidecar is not None
    Path(files.sidecar.path).write_bytes(b"{")
    found = made.trace(files)
    assert found.meta.timeline == "none"
    assert "sidecar_unreadable" in [finding.code for finding in found.meta.findings]
    assert len(found.ops) == 4


def test_pending_tells_how_far_it_is(files: TraceFiles, made: Store, slow: Path) -> None:
    with pytest.raises(Pending) as first:
        made.trace(files, wait_s=0)
    assert first.value.progress == Progress("waiting", 0, files.trace.size, 0, None)

    def reading() -> bool:
        with pytest.raises(Pending) as caught:
            made.trace(files, wait_s=0)
        progress = caught.value.progress
        return (progress.phase, progress.bytes_done, progress.events) == ("reading", 1, 7)

    until(reading)
    slow.touch()
    assert len(made.trace(files).ops) == 4


def test_seconds_left(files: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]

    def reading(_: object, progress: Any, *__: object) -> Trace:
        progress("reading", 1, 4, 0)
        now[0] += 2
        progress("reading", 1, 4, 0)
        now[0] += 4
        progress("reading", 3, 4, 0)
        progress("inferring", 4, 4, 0)
        return Trace()

    monkeypatch.setattr(local, "ingest", reading)
    heard: list[Progress] = []
    made = Store(
        0,
        tmp_path / "c",
        on_progress=lambda _, p: heard.append(p),
        clock=lambda: now[0],
    )
    made.trace(files)
    assert [p.seconds_left for p in heard] == [None, 6.0, 2.0, None]


def test_many_askers_one_reading(
    files: TraceFiles, made: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[object] = []
    original = local.in_process
    monkeypatch.setattr(
        local,
        "in_process",
        lambda *a: calls.append(a) or original(*a),  # type: ignore[func-returns-value]
    )
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: made.trace(files), range(16)))
    assert len(calls) == 1
    assert all(one is found[0] for one in found)


def test_a_killed_reader_costs_only_its_own_trace(
    files: TraceFiles, made: Store, slow: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(files, worker="other")
    for one in (files, other):
        with pytest.raises(Pending):
            made.trace(one, wait_s=0)
    job = made._jobs.get(disk_cache.cache_key(files))
    assert job is not None
    until(lambda: job.process is not None and job.progress.phase == "reading")
    assert job.process is not None
    os.kill(job.process.pid, signal.SIGKILL)
    with pytest.raises(TraceError, match="SIGKILL") as caught:
        made.trace(files)
    assert caught.value.code == "reader_died"
    slow.touch()
    assert made.trace(other).meta.worker == "other"
    with pytest.raises(TraceError, match="SIGKILL"):
        made.trace(files)  # remembered, for a while
    monkeypatch.setattr(failure_cache, "_RETRY_S", 0)
    assert made.trace(files).meta.worker == "host_1"


def test_a_reader_that_cannot_start(
    files: TraceFiles, made: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(TraceError, match="code 1"):
        made.trace(files)


def test_our_own_mistakes_are_errors_too(
    files: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistake(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(ingest, "build_trace", mistake)
    with pytest.raises(TraceError, match="ZeroDivisionError: oops") as caught:
        Store(jobs=0, cache_dir=tmp_path / "c").trace(files)
    assert caught.value.code == "internal"


def test_close_ends_what_is_read_and_what_waits(
    files: TraceFiles, tmp_path: Path, slow: Path
) -> None:
    made = Store(1, tmp_path / "cache")
    waiting = replace(files, worker="other")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(made.trace, files)
        until(lambda: _process(made, files))
        second = pool.submit(made.trace, waiting)
        until(lambda: len(made._jobs) == 2)
        made.close()
        assert getattr(first.exception(5), "code", None) == "closed"
        assert getattr(second.exception(5), "code", None) == "closed"


def test_a_reader_ends_with_its_server(files: TraceFiles, tmp_path: Path, slow: Path) -> None:
    made = Store(1, tmp_path / "cache")
    with pytest.raises(Pending):
        made.trace(files, wait_s=0)
    job = made._jobs.get(disk_cache.cache_key(files))
    assert job is not None
    until(lambda: job.process is not None and job.progress.phase == "reading")
    assert job.process is not None
    assert job.process.stdin is not None
    job.process.stdin.close()  # what the system does with a killed server's pipes
    assert job.process.wait(5) == 1
    made.close()


def test_nothing_runs_before_the_first_trace(tmp_path: Path) -> None:
    before = threading.active_count()
    Store(cache_dir=tmp_path / "cache").close()
    assert threading.active_count() == before
    assert not (tmp_path / "cache").exists()


def test_the_process_ends_while_a_trace_is_read(files: TraceFiles, tmp_path: Path) -> None:
    """Without being asked to close the store, and without waiting for the reader."""
    Path(files.trace.path).write_text(
        '{"traceEvents": [' + ",".join(['{"ph": "X", "cat": "cpu_op", "ts": 1}'] * 500_000) + "]}"
    )
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tb_privateuse1.discovery import catalog\n"
        "from tb_privateuse1.readers import READERS\n"
        "from tb_privateuse1.storage import jobs, store\n"
        "made = store.Store(1, Path(sys.argv[2]))\n"
        "try: made.trace(catalog.scan(sys.argv[1], READERS).find(), wait_s=0)\n"
        "except jobs.Pending: pass\n"
        "while not any(job.process for job in made._jobs): pass\n"
        "print(*[job.process.pid for job in made._jobs])\n"
    )
    command = [sys.executable, "-c", code, files.trace.path, str(tmp_path / "cache")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=30, check=True)
    pid = int(done.stdout)
    until(lambda: not running(pid))


def _process(made: Store, files: TraceFiles) -> subprocess.Popen[bytes] | None:
    job = made._jobs.get(disk_cache.cache_key(files))
    return cast("subprocess.Popen[bytes]", job.process) if job and job.process else None


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
