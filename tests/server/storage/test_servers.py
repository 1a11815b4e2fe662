"""Several servers on one cache: nobody reads what another reads, and nobody waits for the dead."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import cache_directory, disk_cache, jobs
from tb_privateuse1.storage.engines import local
from tb_privateuse1.storage.file_lock import Claim
from tb_privateuse1.storage.jobs import Pending
from tb_privateuse1.storage.store import Store
from tests.server.storage.conftest import but_parts
from tests.server.storage.test_store import unreadable, until
from tests.support.clock import FakeClock
from tests.support.same import digest
from tests.support.trace_files import sidecar, trace

TRACES = 8


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for n in range(TRACES):
        trace(tmp_path / "log" / f"r{n}" / "host_1.1.pt.trace.json.gz", rank=n, name=f"aten::op{n}")
        sidecar(tmp_path / "log" / f"r{n}" / "host_1.1.kernel_event.json.gz")
    return tmp_path / "log"


def truth(logdir: Path, tmp_path: Path) -> dict[str, str]:
    made = Store(0, tmp_path / "other")
    found = catalog.scan(str(logdir), READERS).files.items()
    return {place[0]: digest(made.trace(files)) for place, files in found}


def two_servers(folder: Path, logdirs: list[Path]) -> list[dict[str, Any]]:
    def serve(seed: int) -> dict[str, Any]:
        command = [sys.executable, "-m", "tests.support.load_server", str(folder)]
        command += [str(logdirs[seed]), str(seed)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=120)
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(serve, range(2)))


def test_two_servers_read_each_trace_once(logdir: Path, tmp_path: Path) -> None:
    """Even if they see the logdir under two paths."""
    mounted = tmp_path / "mounted"
    mounted.symlink_to(logdir)
    expected = truth(logdir, tmp_path)
    one, other = two_servers(tmp_path / "cache", [logdir, mounted])
    assert one["got"] == other["got"] == expected
    assert len(one["readings"]) + len(other["readings"]) == TRACES
    assert len(but_parts(tmp_path / "cache")) == TRACES


def test_two_servers_evict_while_the_directory_is_deleted(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = truth(logdir, tmp_path)
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE_BYTES", "1")
    folder, stop = tmp_path / "cache", threading.Event()

    def delete() -> None:
        while not stop.wait(0.5):
            shutil.rmtree(folder, ignore_errors=True)

    thread = threading.Thread(target=delete)
    thread.start()
    try:
        one, other = two_servers(folder, [logdir, logdir])
    finally:
        stop.set()
        thread.join()
    assert one["got"] == other["got"] == expected
    Store(0, folder).trace(catalog.scan(str(logdir), READERS).find())
    left = [path.name for path in but_parts(folder)]
    assert len(left) == 1, left


@pytest.fixture
def held(files: TraceFiles, tmp_path: Path) -> Iterator[Claim]:
    """Another server makes the trace."""
    claim = cache_directory.claim(tmp_path / "cache" / f"{disk_cache.cache_key(files)}.arrow")
    assert claim is not None
    with claim:
        yield claim


def waiting(made: Store, files: TraceFiles) -> None:
    with pytest.raises(Pending) as caught:
        made.trace(files, wait_s=0.5)
    assert caught.value.progress.phase == "waiting"


def test_who_waits_for_another_server_takes_no_place(
    files: TraceFiles, tmp_path: Path, held: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Store(1, tmp_path / "cache")
    waiting(made, files)
    other = replace(files, worker="other")
    assert made.trace(other).meta.worker == "other"
    waiting(made, files)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(made.trace, files)
        unreadable(files, made, monkeypatch)
        written = Store(0, tmp_path / "second")  # what the other server does
        monkeypatch.setattr(local, "ingest", sys.modules["tb_privateuse1.storage.ingest"].ingest)
        trace = written.trace(files)
        disk_cache.write_trace(trace, tmp_path / "cache" / f"{disk_cache.cache_key(files)}.arrow")
        assert digest(asked.result(10)) == digest(trace)
    made.close()


def test_a_server_that_gives_up_is_followed(files: TraceFiles, tmp_path: Path, held: Claim) -> None:
    made = Store(1, tmp_path / "cache")
    waiting(made, files)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(made.trace, files)
        waiting(made, files)
        assert not asked.done()
        held.release()
        assert len(asked.result(60).ops) == 4
    made.close()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_server_that_was_stopped_blocks_nobody(
    files: TraceFiles, tmp_path: Path, held: Claim, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Ctrl-Z does: it holds its locks, and shows no sign of life."""
    clock = FakeClock()
    made = Store(workers, tmp_path / "cache", stall_s=3, clock=clock.now)

    def pass_second(beat: int = 0) -> None:
        if beat:
            os.utime(held._path, ns=(beat, beat))
        clock.advance(1)
        until(lambda: asked.done() or made._jobs._looked_s == clock.now())

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(made.trace, files)
        until(lambda: made._jobs._looked_s == clock.now())
        for second in range(1, 7):
            pass_second(beat=second)
        assert not asked.done()  # it lives
        for _ in range(3):
            pass_second()
        assert not asked.done()
        clock.advance(1)
        assert len(asked.result(60).ops) == 4
    made.close()


def test_without_processes_it_waits_for_another_server_too(
    files: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cache" / f"{disk_cache.cache_key(files)}.arrow"
    phases: list[str] = []
    claim = cache_directory.claim(path)
    assert claim is not None

    def heard(_: TraceFiles, progress: jobs.Progress) -> None:
        phases.append(progress.phase)
        if len(phases) == 3:
            disk_cache.write_trace(fresh, path)
            assert claim is not None
            claim.release()

    fresh = Store(0, tmp_path / "other").trace(files)
    made = Store(0, tmp_path / "cache", on_progress=heard)
    unreadable(files, made, monkeypatch)
    assert digest(made.trace(files)) == digest(fresh)
    assert phases == ["waiting"] * 3


def test_a_trace_that_grew_while_it_was_read_is_not_shared(
    files: TraceFiles, tmp_path: Path, slow: Path
) -> None:
    made = Store(1, tmp_path / "cache")
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(made.trace, files)
        until(lambda: any(job.progress.phase == "reading" for job in made._jobs))
        trace(Path(files.trace.path), rank=3, name="aten::another")
        slow.touch()
        assert "aten::another" in asked.result(20).strings
    assert list((tmp_path / "cache").iterdir()) == []
    assert "aten::another" in made.trace(files).strings
    assert len(but_parts(tmp_path / "cache")) == 1
    made.close()
