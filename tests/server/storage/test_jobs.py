"""What is read first, what is given up, and what may not stand in the way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import disk_cache, jobs
from tb_privateuse1.storage.clients import asking
from tb_privateuse1.storage.engines import EngineUse, Reader, Reads, local
from tb_privateuse1.storage.jobs import Pending
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tests.server.storage.conftest import but_parts
from tests.server.storage.test_store import running, until
from tests.support.clock import FakeClock
from tests.support.trace_files import trace


def test_another_server_is_waited_for_while_it_shows_signs_of_life(files: TraceFiles) -> None:
    clock = FakeClock()
    all_jobs = jobs.Jobs(stall_s=3, clock=clock.now)
    job, _ = all_jobs.ask("key", files)
    all_jobs.park(job)
    all_jobs.look()
    for beat_ns in (1, 2, 3, 4, 4, 4, 4):
        clock.advance(1)
        assert all_jobs.look() == [job]
        assert all_jobs.patient(job, beat_ns)
    clock.advance(1)
    all_jobs.look()
    assert not all_jobs.patient(job, 4)


def taken_in_turn(
    all_jobs: jobs.Jobs, files: TraceFiles, first: list[str], then: list[str]
) -> list[str]:
    """The keys in the order in which they are read; two of ``then`` are asked for at each turn."""
    for key in first:
        all_jobs.ask(key, files)
    taken: list[str] = []
    while (job := all_jobs.take()) is not None:
        taken.append(job.key)
        all_jobs.end(job, TraceError("done", "It was read."))
        for key in then[:2]:
            all_jobs.ask(key, files)
        del then[:2]
    return taken


def test_who_asks_for_everything_holds_up_nobody_for_long(files: TraceFiles) -> None:
    """Two more traces of one client at each turn: the others' is not the last one."""
    everything = [f"b{i}" for i in range(60)]
    all_jobs = jobs.Jobs(3, FakeClock().now)
    taken = taken_in_turn(all_jobs, files, ["a", *everything[:20]], everything[20:])
    assert len(taken) == 61
    assert taken.index("a") == jobs._PASSED


def test_late_ones_leave_every_second_turn_to_the_latest(files: TraceFiles) -> None:
    all_jobs = jobs.Jobs(3, FakeClock().now)
    for i in range(30):
        all_jobs.ask(f"b{i}", files)
    for _ in range(10):
        assert all_jobs.take() is not None
    all_jobs.ask("a", files)
    assert "a" in [job.key for job in (all_jobs.take(), all_jobs.take()) if job]


def test_a_client_who_asked_for_everything_first_holds_up_no_other(files: TraceFiles) -> None:
    """One trace of a second client, behind 60 of a first one, some of them late."""
    all_jobs = jobs.Jobs(3, FakeClock().now)
    with asking({"first"}):
        for i in range(60):
            all_jobs.ask(f"b{i}", files)
    for _ in range(10):
        assert all_jobs.take() is not None
    with asking({"second"}):
        all_jobs.ask("a", files)
    job = all_jobs.take()
    assert job is not None
    assert job.key == "a"


def test_a_client_who_asks_one_by_one_leaves_every_second_turn(files: TraceFiles) -> None:
    all_jobs = jobs.Jobs(3, FakeClock().now)
    for i in range(10):
        all_jobs.ask(f"b{i}", files)
    taken = []
    for i in range(12):
        with asking({"second"}):
            all_jobs.ask(f"a{i}", files)
        job = all_jobs.take()
        assert job is not None
        taken.append(job.key[0])
    assert "".join(taken) == "ab" * 6


def test_a_trace_that_two_clients_ask_for_has_the_turn_of_either(files: TraceFiles) -> None:
    all_jobs = jobs.Jobs(3, FakeClock().now)
    for i in range(10):
        all_jobs.ask(f"b{i}", files)
    assert all_jobs.take() is not None
    with asking({"second"}):
        all_jobs.ask("b0", files)
    job = all_jobs.take()
    assert job is not None
    assert job.key == "b0"


