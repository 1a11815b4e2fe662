"""Recordings of several processes in one file, with plain numbers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import tb_privateuse1
from tb_privateuse1.readers.chrome import CHROME, joined_processes
from tests.support.make import Event, document, kernel, launch, memory, op, step
from tests.support.quality import found

PAIR = ("process 1000", "process 1001")


def rank(pid: int, name: str, device: int = 0, late: float = 0, count: int = 4) -> list[Event]:
    """Return operators that launch a kernel each; a device's process is its number."""
    events: list[Event] = []
    for i in range(count):
        t = 100.0 * i + late
        events += [
            step(i, t, t + 95) | {"pid": pid},
            op(name, t + 1, t + 30, id=i + 1) | {"pid": pid},
            launch(t + 5, t + 10, i + 1) | {"pid": pid},
            memory(t + 6, 64, 64) | {"pid": pid},
        ]
    work = [
        kernel(f"{name}_kernel", 100 * i + late + 20, 100 * i + late + 80, i + 1, device=device)
        for i in range(count)
    ]
    return [*events, *(one | {"pid": device} for one in work)]


def by_time(event: Event) -> float:
    """Return the key by which a tool may sort a file."""
    return float(event["ts"])


def labels(tmp_path: Path, events: list[Event]) -> tuple[str, ...]:
    path = tmp_path / "merged.json"
    path.write_text(json.dumps(document(*events)))
    return joined_processes.labels_in(str(path))


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("name", ["merged.json", "merged.json.gz"])
def test_recordings_one_behind_the_other_open_as_ranks(
    tmp_path: Path, device: int, name: str
) -> None:
    """Even of one device's number, as of two hosts, and with equal numbers of calls."""
    events = [*rank(1000, "mm"), *rank(1001, "relu", device, late=3)]
    info = {"rank": 0, "world_size": 2} if name.endswith("json") else {}
    text = json.dumps(document(*events, distributedInfo=info)).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    log = tb_privateuse1.open(tmp_path)
    (run,) = log.runs.runs
    assert [(one.worker, one.rank, one.rank_source) for one in run.workers] == [
        ("merged process 1000", 0, "order"), ("merged process 1001", 1, "order"),
    ]  # fmt: skip
    for number, mine in ((0, "mm"), (1, "relu")):
        t = log.trace(rank=number)
        assert {t.text(n) for n in t.kernels.name} == {f"{mine}_kernel"}
        assert [t.text(t.ops.name[i]) for i in t.kernels.op] == [mine] * 4
        assert (len(t.steps), len(t.memory), t.lanes.device.tolist()) == (4, 4, [number * device])
        note = found(t, "separated_process")
        assert note is not None
        assert (note.count, note.severity) == (2, "info")
        assert found(t, "joined_recordings") is None
        assert log.overview(rank=number).verdict is not None


def test_a_file_by_time_is_told_apart_where_the_calls_leave_one_way(tmp_path: Path) -> None:
    """The later rank's activities may be of the earlier calls; the earlier one's are its own."""
    events = [*rank(1000, "mm"), *rank(1001, "mm", 1, late=40)]
    events.sort(key=by_time)
    assert labels(tmp_path, events) == PAIR
    close = [*rank(1000, "mm"), *rank(1001, "mm", 1, late=3)]
    close.sort(key=by_time)
    assert labels(tmp_path, close) == ()
    silent = [one | {"args": {"device": 0, "stream": 7}} if one["cat"] == "kernel" else one
              for one in rank(1001, "mm", late=40)]  # fmt: skip
    assert labels(tmp_path, sorted([*rank(1000, "mm"), *silent], key=by_time)) == ()
    shared = [*rank(1000, "mm"), *rank(1001, "relu", 0, late=40)]
    shared.sort(key=by_time)
    assert labels(tmp_path, shared) == ()


@pytest.mark.parametrize(("processes", "apart"), [(256, 256), (257, 0)])
def test_too_many_processes_are_no_ranks_that_were_joined(
    tmp_path: Path, processes: int, apart: int
) -> None:
    """Each costs a pass over all events, so a file of 300,000 processes took minutes."""
    events = [
        event for i in range(processes) for event in rank(1000 + i, "mm", late=3 * i, count=2)
    ]
    assert len(labels(tmp_path, events)) == apart


def test_activities_that_another_process_explains_are_of_no_known_one(tmp_path: Path) -> None:
    first, second = rank(1000, "mm"), rank(1001, "mm", late=3)
    is_work = [event["cat"] == "kernel" for event in first]
    work = [
        event for event, own in zip([*first, *second], [*is_work, *is_work], strict=True) if own
    ]
    host = [e for e, own in zip([*first, *second], [*is_work, *is_work], strict=True) if not own]
    assert labels(tmp_path, [*host, *work]) == ()
    asks = [e | {"name": "cudaGetDevice"} if e["cat"] == "cuda_runtime" else e for e in second]
    host_only = [event for event in asks if event["cat"] != "kernel"]
    assert labels(tmp_path, [*host[:16], *host_only, *work[:4]]) == PAIR
    lost = [event for event in [*first, *second] if event["cat"] != "cuda_runtime"]
    assert labels(tmp_path, lost) == ()
    stray = kernel("stray", 300, 310, 77) | {"pid": 0}
    assert labels(tmp_path, [*first, stray, *second]) == ()
    assert labels(tmp_path, first) == ()


def test_a_graphs_launch_starts_many(tmp_path: Path) -> None:
    graph = launch(401, 405, 9) | {"name": "cudaGraphLaunch"}
    nodes = [kernel("node", 410 + 10 * i, 418 + 10 * i, 9) | {"pid": 0} for i in range(3)]

    def of(pid: int) -> list[Event]:
        own = rank(pid, "mm")
        host = [event for event in own if event["pid"] == pid]
        work = [event for event in own if event["pid"] != pid]
        return [*host, graph | {"pid": pid}, *work, *nodes]

    assert labels(tmp_path, [*of(1000), *of(1001)]) == PAIR


def test_work_may_outlast_the_start_of_the_next_recording(tmp_path: Path) -> None:
    """By time, the second one's host events are around work of the first one."""
    first = rank(1000, "mm")
    second = rank(1001, "relu", 1, late=1000)
    late = [one | {"ts": one["ts"] + 1000} if one["cat"] == "kernel" else one for one in first]
    second = [
        one | {"args": one["args"] | {"correlation": one["args"]["correlation"] + 90}}
        if "correlation" in one["args"]
        else one
        for one in second
    ]
    events = sorted([*late, *second], key=by_time)
    path = tmp_path / "merged.json"
    path.write_text(json.dumps(document(*events)))
    assert joined_processes.labels_in(str(path)) == PAIR
    raw = CHROME.read(str(path), None)
    for label, mine in zip(PAIR, ("mm", "relu"), strict=True):
        part = joined_processes.of_label(raw, label)
        assert {part.strings[n] for n in part.groups["kernel"].name} == {f"{mine}_kernel"}
    unknown = [one | {"args": {"device": 0, "stream": 7}} if one in late and one["cat"] == "kernel"
               else one for one in events]  # fmt: skip
    assert labels(tmp_path, unknown) == ()
