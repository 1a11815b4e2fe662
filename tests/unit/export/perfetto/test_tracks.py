"""Processes and threads keep their ids if Perfetto can use them."""

from __future__ import annotations

from tests.support import make
from tests.support.perfetto_file import exported


def test_odd_processes_and_threads_get_numbers_of_their_own() -> None:
    events = [make.op("a", 0, 5, id=1), make.op("b", 6, 9, id=2), make.op("c", 6, 9, id=3)]
    events[0] |= {"pid": "Spans", "tid": "PyTorch Profiler"}
    events[1] |= {"pid": 5, "tid": 140_000_000_000_000}
    events[2] |= {"pid": 6, "tid": 0}
    content = exported(make.trace(*events))
    threads = [t.thread for t in content.tracks.values() if t.HasField("thread")]
    assert len({t.tid for t in threads}) == 3
    assert len({t.pid for t in threads}) == 3
    assert all(0 < t.tid < 1 << 31 for t in threads)
    assert {s[1] for s in content.slices} == {"a", "b", "c"}


def test_usable_numbers_stay_and_the_main_thread_has_its_process_s() -> None:
    events = [make.op("a", 0, 5, id=1) | {"pid": 77, "tid": 77}, make.op("b", 0, 5, id=2)]
    events[1] |= {"pid": 77, "tid": 78}
    content = exported(make.trace(*events, distributedInfo={"rank": 3, "world_size": 4}))
    threads = [t.thread for t in content.tracks.values() if t.HasField("thread")]
    assert sorted((t.pid, t.tid) for t in threads) == [(77, 77), (77, 78)]
    processes = [t.process for t in content.tracks.values() if t.HasField("process")]
    assert [(p.pid, p.process_name) for p in processes] == [(77, "Process 77 (rank 3)")]