def ask(made: Store, files: TraceFiles) -> None:
    with pytest.raises(Pending):
        made.trace(files, wait_s=0)


def reading(made: Store, files: TraceFiles) -> jobs.Job:
    job: list[jobs.Job] = []

    def begun() -> bool:
        found = made._jobs.get(disk_cache.cache_key(files))
        if found is not None and found.process and found.progress.phase == "reading":
            job.append(found)
        return bool(job)

    until(begun)
    return job[0]


@pytest.fixture
def others(files: TraceFiles, tmp_path: Path) -> list[TraceFiles]:
    """Three more traces, in files of their own."""
    paths = [tmp_path / "more" / name / "t.json" for name in "abc"]
    for path in paths:
        trace(path, name=f"aten::{path.parent.name}")
    return [catalog.scan(str(path), READERS).find() for path in paths]


def test_canceled_while_it_is_read(files: TraceFiles, tmp_path: Path, slow: Path) -> None:
    made = Store(1, tmp_path / "cache")
    with ThreadPoolExecutor(2) as pool:
        askers = [pool.submit(made.trace, files) for _ in range(2)]
        job = reading(made, files)
        assert job.process is not None
        assert made.cancel(files)
        for asker in askers:
            error = asker.exception(5)
            assert isinstance(error, TraceError)
            assert error.code == "canceled"
            assert "host_1.1.pt.trace.json.gz was canceled" in error.message
    until(lambda: not running(job.process.pid))
    assert not made.cancel(files)
    ask(made, files)  # anew
    slow.touch()
    assert len(made.trace(files).ops) == 4
    made.close()
    assert len(but_parts(tmp_path / "cache")) == 1


def test_canceled_while_it_waits(
    files: TraceFiles, others: list[TraceFiles], tmp_path: Path, slow: Path
) -> None:
    made = Store(1, tmp_path / "cache")
    ask(made, files)
    reading(made, files)
    with ThreadPoolExecutor(1) as pool:
        asker = pool.submit(made.trace, others[0])
        until(lambda: len(made._jobs) == 2)
        assert made.cancel(others[0])
        assert getattr(asker.exception(5), "code", None) == "canceled"
    assert not made.cancel(others[1])
    slow.touch()
    assert len(made.trace(files).ops) == 4  # it goes on
    assert made.trace(others[0]).ops
    made.close()


