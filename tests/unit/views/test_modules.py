"""The module tree: calls, host and device time, forward and backward pass."""

from __future__ import annotations

import pytest

from tb_privateuse1.trace import uncertainty
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.flame import flame
from tb_privateuse1.views.modules import ModuleRow, modules
from tests.support import make
from tests.support.make import annotation, frame, kernel, launch, op, step, trace
from tests.unit.analysis.work.calls import tensor, texts


def by_path(t: Trace, **options: object) -> dict[str, ModuleRow]:
    return {r.path: r for r in modules(t, **options).rows}  # type: ignore[arg-type]


def module(name: str, start: float, end: float) -> make.Event:
    return frame(f"nn.Module: {name}", start, end)


def two_linears() -> Trace:
    """Two steps of a model of two linears; the backward pass runs on thread 2."""
    events = []
    for n, at in ((1, 0), (2, 1000)):
        k = n * 10
        events += [
            step(n, at, at + 900),
            frame("train.py(3): step", at + 1, at + 899),
            module("Net_0", at + 10, at + 110),
            module("Linear_0", at + 20, at + 50),
            op("aten::linear", at + 22, at + 48, **{"Sequence number": k, "Fwd thread id": 0}),
            op("aten::addmm", at + 24, at + 46, **{"Sequence number": k, "Fwd thread id": 0}),
            launch(at + 30, at + 32, k), kernel("gemm", at + 40, at + 60, k),
            frame("net.py(9): forward", at + 52, at + 104),
            module("Linear_1", at + 60, at + 100),
            op("aten::addmm", at + 62, at + 98, **{"Sequence number": k + 1, "Fwd thread id": 0}),
            launch(at + 70, at + 72, k + 1), kernel("gemm", at + 80, at + 110, k + 1),
            op("aten::relu", at + 101, at + 103),
            launch(at + 102, at + 103, k + 2), kernel("relu", at + 120, at + 124, k + 2),
            op("AddmmBackward0", at + 300, at + 340, thread=2,
               **{"Sequence number": k + 1, "Fwd thread id": 1}),
            op("aten::mm", at + 310, at + 330, thread=2),
            launch(at + 315, at + 316, k + 3, thread=2), kernel("back", at + 320, at + 370, k + 3),
            op("aten::add_", at + 500, at + 510),
            launch(at + 505, at + 506, k + 4), kernel("adam", at + 520, at + 527, k + 4),
        ]  # fmt: skip
    return trace(*events)


def test_forward_times_and_calls() -> None:
    rows = by_path(two_linears())
    assert list(rows) == ["Net_0", "Net_0 / Linear_1", "Net_0 / Linear_0"]
    net, first = rows["Net_0"], rows["Net_0 / Linear_0"]
    assert (net.calls, net.depth, net.parent, net.instances) == (2, 0, None, 1)
    assert net.host_total_ns == 2 * 100_000
    assert net.host_self_ns == 2 * (100 - 30 - 40) * 1000
    assert net.device_self_ns == 2 * 4_000  # the relu, in a frame of the module's own
    assert net.device_total_ns == 2 * (20 + 30 + 4) * 1000
    assert (first.depth, first.parent, first.calls) == (1, 0, 2)
    assert first.host_total_ns == first.host_self_ns == 2 * 30_000
    assert first.device_self_ns == first.device_total_ns == 2 * 20_000
    assert net.device_bound_ns == first.device_bound_ns == 0


def test_the_backward_pass_belongs_to_the_module_of_the_forward_operator() -> None:
    rows = by_path(two_linears())
    second, net, first = rows["Net_0 / Linear_1"], rows["Net_0"], rows["Net_0 / Linear_0"]
    assert second.backward_device_ns == net.backward_device_ns == 2 * 50_000
    assert second.backward_host_ns == net.backward_host_ns == 2 * 40_000
    assert (first.backward_device_ns, first.backward_host_ns) == (0, 0)
    assert (second.kernels, net.kernels) == (4, 8)


