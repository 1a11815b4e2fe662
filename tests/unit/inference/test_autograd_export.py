"""torch's own export of its events: ranges without a category in two processes."""

from __future__ import annotations

from typing import Any

from tests.support.make import trace
from tests.support.quality import found

Event = dict[str, Any]


def ranged(name: str, pid: str, tid: int, ts: float, dur: float) -> Event:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": {}}


def arrow(number: int, ts: float, at: float, device: str, tid: int) -> list[Event]:
    ends = (("s", "CPU functions", 1, ts), ("f", f"{device} functions", tid, at))
    return [
        {"ph": ph, "name": "x", "cat": "cpu_to_cuda", "id": number, "pid": pid, "tid": t, "ts": ns}
        for ph, pid, t, ns in ends
    ]


def test_operators_kernels_and_their_links() -> None:
    t = trace(
        ranged("aten::linear", "CPU functions", 1, 100, 200),
        ranged("aten::addmm", "CPU functions", 1, 120.5, 150),
        *arrow(1, 120.5, 300, "CUDA", 2),
        ranged("sgemm", "CUDA functions", 2, 300, 90),
    )
    assert [t.text(name) for name in t.ops.name] == ["aten::linear", "aten::addmm"]
    assert t.ops.parent.tolist() == [-1, 0]
    assert t.kernels.op.tolist() == [1]
    assert (t.lanes.device.tolist(), t.lanes.stream.tolist()) == ([2], [0])
    assert t.meta.timeline == "measured"
    assert found(t, "unknown_category") is None


def test_another_process_without_categories_is_counted() -> None:
    t = trace(
        ranged("aten::linear", "CPU functions", 1, 100, 200),
        ranged("work", "node 7", 1, 100, 200),
    )
    assert len(t.ops) == 1
    assert found(t, "unknown_category") is not None
