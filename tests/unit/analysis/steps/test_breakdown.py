"""The breakdown of a step by hand: precedence of parts, kinds of activities, host communication."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import intervals
from tests.support.make import annotation, kernel, launch, op, step, trace

COPY, SET = "gpu_memcpy", "gpu_memset"


def test_an_instant_belongs_to_the_first_part_that_covers_it() -> None:
    """Kernels precede launches, launches precede operators."""
    made = trace(
        step(1, 0, 100), op("aten::mm", 10, 30), launch(12, 15, 1), kernel("mm", 20, 40, 1)
    )
    parts = {part: ns.tolist() for part, ns in breakdown.step_breakdown(made).items() if ns.any()}
    assert parts == {"kernel": [20_000], "runtime": [3_000], "cpu": [7_000], "other": [70_000]}


def test_the_data_loader_precedes_operators() -> None:
    """Operators inside the data loader count as data loading."""
    made = trace(
        step(1, 0, 50), annotation("enumerate(DataLoader)#_S.__next__", 0, 20), op("a", 5, 30)
    )
    parts = breakdown.step_breakdown(made)
    assert parts["dataloader"].tolist() == [20_000]
    assert parts["cpu"].tolist() == [10_000]


def test_parts_are_read_only() -> None:
    """The memoized parts cannot be changed by a view."""
    parts = breakdown.step_breakdown(trace(step(1, 0, 50)))
    with pytest.raises(ValueError, match="read-only"):
        parts["cpu"][0] = 1


def test_kinds_of_activities() -> None:
    """Communication kernels have a kind of their own."""
    made = trace(
        kernel("k", 0, 1), kernel("c", 1, 2, category=COPY), kernel("s", 2, 3, category=SET),
        kernel("ncclDevKernel_AllReduce", 3, 4),
    )  # fmt: skip
    assert breakdown.activity_kinds(made.kernels).tolist() == [0, 1, 2, 3]
    compute = breakdown.compute_kernels(made.kernels)
    assert [made.text(name) for name in compute.name] == ["k"]
    assert intervals.length(breakdown.communication_time(made)) == 1_000


def test_activities_without_a_launch_are_not_linked() -> None:
    """In a measured timeline the launch is the link."""
    made = trace(launch(0, 1, 1), kernel("a", 2, 3, 1), kernel("b", 4, 5, 9))
    assert breakdown.linked_activities(made, made.kernels).tolist() == [True, False]