def test_sums_close_with_what_is_outside() -> None:
    result = modules(two_linears())
    assert result.source == "modules"
    assert result.stacks
    assert result.device_ns == 2 * (20 + 30 + 4 + 50 + 7) * 1000
    assert result.outside_device_ns == 2 * 7_000
    (net,) = (r for r in result.rows if r.parent is None)
    assert net.device_total_ns is not None
    assert net.backward_device_ns is not None
    inside = net.device_total_ns + net.backward_device_ns
    assert inside + result.outside_device_ns == result.device_ns
    assert net.share == inside / result.device_ns
    own = sum(r.device_self_ns or 0 for r in result.rows)
    assert own == net.device_total_ns


def test_of_one_step() -> None:
    rows = by_path(two_linears(), step=2)
    assert rows["Net_0"].calls == 1
    assert rows["Net_0"].device_total_ns == 54_000
    assert rows["Net_0"].backward_device_ns == 50_000
    assert rows["Net_0"].backward_host_ns == 40_000
    with pytest.raises(TraceError, match="no step 7"):
        modules(two_linears(), step=7)


def test_modules_of_a_class_are_one_row() -> None:
    rows = by_path(two_linears(), group="class")
    assert list(rows) == ["Net", "Net / Linear"]
    linear = rows["Net / Linear"]
    assert (linear.instances, linear.calls) == (2, 4)
    assert linear.host_total_ns == 2 * 70_000
    assert linear.device_total_ns == 2 * 50_000


def test_only_modules_of_the_step_are_rows() -> None:
    t = trace(step(1, 0, 10), module("A_0", 1, 9), step(2, 20, 30), module("B_0", 21, 29))
    assert list(by_path(t)) == ["A_0", "B_0"]
    assert list(by_path(t, step=2)) == ["B_0"]


def test_a_module_may_call_itself() -> None:
    t = trace(module("Tree_0", 0, 100), module("Tree_0", 10, 50), module("Tree_0", 60, 70))
    rows = by_path(t)
    assert {p: (r.calls, r.host_total_ns) for p, r in rows.items()} == {
        "Tree_0": (1, 100_000),
        "Tree_0 / Tree_0": (2, 50_000),
    }


def test_without_device_times_the_share_is_of_host_time() -> None:
    result = modules(trace(module("A_0", 0, 30), module("B_0", 40, 50)))
    assert [(r.name, r.share, r.device_total_ns) for r in result.rows] == [
        ("A_0", 0.75, None),
        ("B_0", 0.25, None),
    ]
    assert (result.device_ns, result.outside_device_ns) == (None, None)


def test_annotations_stand_in_where_no_modules_were_recorded() -> None:
    t = trace(
        step(1, 0, 100), annotation("forward", 10, 60), annotation("attention", 20, 40),
        op("aten::mm", 25, 30), launch(26, 27, 1), kernel("k", 30, 35, 1),
    )  # fmt: skip
    result = modules(t)
    assert (result.source, result.stacks) == ("annotations", False)
    assert [(r.path, r.device_total_ns) for r in result.rows] == [
        ("forward", 5_000),
        ("forward / attention", 5_000),
    ]
    assert modules(t, source="modules").source == "none"
    both = trace(module("A_0", 0, 30), annotation("mine", 5, 10))
    assert list(by_path(both, source="annotations")) == ["mine"]


def test_annotations_have_no_classes() -> None:
    t = trace(step(1, 0, 100), annotation("part_1", 10, 20), annotation("part_2", 30, 40))
    assert [r.name for r in modules(t, group="class").rows] == ["part_1", "part_2"]


def test_no_modules_and_no_annotations() -> None:
    for t in (Trace(), trace(op("aten::mm", 0, 5)), trace(step(1, 0, 9), frame("f", 1, 2))):
        result = modules(t)
        assert (result.source, result.rows) == ("none", ())


