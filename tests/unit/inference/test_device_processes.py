"""Events without a category: the device and its runtime as processes of a vendor's own file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_privateuse1 import inference
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.readers import chrome
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import KERNEL, MEMCPY, Trace
from tests.support.read_traces import texts
from tests.support.shared_traces import FOLDER, needs_traces
from tests.support.trace_files import write

HOST, DEVICE, RUNTIME, GROUPS, DERIVED = 100, 7, 10002, 10009, 10011
MAIN, QUEUE = 100, 101
NAMES = {
    HOST: "Python", DEVICE: "Ascend Hardware", RUNTIME: "CANN", GROUPS: "Communication",
    DERIVED: "Overlap Analysis",
}  # fmt: skip

Event = dict[str, Any]


def span(pid: int, tid: int, name: str, start: float, end: float, category: str = "") -> Event:
    """Build a range as the tool writes it: times are texts."""
    event = {"ph": "X", "pid": pid, "tid": tid, "name": name, "ts": f"{start:.3f}"}
    return event | {"dur": end - start} | ({"cat": category} if category else {})


def arrow(category: str, number: int, tail: tuple[int, int, float], head: tuple[int, int, float]) \
        -> list[Event]:  # fmt: skip
    return [
        {"ph": phase, "cat": category, "name": category, "id": number, "pid": pid, "tid": tid,
         "ts": f"{ts:.3f}", "bp": "e"}
        for phase, (pid, tid, ts) in (("s", tail), ("f", head))
    ]  # fmt: skip


def recording() -> list[Event]:
    """Return an operator that enqueues a kernel, a copy, a wait and a collective with two tasks."""
    threads = {
        (GROUPS, 1): "Group 0 Communication",
        (GROUPS, 2): "Plane 0",
        (DEVICE, 3): "Stream 3",
    }
    return [
        span(HOST, MAIN, "aten::mm", 10, 30, "cpu_op"),
        span(HOST, MAIN, "Enqueue", 12, 14, "enqueue"),
        span(HOST, QUEUE, "Dequeue@aclnnMm", 15, 25, "dequeue"),
        *arrow("async_task_queue", 1, (HOST, MAIN, 12), (HOST, QUEUE, 15)),
        span(RUNTIME, QUEUE, "AscendCL@aclnnMm", 16, 24),
        span(DEVICE, 3, "aclnnMm_MatMul", 40, 60),
        *arrow("HostToDevice", 2, (RUNTIME, QUEUE, 20), (DEVICE, 3, 40)),
        *arrow("async_npu", 3, (HOST, MAIN, 10), (DEVICE, 3, 40)),
        span(DEVICE, 3, "EVENT_WAIT", 60, 70),
        span(DEVICE, 3, "MEMCPY_ASYNC", 70, 75),
        span(GROUPS, 1, "hcom_allReduce__1", 80, 100),
        span(GROUPS, 2, "Notify_Wait", 80, 95),
        span(DERIVED, 0, "Computing", 40, 75),
        *({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
          for pid, name in NAMES.items()),
        *({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
          for (pid, tid), name in threads.items()),
    ]  # fmt: skip


def read(tmp_path: Path, events: list[Event]) -> Trace:
    path = write(tmp_path / "trace_view.json", events)
    return inference.build_trace(chrome.read(str(path)), None)


def test_activities_are_linked_to_call_and_operator_by_arrows(tmp_path: Path) -> None:
    trace = read(tmp_path, recording())
    kernels, calls = trace.kernels, trace.launches
    assert (trace.vendor.name, trace.meta.timeline) == ("npu", "measured")
    assert texts(trace, kernels.name) == ["aclnnMm_MatMul", "MEMCPY_ASYNC", "hcom_allReduce__1"]
    assert kernels.kind.tolist() == [KERNEL, MEMCPY, KERNEL]
    assert kernels.communication.tolist() == [False, False, True]
    assert trace.text(trace.ops.name[kernels.op[0]]) == "aten::mm"
    assert trace.text(calls.name[kernels.launch[0]]) == "AscendCL@aclnnMm"
    assert kernels.op[1:].tolist() == kernels.launch[1:].tolist() == [-1, -1]


def test_the_runtimes_calls_are_on_the_hosts_threads(tmp_path: Path) -> None:
    trace = read(tmp_path, recording())
    calls = trace.launches
    assert texts(trace, calls.name) == ["Dequeue@aclnnMm", "AscendCL@aclnnMm"]
    assert len(set(calls.thread.tolist())) == 1
    assert trace.text(trace.threads.pid[calls.thread[0]]) == str(HOST)
    assert trace.lanes.device.tolist() == [0, 0]
    assert sorted(trace.lanes.stream.tolist()) == [1, 3]


def test_processes_of_nobody_stay_left_out(tmp_path: Path) -> None:
    """Without names of processes nothing says that these events are a device's."""
    events = [event for event in recording() if event["name"] != "process_name"]
    trace = read(tmp_path, events)
    assert (len(trace.kernels), len(trace.launches), trace.meta.timeline) == (0, 1, "none")


@needs_traces
def test_busy_time_is_that_of_the_files_own_analysis() -> None:
    """The tool's ``Overlap Analysis`` is computed from the same events, by its authors."""
    raw = chrome.read(str(FOLDER / "npu" / "trace_view" / "trace_view.json"))
    rest = raw.groups[""]
    computing = rest.take(rest.name == raw.strings.index("Computing"))
    trace = inference.build_trace(raw, None)
    kernels = trace.kernels.take(trace.kernels.kind == KERNEL)
    own = intervals.length(intervals.union(computing.start_ns, computing.end_ns))
    # The tool rounds the end of one kernel differently.
    assert abs(intervals.length(breakdown.busy(kernels)) - own) <= 1
    assert np.count_nonzero(trace.kernels.op >= 0) == 274  # two copies have no arrow


@pytest.mark.parametrize(
    "name",
    ["Group 0 Communication", "Group hccl_world_groupCommunication ", "Communication ",
     "Group aCommunication Aicpu "],
)  # fmt: skip
def test_collectives_of_groups_as_versions_of_the_tool_name_them(tmp_path: Path, name: str) -> None:
    events = recording()
    (group,) = (e for e in events if e.get("args") == {"name": "Group 0 Communication"})
    group["args"] = {"name": name}
    trace = read(tmp_path, events)
    assert "hcom_allReduce__1" in texts(trace, trace.kernels.name)
    assert "Notify_Wait" not in texts(trace, trace.kernels.name)
