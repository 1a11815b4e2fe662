"""Sums of operators by hand: self and total times, launches, backward passes, the longest call."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.analysis.operators import totals
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import I64
from tests.support.make import kernel, launch, op, trace


def by_name(made: Trace) -> dict[str, dict[str, int]]:
    """Return the totals of each name, times in µs."""
    names, member = np.unique(made.ops.name, return_inverse=True)
    rows: I64 = np.arange(len(made.ops))
    forward = call_tree.forward_of(made)
    flops: I64 = np.full(len(made.ops), MISSING)
    sums = totals.operator_totals(made, rows, member, len(names), forward, flops)
    return {
        made.text(name): {
            key: int(column[i]) // (1000 if key.endswith("_ns") else 1)
            for key, column in sums.items()
        }
        for i, name in enumerate(names)
    }


def test_self_times_exclude_inner_operators() -> None:
    """Self times exclude inner operators and launches, totals include them."""
    found = by_name(
        trace(
            op("outer", 0, 50),
            op("inner", 10, 30),
            launch(12, 16, 1),
            kernel("k", 20, 60, 1),
            launch(40, 42, 2),
            kernel("k", 60, 65, 2),
        )
    )
    outer, inner = found["outer"], found["inner"]
    assert (outer["calls"], outer["host_total_ns"], outer["host_self_ns"]) == (1, 50, 28)
    assert (outer["device_total_ns"], outer["device_self_ns"]) == (45, 5)
    assert (inner["host_total_ns"], inner["host_self_ns"]) == (20, 16)
    assert (inner["device_total_ns"], inner["device_self_ns"]) == (40, 40)
    assert (outer["kernels"], inner["kernels"]) == (1, 1)
    assert (outer["launches"], outer["launch_ns"], inner["launch_ns"]) == (1, 2, 4)
    assert outer["device_bound_ns"] == inner["device_bound_ns"] == 0


def test_backward_time_counts_for_the_forward_operator() -> None:
    """Sequence numbers link a backward operator to its forward operator."""
    number, thread = "Sequence number", "Fwd thread id"
    found = by_name(
        trace(
            op("aten::mm", 0, 10, **{number: 5, thread: 0}),
            op("MmBackward0", 20, 40, thread=2, **{number: 5, thread: 1}),
            launch(22, 24, 1, thread=2),
            kernel("k", 30, 37, 1),
        )
    )
    assert found["aten::mm"]["backward_device_ns"] == 7
    assert found["aten::mm"]["device_total_ns"] == 0
    assert found["MmBackward0"]["backward_device_ns"] == 0


def test_the_longest_call_is_the_first_of_equal_ones() -> None:
    """Ties give the first row."""
    made = trace(op("a", 0, 5), op("a", 10, 19), op("a", 20, 29))
    assert by_name(made)["a"]["longest_row"] == 1


def test_recursion_counts_once_in_totals() -> None:
    found = by_name(
        trace(
            op("copy_", 0, 100), op("copy_", 10, 50), op("empty", 12, 13), op("copy_", 20, 40),
            launch(21, 22, 1), kernel("k", 30, 60, 1), op("copy_", 60, 70),
            op("copy_", 200, 210), op("copy_", 0, 40, thread=2),
        )
    )["copy_"]  # fmt: skip
    assert found["calls"] == 6
    assert found["host_total_ns"] == 100 + 10 + 40
    assert found["host_self_ns"] == 150 - 2  # without "empty" and the launch
    assert (found["device_self_ns"], found["device_total_ns"]) == (30, 30)


@pytest.mark.long
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), min_size=1, max_size=25))
def test_a_total_is_the_union_of_nested_calls(spans: list[tuple[int, int]]) -> None:
    made = trace(*(op("f", start, start + length) for start, length in spans))
    found = by_name(made)["f"]
    longest = max(length for _, length in spans)
    union = len({at for start, length in spans for at in range(start, start + length)})
    assert max(longest, union) <= found["host_total_ns"] <= sum(length for _, length in spans)
    nested = totals.nested_in_group(
        made.ops, np.arange(len(made.ops)), np.zeros(len(made.ops), int)
    )
    ends = sorted(set(zip(made.ops.start_ns.tolist(), made.ops.end_ns.tolist(), strict=True)))
    inside = {
        one for one in ends if any(o != one and o[0] <= one[0] and o[1] >= one[1] for o in ends)
    }
    assert (~nested).sum() == len(ends) - len(inside)