def test_an_inferred_time_carries_its_bound() -> None:
    t = trace(
        module("A_0", 0, 100), op("aten::mm", 10, 40, id=1), op("aten::mm", 50, 80, id=2),
        elapsed={1: 100, 2: 20},
    )  # fmt: skip
    (row,) = modules(t).rows
    assert row.device_total_ns == int((t.kernels.end_ns - t.kernels.start_ns).sum()) > 0
    assert row.device_bound_ns == uncertainty.duration_sum_bound(t.kernels)


def shaped() -> Trace:
    """Return two modules in one, each with a product of another size and speed."""
    small, large = (texts("aten::mm", tensor(n, n), tensor(n, n)) for n in (256, 512))
    return trace(
        frame("nn.Module: Net_0", 0, 100),
        frame("nn.Module: Linear_0", 10, 40),
        op("aten::mm", 20, 30, **small, **{"Sequence number": 1, "Fwd thread id": 0}),
        launch(21, 22, 1), kernel("gemm", 200, 700, 1),
        frame("nn.Module: Linear_1", 50, 90),
        op("aten::mm", 60, 70, **large, **{"Sequence number": 2, "Fwd thread id": 0}),
        launch(61, 62, 2), kernel("gemm", 700, 1000, 2),
        op("MmBackward0", 1100, 1200, thread=2, **{"Sequence number": 1, "Fwd thread id": 1}),
        op("aten::mm", 1110, 1120, thread=2, **small),
        launch(1111, 1112, 3, thread=2), kernel("gemm", 1300, 1500, 3),
    )  # fmt: skip


def test_a_module_has_the_work_of_both_passes_and_of_all_inside() -> None:
    rows = by_path(shaped())
    net, *inner = (rows[p] for p in ("Net_0", "Net_0 / Linear_0", "Net_0 / Linear_1"))
    assert [one.flops for one in inner] == [2 * 2 * 256**3, 2 * 512**3]
    assert net.flops == 4 * 256**3 + 2 * 512**3
    assert net.bytes == sum(one.bytes or 0 for one in inner)
    assert net.tflop_per_s == pytest.approx(net.flops / 1_000_000_000)
    assert net.above_roof_ns == sum(one.above_roof_ns or 0 for one in inner)
    assert net.roof_share == pytest.approx(1 - net.above_roof_ns / 1_000_000)
    (whole,) = (r for r in by_path(shaped(), group="class").values() if r.depth == 1)
    assert (whole.flops, whole.above_roof_ns) == (net.flops, net.above_roof_ns)
    assert modules(shaped()).modeled.modeled_share == 1


@pytest.mark.long
def test_modules_of_one_parent_are_sorted_by_a_column() -> None:
    def names(sort: str | None) -> list[str]:
        return [row.name for row in modules(shaped(), sort=sort).rows]

    assert names(None) == ["Net_0", "Linear_0", "Linear_1"]
    for column in ("flops", "tflop_per_s", "host_total_ns", "roof_share", "name"):
        assert names(f"-{column}") == ["Net_0", "Linear_1", "Linear_0"], column
        assert names(column) == ["Net_0", "Linear_0", "Linear_1"], column
    assert names("share") == ["Net_0", "Linear_1", "Linear_0"]
    with pytest.raises(TraceError, match="cannot be sorted by 'path'"):
        modules(shaped(), sort="path")


def test_device_time_that_may_be_missing_is_not_known() -> None:
    """A launch of the only whole step left no activity: 0 is no sum."""
    made = make.trace(
        make.step(1, 0, 100), make.frame("nn.Module: Net_0", 5, 90),
        make.op("aten::mm", 10, 30), make.launch(12, 14, 1),
        make.kernel("stray", 150, 160, 9),
    )  # fmt: skip
    answer = modules(made)
    assert (answer.device_ns, answer.outside_device_ns) == (None, None)
    assert flame(made).total_ns is None
