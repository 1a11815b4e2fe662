"""Work of graph replays: that of the captured operators, in each replay."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.analysis.roofs.rates import group_figures
from tb_privateuse1.analysis.work.kernel_work import kernel_work
from tb_privateuse1.inference import graph_captures
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.modules import modules
from tb_privateuse1.views.operators import operators
from tests.support.graphs import captured, replay
from tests.support.make import launch, op, trace
from tests.support.shared_traces import FOLDER, load, needs_traces
from tests.unit.analysis.work.calls import tensor, texts

FLOPS = 2 * 64 * 32 * 16
KERNELS = ("mm_kernel", "add_kernel")


def inputs(rows: int = 64) -> dict[str, dict[str, Any]]:
    return {
        "mm": texts("aten::mm", tensor(rows, 32), tensor(32, 16)),
        "add": texts("aten::add", tensor(rows, 16), tensor(rows, 16), 1),
    }


def flops(t: Trace) -> list[int]:
    return kernel_work(t).flops.tolist()


def test_each_replay_does_the_work_of_the_capture() -> None:
    t = trace(*captured(10, inputs=inputs()), *replay(100, 1, *KERNELS), *replay(200, 2, *KERNELS))
    assert flops(t) == [FLOPS, 64 * 16] * 2
    assert set(kernel_work(t).op.tolist()) == {NONE}, "no operator of the recording does it"
    assert [(row.name, row.flops) for row in operators(t).rows if row.launcher] == [
        ("aten::mm", 2 * FLOPS), ("aten::add", 2 * 64 * 16),
    ]  # fmt: skip
    assert {row.full_name: row.flops for row in kernels(t).rows}["mm_kernel"] == 2 * FLOPS
    assert "Net_0" in {row.name for row in modules(t).rows if row.flops == 2 * (FLOPS + 1024)}


def test_kernels_of_one_captured_operator_share_its_work() -> None:
    outer = op("aten::linear", 10.5, 29, **texts("aten::linear", tensor(64, 32), tensor(16, 32)))
    events = captured(10, ops=("mm", "mine"), inputs={"mm": inputs()["mm"]})
    t = trace(*events, outer, *replay(100, 1, "mm_kernel", "mine_kernel"))
    first, second = flops(t)
    # The operator without a model belongs to the one around, whose product mm is.
    assert (first, second) == (FLOPS, MISSING)
    events = captured(10, ops=("a", "b"))
    t = trace(*events, outer, *replay(100, 1, "a_kernel", "b_kernel"))
    assert sum(flops(t)) == FLOPS
    assert all(one > 0 for one in flops(t))


def test_captures_of_several_sizes_with_the_same_kernels_have_no_work() -> None:
    events = captured(10, inputs=inputs(64)) + captured(50, inputs=inputs(8))
    t = trace(*events, *replay(100, 1, *KERNELS))
    assert (t.kernels.capture >= 0).all(), "the place is certain"
    assert flops(t) == [MISSING, MISSING]
    same = captured(10, inputs=inputs()) + captured(50, inputs=inputs())
    assert flops(trace(*same, *replay(100, 1, *KERNELS))) == [FLOPS, 64 * 16]


def test_inputs_of_the_operators_around_count() -> None:
    def nested(rows: int, at: float) -> list[Any]:
        around = texts("aten::linear", tensor(rows, 32), tensor(16, 32))
        return [*captured(at, ops=("a", "b")), op("aten::linear", at + 0.5, at + 19, **around)]

    replayed = replay(100, 1, "a_kernel", "b_kernel")
    assert sum(flops(trace(*nested(64, 10), *nested(64, 50), *replayed))) == FLOPS
    assert flops(trace(*nested(64, 10), *nested(8, 50), *replayed)) == [MISSING] * 2


def test_another_recording_has_the_inputs() -> None:
    t = trace(*replay(100, 1, *KERNELS))
    other = trace(op("other", 0, 1), *captured(10, inputs=inputs()))
    made = graph_captures.add_captures(t, lambda: [other])
    assert flops(made) == [FLOPS, 64 * 16]
    assert [made.text(name) for name in made.captured_ops.name] == ["aten::mm", "aten::add"]


def test_without_shapes_or_a_capture_work_is_unknown() -> None:
    assert flops(trace(*captured(10), *replay(100, 1, *KERNELS))) == [MISSING] * 2
    assert flops(trace(*replay(100, 1, *KERNELS))) == [MISSING] * 2


def test_work_of_operators_stays_theirs() -> None:
    own = op("aten::mm", 300, 310, **inputs()["mm"])
    run = [own, launch(302, 303, 9), replay(320, 9, "mm_kernel")[-1]]
    t = trace(*captured(10, inputs=inputs()), *replay(100, 1, *KERNELS), *run)
    assert flops(t) == [FLOPS, 64 * 16, FLOPS]
    (whole,) = group_figures(t, t.kernels.step.astype("int64") * 0, 1)
    assert whole.flops == 2 * FLOPS + 64 * 16


@needs_traces
def test_a_served_model() -> None:
    served, recorded = (
        load(next((FOLDER / "rocm" / name).glob("*.json.gz")))
        for name in ("sglang_decode", "sglang_decode_capture")
    )
    made = graph_captures.add_captures(served, lambda: [recorded])
    everything = made.kernels.step.astype("int64") * 0
    (whole,) = group_figures(made, everything, 1)
    time = int((made.kernels.end_ns - made.kernels.start_ns).sum())
    assert whole.modeled_ns > 0.7 * time
    products = [row for row in kernels(made).rows if row.operator == "aten::mm"]
    assert len(products) >= 4
    assert all(row.roof_share is not None and row.roof_share <= 1 for row in products)
    assert whole.flops == pytest.approx(sum(row.flops or 0 for row in kernels(made).rows))
