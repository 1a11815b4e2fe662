"""Recorded device activities and their links."""

from __future__ import annotations

from tb_privateuse1.trace.model import EVIDENCE, KERNEL, MEMCPY, MEMSET, MISSING
from tests.support.make import Event, kernel, launch, op, trace


def arrow(phase: str, ts: float, tid: int, flow: int) -> Event:
    return {"ph": phase, "cat": "ac2g", "name": "ac2g", "id": flow, "pid": 1, "tid": tid, "ts": ts}


def test_correlation_links_kernel_launch_and_operator() -> None:
    t = trace(op("aten::mm", 0, 10), launch(2, 4, 77), kernel("gemm", 20, 30, 77))
    assert (t.kernels.launch.tolist(), t.kernels.op.tolist()) == ([0], [0])
    assert t.meta.timeline == "measured"
    assert not t.meta.findings


def test_arrows_link_where_the_vendor_writes_no_correlation() -> None:
    bare = {"ph": "X", "cat": "kernel", "name": "k", "pid": 1, "tid": 9, "ts": 20, "dur": 5}
    t = trace(
        op("aten::mm", 0, 10), launch(2, 4, 77), bare, arrow("s", 2, 1, 3), arrow("f", 20, 9, 3)
    )
    assert (t.kernels.launch.tolist(), t.kernels.op.tolist()) == ([0], [0])


def test_external_id_is_the_last_resort() -> None:
    t = trace(op("aten::mm", 0, 10, id=5), kernel("k", 20, 30, **{"External id": 5}))
    assert (t.kernels.launch.tolist(), t.kernels.op.tolist()) == ([-1], [0])
    assert [(f.code, f.count) for f in t.meta.findings] == [("unlinked_activities", 1)]


def test_lanes_are_streams_of_devices() -> None:
    t = trace(
        kernel("a", 0, 5, stream=7), kernel("b", 1, 6, stream=20), kernel("c", 6, 7, stream=7),
        kernel("d", 6, 7, stream=7) | {"args": {"device": 1, "stream": 7}},
    )  # fmt: skip
    pairs = list(zip(t.lanes.device.tolist(), t.lanes.stream.tolist(), strict=True))
    assert pairs == [(0, 7), (0, 20), (1, 7)]
    assert t.kernels.lane.tolist() == [0, 1, 0, 2]


def test_kinds_and_communication() -> None:
    t = trace(
        kernel("gemm", 0, 1),
        kernel("ncclDevKernel_AllReduce_Sum_f32", 1, 2),
        kernel("vendorish", 2, 3, **{"Collective name": "allreduce"}),
        kernel("Memcpy HtoD", 3, 4, category="gpu_memcpy", bytes=4096),
        kernel("Memset (Device)", 4, 5, category="gpu_memset"),
    )
    assert t.kernels.kind.tolist() == [KERNEL, KERNEL, KERNEL, MEMCPY, MEMSET]
    assert t.kernels.communication.tolist() == [False, True, True, False, False]
    assert t.kernels.bytes.tolist() == [MISSING, MISSING, MISSING, 4096, MISSING]
    assert {EVIDENCE[e] for e in t.kernels.evidence} == {"measured"}
    assert t.kernels.start_bound_ns.tolist() == [0] * 5


def test_merged_traces_stay_inferred() -> None:
    t = trace(
        op("aten::mm", 0, 10, id=5),
        kernel("aten::mm", 3, 9, category="device_kernel", **{
            "External id": 5, "evidence": "end_pinned", "start_bound_ns": 4000,
        }),
        kernel("Memcpy HtoD", 10, 11, category="device_kernel"),
    )  # fmt: skip
    assert t.meta.timeline == "inferred"
    assert [EVIDENCE[e] for e in t.kernels.evidence] == ["end_pinned", "bound"]
    assert t.kernels.start_bound_ns.tolist() == [4000, MISSING]
    assert t.kernels.kind.tolist() == [KERNEL, MEMCPY]


def test_unknown_categories_are_named_not_guessed() -> None:
    t = trace(op("a", 0, 10), kernel("k", 5, 6, category="acme_kernel"))
    assert t.meta.timeline == "none"
    assert [f.code for f in t.meta.findings] == ["unknown_category", "host_only"]


def test_what_capture_warned_of_is_said_with_and_without_a_sidecar() -> None:
    told = {"backend": "npu", "warnings": [{"code": "no-stubs", "message": "No stubs."}]}
    t = trace(op("a", 0, 10), tb_privateuse1=told)
    assert (t.meta.backend, t.meta.vendor) == ("npu", "npu")
    assert [f.code for f in t.meta.findings] == ["no-stubs", "no_device_times"]
