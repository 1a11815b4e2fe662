"""Operator rows: calls, self and total, host and device."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.operators import OperatorRow, operators
from tests.support import invariants
from tests.support.make import annotation, frame, kernel, launch, op, step, trace
from tests.unit.analysis.work.calls import tensor, texts


def by_name(t: Trace, **options: object) -> dict[str, OperatorRow]:
    rows = operators(t, **options).rows  # type: ignore[arg-type]
    return {r.name: r for r in rows if r.name is not None}


def nested() -> Trace:
    return trace(
        step(1, 0, 200),
        op("aten::linear", 0, 100), op("aten::addmm", 10, 60),
        launch(20, 25, 1), kernel("gemm", 30, 70, 1),
        launch(80, 85, 2), kernel("bias", 90, 100, 2),
        launch(150, 151, 3), kernel("stray", 160, 163, 3),
    )  # fmt: skip


def test_device_time_counts_for_the_launcher_and_for_all_around_it() -> None:
    rows = by_name(nested())
    assert rows["aten::addmm"].device_self_ns == rows["aten::addmm"].device_total_ns == 40_000
    assert rows["aten::linear"].device_self_ns == 10_000
    assert rows["aten::linear"].device_total_ns == 50_000
    assert rows["aten::linear"].host_total_ns == 100_000
    assert rows["aten::linear"].host_self_ns == 45_000
    assert rows["aten::addmm"].kernels == 1
    assert rows["aten::addmm"].device_bound_ns == 0


def test_sums_close_with_the_unlinked_time() -> None:
    result = operators(nested())
    assert result.device_self_ns == 50_000
    assert result.unlinked_device_ns == 3_000
    assert result.host_self_ns == sum(r.host_self_ns for r in result.rows)


def test_annotations_are_no_operators() -> None:
    assert set(by_name(trace(annotation("mine", 0, 10), op("a", 1, 2)))) == {"a"}


def test_grouped_by_shapes() -> None:
    dims = "Input Dims"
    t = trace(
        op("a", 0, 1, **{dims: [[2, 3]]}), op("a", 2, 4, **{dims: [[2, 3]]}),
        op("a", 5, 8, **{dims: [[9]]}), op("b", 9, 10),
    )  # fmt: skip
    result = operators(t, group="shapes")
    calls = {(r.name, r.input_shapes): r.calls for r in result.rows}
    assert calls == {("a", "[[2,3]]"): 2, ("a", "[[9]]"): 1, ("b", None): 1}
    assert result.has_shapes
    assert [(r.name, r.calls, r.input_shapes) for r in operators(t).rows] == [
        ("a", 3, None),
        ("b", 1, None),
    ]


def test_a_lone_call_of_the_same_name_is_one_call_with_its_parent() -> None:
    t = trace(op("a", 0, 100), op("a", 10, 90), op("b", 20, 30), launch(22, 23, 1),
              launch(50, 52, 2), kernel("k", 60, 70, 2))  # fmt: skip
    row = by_name(t)["a"]
    assert (row.calls, row.host_total_ns, row.host_self_ns) == (1, 100_000, 88_000)
    assert (row.device_self_ns, row.kernels) == (10_000, 1)


def test_without_device_times_they_are_null() -> None:
    result = operators(trace(op("a", 0, 10)))
    assert result.rows[0].device_self_ns is None
    assert result.rows[0].kernels is None
    assert result.device_self_ns is None
    assert result.unlinked_device_ns is None


def test_a_step_selects_the_operators_that_start_in_it() -> None:
    t = trace(step(1, 0, 10), step(2, 10, 20), op("a", 1, 2), op("b", 11, 12))
    assert set(by_name(t, step=2)) == {"b"}


def test_empty() -> None:
    assert operators(Trace()).rows == ()


def test_the_longest_call_is_a_row_of_the_trace() -> None:
    t = trace(
        annotation("mine", 0, 100), op("a", 1, 4), op("b", 5, 9), op("a", 10, 20), op("a", 30, 40),
        op("b", 41, 42),
    )  # fmt: skip
    rows = {name: r.longest_row for name, r in by_name(t).items()}
    assert {name: t.ops.start_ns[row] for name, row in rows.items()} == {"a": 10_000, "b": 5_000}


@pytest.mark.parametrize("around", [annotation, frame])
def test_an_operator_alone_in_another_kind_of_range_of_its_name_is_a_call(around: Any) -> None:
    """As with ``with record_function("aten::mm"): torch.mm(…)``; torch has one row for both."""
    t = trace(
        around("aten::mm", 0, 50), op("aten::mm", 5, 25), launch(6, 8, 1), kernel("k", 9, 40, 1)
    )
    row = by_name(t)["aten::mm"]
    assert (row.calls, row.host_total_ns, row.device_self_ns) == (1, 20_000, 31_000)
    invariants.check(t)


def test_what_no_operator_launched_is_the_last_row() -> None:
    result = operators(nested())
    last = result.rows[-1]
    assert (last.name, last.calls, last.kernels, last.device_self_ns) == (None, 0, 1, 3_000)
    assert (last.launches, last.launch_ns, last.longest_row) == (1, 1_000, None)
    assert sum(r.device_self_ns or 0 for r in result.rows) == 53_000
    assert result.total_rows == result.found_rows == 2
    assert all(r.name for r in operators(trace(op("a", 0, 1))).rows)


def test_launches_of_the_operator_itself() -> None:
    rows = by_name(nested())
    assert (rows["aten::linear"].launches, rows["aten::linear"].launch_ns) == (1, 5_000)
    assert (rows["aten::addmm"].launches, rows["aten::addmm"].launch_ns) == (1, 5_000)
    assert by_name(trace(op("a", 0, 1)))["a"].launch_ns is None


def stacked() -> Trace:
    return trace(
        frame("train.py(1): main", 0, 100), frame("net.py(2): forward", 1, 50),
        frame("nn.Module: Linear_0", 2, 40), op("aten::mm", 3, 10), op("aten::mm", 12, 20),
        frame("nn.Module: Linear_1", 41, 49), op("aten::mm", 42, 44),
        op("aten::relu", 60, 70),
    )  # fmt: skip


def test_grouped_by_call_stack_in_frames() -> None:
    result = operators(stacked(), group="stack")
    assert result.has_stacks
    assert [(r.name, r.calls, r.stack) for r in result.rows] == [
        ("aten::mm", 3, "nn.Module: Linear;net.py(2): forward;train.py(1): main"),
        ("aten::relu", 1, "train.py(1): main"),
    ]


def test_grouped_by_call_stack_in_arguments() -> None:
    told = "Call stack"
    t = trace(op("a", 0, 1, **{told: "x;y"}), op("a", 2, 4, **{told: "x;y"}),
              op("a", 5, 8, **{told: "z"}), op("b", 9, 10))  # fmt: skip
    rows = operators(t, group="stack").rows
    assert {(r.name, r.stack): r.calls for r in rows} == {
        ("a", "x;y"): 2, ("a", "z"): 1, ("b", None): 1,
    }  # fmt: skip


def test_grouped_by_module_with_the_backward_pass() -> None:
    sequence, thread = "Sequence number", "Fwd thread id"
    t = trace(
        frame("nn.Module: Net_0", 0, 50), frame("nn.Module: Linear_0", 2, 40),
        op("aten::mm", 3, 10, **{sequence: 5}), op("aten::relu", 42, 44),
        op("MmBackward0", 60, 70, **{sequence: 5, thread: 1}), op("aten::mm", 61, 69),
        launch(62, 63, 1), kernel("gemm", 70, 90, 1), op("aten::add", 80, 81),
    )  # fmt: skip
    result = operators(t, group="module")
    assert result.has_modules
    assert {(r.module, r.name): r.calls for r in result.rows} == {
        ("Linear", "aten::mm"): 2, ("Net", "aten::relu"): 1, ("Linear", "MmBackward0"): 1,
        (None, "aten::add"): 1,
    }  # fmt: skip
    rows = by_name(t)
    assert (rows["MmBackward0"].forward, rows["aten::relu"].forward) == ("aten::mm", None)
    assert rows["aten::mm"].backward_device_ns == 20_000
    assert rows["MmBackward0"].backward_device_ns == 0


def test_instances_of_a_module_class_are_one_row() -> None:
    """They run the same lines of code."""
    result = operators(stacked(), group="module")
    assert {(r.module, r.name): r.calls for r in result.rows} == {
        ("Linear", "aten::mm"): 3, (None, "aten::relu"): 1,
    }  # fmt: skip


def test_grouped_by_category() -> None:
    rows = by_name(nested(), group="category")
    assert set(rows) == {"gemm"}
    gemm = rows["gemm"]
    assert (gemm.category, gemm.calls, gemm.device_self_ns) == ("gemm", 2, 50_000)
    assert {r.category for r in by_name(nested()).values()} == {"gemm"}


def test_a_limit_keeps_the_sums() -> None:
    t = trace(*(op(f"op{i}", 10 * i, 10 * i + i + 1) for i in range(9)))
    whole, part = operators(t), operators(t, limit=2, offset=1)
    assert [r.name for r in part.rows] == ["op7", "op6"]
    assert (part.total_rows, part.found_rows, part.host_self_ns) == (9, 9, whole.host_self_ns)
    assert part.others is not None
    assert (part.others.rows, part.others.calls) == (7, 7)
    shown = sum(r.host_self_ns for r in part.rows)
    assert part.others.host_self_ns + shown == whole.host_self_ns
    assert whole.others is None


def test_to_find_and_to_sort() -> None:
    t = nested()
    found = operators(t, find="ADD")
    assert ([r.name for r in found.rows], found.total_rows, found.found_rows) == (
        ["aten::addmm"], 2, 1,
    )  # fmt: skip
    names = [r.name for r in operators(t, sort="name").rows]
    assert names == ["aten::addmm", "aten::linear", None]
    assert operators(t, sort="-host_total_ns").rows[0].name == "aten::linear"
    assert operators(t, sort="host_total_ns").rows[0].name == "aten::addmm"


@pytest.mark.parametrize("options", [{"sort": "color"}, {"limit": -1}, {"offset": -1}])
def test_options_that_mean_nothing(options: Any) -> None:
    with pytest.raises(TraceError) as caught:
        operators(nested(), **options)
    assert caught.value.code == "bad_option"


def test_an_objects_address_makes_no_other_call_stack() -> None:
    t = trace(
        frame("<built-in method add_ of Parameter object at 0x7f12>", 0, 10),
        op("aten::add_", 1, 2),
        frame("<built-in method add_ of Parameter object at 0x7fab>", 20, 30),
        op("aten::add_", 21, 22),
    )  # fmt: skip
    (row,) = operators(t, group="stack").rows
    assert row.calls == 2


@pytest.mark.parametrize(
    ("group", "text", "found"),
    [
        ("name", "RELU", {"aten::relu"}), ("name", "gemm", {"aten::mm"}), ("name", "train", set()),
        ("stack", "linear_0", {"aten::mm"}), ("stack", "train.py", {"aten::mm", "aten::relu"}),
        ("module", "Linear", {"aten::mm"}), ("module", "Linear_1", set()),
        ("category", "elem", {"elementwise"}),
        ("category", "relu", set()),
    ],
)  # fmt: skip
def test_to_find_in_what_it_is_grouped_by(group: Any, text: str, found: set[str]) -> None:
    assert {r.name for r in operators(stacked(), group=group, find=text).rows} == found


@pytest.mark.long
def test_a_great_many_names_are_limited() -> None:
    n = 30_000
    t = trace(*(op(f"op{i}", i, i + 1) for i in range(n)))
    result = operators(t)
    assert (len(result.rows), result.total_rows) == (20_000, n)
    assert result.others is not None
    assert result.others.rows == n - 20_000
    assert [r.name for r in operators(t, find="op29999").rows] == ["op29999"]


def test_sorted_by_work_what_has_none_is_last() -> None:
    square, wide = (texts("aten::mm", tensor(n, 64), tensor(64, 64)) for n in (64, 512))
    t = trace(
        op("aten::mm", 0, 5, **square), launch(1, 2, 1), kernel("a", 10, 20, 1),
        op("aten::matmul", 30, 40), op("aten::mm", 31, 35, **wide),
        launch(32, 33, 2), kernel("b", 50, 60, 2),
        op("mine::op", 70, 75), launch(71, 72, 3), kernel("c", 80, 180, 3),
    )  # fmt: skip
    rows = operators(t, group="shapes", sort="-flops").rows
    flops = [r.flops for r in rows]
    assert flops[:2] == [2 * 512 * 64 * 64, 2 * 64**3]
    assert set(flops[2:]) == {None}
    assert operators(t, group="shapes", sort="flops").rows[0].flops == 2 * 64**3
    one = operators(t, group="shapes", sort="-flops", limit=1, offset=1).rows[0]
    assert one.flops == 2 * 64**3
    assert operators(t, sort="-tflop_per_s").rows[0].name == "aten::mm"
