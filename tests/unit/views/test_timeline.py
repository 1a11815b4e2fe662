"""The timeline's window: which tracks, which rectangles, what they are called."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tb_privateuse1.analysis.timeline import level_of_detail
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.encoding import encode, encode_columns
from tb_privateuse1.views.timeline import Timeline, timeline
from tests.support.make import annotation, frame, kernel, launch, memory, op, step, trace
from tests.support.results import run_view


def some() -> Trace:
    return trace(
        step(1, 0, 100), annotation("mine", 1, 50), op("aten::mm", 10, 40, 1), launch(12, 14, 1),
        frame("f", 0, 60), kernel("gemm", 60, 70, 1), kernel("ncclAllReduce", 65, 80, stream=9),
        memory(20, 8, 16),
    )  # fmt: skip


def ask(one: Trace, **asked: object) -> Timeline:
    result = run_view(timeline, one, asked)
    assert isinstance(result, Timeline)
    return result


def drawn(result: Timeline) -> list[tuple[str, str, int]]:
    """Name, kind and start in us of each rectangle."""
    r = result.rectangles
    return [
        (result.names[n], result.kinds[k], int(s) // 1000)
        for n, k, s in zip(r.name, r.kind, r.start_ns, strict=True)
    ]


def test_groups_have_the_same_key_in_every_language() -> None:
    told = json.loads(encode(ask(some()), "zh"))["tracks"]
    assert [(t["group"], t["group_key"]) for t in told[1:4:2]] == [
        ("进程 1", "Process 1"), ("设备 0", "Device 0"),
    ]  # fmt: skip


def test_everything() -> None:
    result = ask(some())
    assert [(t.kind, t.group, t.rows, t.ranges, t.hidden) for t in result.tracks] == [
        ("steps", "Steps", 1, 1, 0), ("operators", "Process 1", 4, 4, 0),
        ("frames", "Process 1", 1, 1, 0), ("device", "Device 0", 1, 1, 0),
        ("device", "Device 0", 1, 1, 0),
    ]  # fmt: skip
    assert drawn(result) == [
        ("ProfilerStep#1", "step", 0), ("ProfilerStep#1", "annotation", 0),
        ("mine", "annotation", 1), ("aten::mm", "operator", 10),
        ("cudaLaunchKernel", "runtime", 12), ("f", "frame", 0), ("gemm", "kernel", 60),
        ("NCCL all-reduce", "communication", 65),
    ]  # fmt: skip
    assert [(c.what, c.unit, c.inferred) for c in result.counters] == [
        ("utilization", "share", False), ("waiting", "kernels", False),
        ("rate", "kernels/ms", False), ("memory", "bytes", False),
    ]  # fmt: skip
    assert result.rectangles.bound_ns.tolist() == [0] * 8
    assert (result.start_ns, result.stop_ns, result.end_ns) == (0, 100_000, 100_000)


def test_of_many_threads_the_fullest_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(level_of_detail, "MOST_OWNERS", 3)
    calls = [(tid, call) for tid in range(1, 9) for call in range(1 + tid % 4)]
    ops = [op(f"t{tid}", 10 * call, 10 * call + 5) | {"tid": tid} for tid, call in calls]
    result = ask(trace(*ops, kernel("k", 0, 5, 1)))
    assert result.left_out == 5
    assert [(t.kind, t.ranges) for t in result.tracks if t.kind == "operators"] == [
        ("operators", 3), ("operators", 4), ("operators", 4),
    ]  # fmt: skip
    assert {name for name, kind, _ in drawn(result) if kind == "operator"} == {"t2", "t3", "t7"}
    assert [t.id for t in result.tracks] == [0, 1, 2, 3, 4]
    assert ask(some()).left_out == 0


def test_lengths_are_exact() -> None:
    # More than a float of 32 bits can tell apart, as starts already are.
    one = trace(kernel("long", 10, 10 + 42_796.862, 1), op("o", 0, 60_000))
    r = ask(one, tracks=str(len(ask(one).tracks) - 1)).rectangles
    assert r.length_ns.tolist() == [42_796_862]


def test_some_tracks_and_folded_ones() -> None:
    assert drawn(ask(some(), tracks="3")) == [("gemm", "kernel", 60)]
    assert drawn(ask(some(), tracks="", folded="1")) == [("ProfilerStep#1", "annotation", 0)]
    assert drawn(ask(some(), tracks="")) == []
    assert ask(some(), folded="1").names == ("ProfilerStep#1", "f", "gemm", "NCCL all-reduce")


def test_a_window() -> None:
    result = ask(some(), start_ns=66_000, stop_ns=75_000, tracks="3,4")
    assert [name for name, _, _ in drawn(result)] == ["gemm", "NCCL all-reduce"]
    assert drawn(ask(some(), start_ns=85_000, stop_ns=90_000, tracks="3,4")) == []


@pytest.mark.parametrize("asked", [{"tracks": "9"}, {"tracks": "-1"}, {"folded": "x"}])
def test_tracks_that_are_not_there(asked: dict[str, str]) -> None:
    with pytest.raises(TraceError, match=r"tracks|numbers"):
        ask(some(), **asked)


@pytest.mark.parametrize("start", [10**30, -(10**30), 2**61])
def test_a_window_that_no_recording_has(start: int) -> None:
    with pytest.raises(TraceError, match="No recording"):
        ask(some(), start_ns=start)
    far = ask(some(), start_ns=-(2**61), stop_ns=2**61 - 1)
    assert np.isfinite(far.curves.value).all()


def test_inferred_kernels_carry_their_bound() -> None:
    one = trace(op("aten::mm", 0, 5, 1), op("aten::mm", 6, 9, 2), elapsed={1: 40.0, 2: 50.0})
    result = ask(one)
    of_device = [i for i, (_, kind, _) in enumerate(drawn(result)) if kind == "kernel"]
    bounds = one.kernels.start_bound_ns
    assert len(of_device) == len(one.kernels) == 2
    told = result.rectangles.bound_ns[of_device]
    assert told == pytest.approx(np.maximum(bounds, -1))
    assert (told != 0).all()
    for counter in result.counters:
        assert counter.inferred
        assert counter.label.endswith("(inferred)")
    assert (result.curves.bound > 0).any()


def test_all_counters_together_are_as_large_as_one_answer_may_be() -> None:
    # 60 devices with three counters each, and something new in every part of each.
    one = trace(
        *(kernel("k", 10 * i + d / 9, 10 * i + d / 9 + 3, device=d)
          for i in range(60) for d in range(60)),
        op("o", 0, 600),
    )  # fmt: skip
    result = ask(one, width=4000)
    points = [c.points for c in result.counters]
    assert [c.first for c in result.counters] == np.cumsum([0, *points])[:-1].tolist()
    assert len(result.curves.at_ns) == len(result.curves.value) == sum(points) <= 3000


def test_counters_with_little_leave_their_share_to_others() -> None:
    kernels = (kernel("k", 10 * i, 10 * i + 3, device=0) for i in range(3000))
    rare = (kernel("k", 10_000 * d, 10_000 * d + 3, device=d) for d in range(1, 3))
    result = ask(trace(*kernels, *rare), width=4000)
    points = {c.label: c.points for c in result.counters}
    assert points["Utilization of device 0"] > 2000
    assert points["Utilization of device 2"] < 5
    assert sum(points.values()) <= 3000


def test_packed_is_what_json_says() -> None:
    result = ask(some())
    packed = encode_columns(result)
    assert packed is not None
    size = int.from_bytes(packed[:4], "little")
    head = json.loads(packed[4 : 4 + size])
    base = -(-(4 + size) // 8) * 8
    plain = json.loads(encode(result))
    for name, told in head["rectangles"].items():
        dtype, offset, length = told["$column"]
        column = np.frombuffer(packed, dtype, length, base + offset)
        assert column.tolist() == plain["rectangles"][name]
    dtype, offset, length = head["shares"]["$column"]
    assert np.frombuffer(packed, dtype, length, base + offset).tolist() == plain["shares"]
    columns = {"rectangles": 0, "curves": 0, "shares": 0}
    assert {**head, **columns} == {**plain, **columns}
    assert encode_columns(ask(some()).tracks) is None


def test_a_step() -> None:
    one = trace(step(1, 0, 10), op("a", 1, 5), step(2, 20, 30), op("b", 21, 25))
    result = ask(one, step=2)
    assert (result.start_ns, result.stop_ns) == (20_000, 30_000)
    assert [name for name, kind, _ in drawn(result) if kind == "operator"] == ["b"]
    with pytest.raises(TraceError, match="no step 7"):
        ask(one, step=7)


def test_no_more_than_asked_for() -> None:
    kernels = (kernel(f"k{i}", 10 * i, 10 * i + 4) for i in range(200))
    one = trace(*kernels)
    assert len(ask(one).rectangles.row) == 201
    few = ask(one, most=20).rectangles
    assert len(few.row) <= 20
    assert few.count.sum() == 201


def test_modules_only_where_asked_for() -> None:
    one = trace(
        frame("nn.Module: Net_0", 0, 100), frame("f", 5, 60), frame("nn.Module: Linear_0", 10, 50),
        op("aten::mm", 20, 40, 1, **{"Sequence number": 3, "Fwd thread id": 0}), launch(25, 30, 7),
        kernel("gemm", 31, 39, 7, **{"External id": 1}), op("aten::add", 70, 80, 2),
        op("MmBackward", 200, 230, 3, tid=9, **{"Sequence number": 3, "Fwd thread id": 1}),
        op("aten::mm", 205, 225, 4, tid=9),
    )  # fmt: skip
    told = ask(one)
    assert told.has_modules
    assert (told.modules, set(told.rectangles.module.tolist())) == ((), {-1})
    found = ask(one, modules=True)
    r = found.rectangles
    of = {
        (found.names[n], int(s) // 1000): found.modules[m] if m >= 0 else None
        for n, s, m in zip(r.name, r.start_ns, r.module, strict=True)
    }
    assert of == {
        ("whole trace", 0): None, ("nn.Module: Net_0", 0): "Net_0", ("f", 5): "Net_0",
        ("nn.Module: Linear_0", 10): "Linear_0", ("gemm", 31): "Linear_0",
        ("aten::mm", 20): "Linear_0", ("cudaLaunchKernel", 25): "Linear_0",
        ("aten::add", 70): "Net_0", ("MmBackward", 200): "Linear_0", ("aten::mm", 205): "Linear_0",
    }  # fmt: skip
    without = ask(some(), modules=True)
    assert (without.has_modules, without.modules) == (False, ())


def test_device_activities_name_their_operator() -> None:
    one = trace(op("aten::mm", 0, 10, id=1), launch(2, 4, 1), kernel("gemm", 5, 9, 1),
                kernel("lost", 20, 30))  # fmt: skip
    found = ask(one, tracks="1,2")
    r, names = found.rectangles, found.names
    launcher = {names[n]: int(at) for n, at in zip(r.name, r.launcher, strict=True)}
    assert found.launchers == ("aten::mm",)
    assert launcher == {"aten::mm": -1, "cudaLaunchKernel": -1, "gemm": 0, "lost": -1}