def test_canceled_where_there_is_no_process(
    files: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread cancels what this one reads."""
    heard: list[str] = []

    def cancel(_: TraceFiles, progress: jobs.Progress) -> None:
        heard.append(progress.phase)
        made.cancel(files)

    made = Store(0, tmp_path / "cache", on_progress=cancel)
    with pytest.raises(TraceError, match="was canceled"):
        made.trace(files)
    assert len(heard) == 1
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_trace_that_grew_can_still_be_canceled(
    files: TraceFiles, tmp_path: Path, slow: Path
) -> None:
    made = Store(1, tmp_path / "cache")
    ask(made, files)
    trace(Path(files.trace.path), name="aten::another")
    assert made.cancel(files)
    Path(files.trace.path).unlink()
    assert not made.cancel(files)
    made.close()


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories of the traces, in the order in which they are read."""
    begun: list[str] = []
    original = local.in_process

    def noted(files: TraceFiles, *rest: Any) -> Path:
        begun.append(Path(files.trace.path).parent.name)
        return original(files, *rest)

    monkeypatch.setattr(local, "in_process", noted)
    return begun


def test_what_was_asked_for_most_recently_is_read_first(
    files: TraceFiles,
    others: list[TraceFiles],
    tmp_path: Path,
    slow: Path,
    order: list[str],
) -> None:
    clock = FakeClock()
    made = Store(1, tmp_path / "cache", clock=clock.now)
    ask(made, files)
    reading(made, files)
    a, b, c = others
    for one in (a, b, c, b):  # b and c are asked for all the time: that is no new question
        ask(made, one)
        clock.advance(0.25)
    clock.advance(2)
    ask(made, a)  # but this is
    slow.touch()
    until(lambda: not len(made._jobs))
    made.close()
    assert order == ["r", "a", "c", "b"]


def test_what_nobody_asks_for_any_more_is_not_read(
    files: TraceFiles,
    others: list[TraceFiles],
    tmp_path: Path,
    slow: Path,
    order: list[str],
) -> None:
    clock = FakeClock()
    made = Store(1, tmp_path / "cache", clock=clock.now)
    ask(made, files)
    reading(made, files)
    with ThreadPoolExecutor(1) as pool:
        asker = pool.submit(made.trace, others[0])  # waits, however long
        ask(made, others[1])
        clock.advance(jobs.FORGOTTEN_S + 1)
        until(lambda: made._jobs.get(disk_cache.cache_key(others[1])) is None)
        slow.touch()
        assert asker.result(20).ops
    made.close()
    assert order == ["r", "a"]  # what is being read goes on


def test_when_everybody_has_gone_nothing_more_is_read(
    files: TraceFiles,
    others: list[TraceFiles],
    tmp_path: Path,
    slow: Path,
    order: list[str],
) -> None:
    clock = FakeClock()
    made = Store(1, tmp_path / "cache", clock=clock.now)
    for one in (files, *others):
        ask(made, one)
    reading(made, files)
    clock.advance(jobs.FORGOTTEN_S + 1)
    slow.touch()
    until(lambda: not len(made._jobs))
    made.close()
    assert order == ["r"]


def test_a_stuck_trace_leaves_the_other_place_usable(
    files: TraceFiles, others: list[TraceFiles], tmp_path: Path, stuck: None
) -> None:
    made = Store(2, tmp_path / "cache")
    ask(made, files)
    job = reading(made, files)
    for other in others:
        assert made.trace(other, wait_s=20).ops
    assert not job.future.done()
    assert job.progress.phase == "reading"
    made.close()


def test_a_reader_without_progress_is_ended(
    files: TraceFiles, others: list[TraceFiles], tmp_path: Path, stuck: None
) -> None:
    clock = FakeClock()
    made = Store(1, tmp_path / "cache", stall_s=5, clock=clock.now)
    ask(made, files)
    job = reading(made, files)
    assert job.process is not None
    with ThreadPoolExecutor(1) as pool:
        asker = pool.submit(made.trace, others[0])  # it looks after all jobs
        seconds = 0
        while not job.future.done():  # a busy machine may report its last progress late
            clock.advance(1)
            seconds += 1
            until(lambda: made._jobs._looked_s == clock.now())
            assert seconds < 30
        assert seconds > 5
        assert asker.result(60).ops
    until(lambda: job.process and not running(job.process.pid))
    with pytest.raises(TraceError, match="no progress for 5 seconds") as caught:
        made.trace(files)
    assert caught.value.code == "reader_stalled"
    made.close()


def test_a_stopped_server_does_not_blame_its_readers(
    files: TraceFiles, tmp_path: Path, slow: Path
) -> None:
    """When it goes on, hours have passed in which it heard of no progress."""
    clock = FakeClock()
    made = Store(1, tmp_path / "cache", clock=clock.now)
    ask(made, files)
    reading(made, files)
    clock.advance(7200)
    ask(made, files)
    slow.touch()
    assert len(made.trace(files).ops) == 4
    made.close()


def test_reads_count_who_works_and_not_who_waits() -> None:
    """Two readers of 3 s, 2 s of them together; one waits again, as its worker was lost."""
    clock = FakeClock()
    reads = Reads(clock.now)
    assert reads.use("local") is None
    one, other = Reader(reads), Reader(reads)
    one.hears("waiting")
    clock.advance(5)
    one.hears("reading")
    clock.advance(1)
    other.hears("reading")
    clock.advance(2)
    one.has_read(10)
    one.ends()
    other.hears("waiting")
    clock.advance(7)
    other.hears("inferring")
    clock.advance(1)
    other.ends()  # it failed
    use = EngineUse("dask", traces=1, bytes=10, seconds=4.0, reader_seconds=6.0)
    assert reads.use("dask") == use
