"""Rows, averages and spread of steps by hand."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.steps import breakdown, table
from tb_privateuse1.trace.model import MISSING
from tests.support.make import kernel, launch, op, step, trace

THREE = trace(
    step(1, 0, 100), op("a", 10, 20), launch(12, 14, 1), kernel("k", 20, 60, 1),
    step(2, 100, 300), op("a", 110, 120), launch(112, 114, 2), kernel("k", 120, 180, 2),
    step(3, 300, 600),
)  # fmt: skip


def test_parts_sum_to_the_duration() -> None:
    """Each row's parts sum to its duration, and measured times have the bound 0."""
    rows = table.step_table(THREE)
    assert [row.name for row in rows] == ["ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"]
    assert [row.kernel_ns for row in rows] == [40_000, 60_000, 0]
    for row in rows:
        assert sum(getattr(row, f"{part}_ns") for part in breakdown.PARTS) == row.duration_ns
        assert (row.duration_bound_ns, row.kernel_bound_ns, row.kernel_bounded_ns) == (0, 0, 0)


def test_the_spread_excludes_incomplete_and_primed_steps() -> None:
    """Only complete steps that were not primed count."""
    spread = table.step_spread(THREE, np.array([0, 1]))
    assert spread is not None
    assert (spread.mean_ns, spread.median_ns, spread.deviation_ns) == (150_000, 150_000, 50_000)
    marked = replace(
        THREE.steps,
        primed=np.array([False, True, False]),
        incomplete=np.array([False, False, True]),
    )
    one = replace(THREE, steps=marked)
    spread = table.step_spread(one, np.arange(3))
    assert spread is not None
    assert (spread.min_ns, spread.max_ns, spread.deviation_ns) == (100_000, 100_000, 0)
    assert table.step_spread(one, np.array([1, 2])) is None
    counts = table.count_steps(one)
    assert (counts.numbered, counts.complete, counts.incomplete, counts.primed) == (3, 1, 1, 1)


@pytest.mark.parametrize(("second", "expected"), [(7, 7), (int(MISSING), None)])
def test_an_unknown_bound_makes_the_spreads_bound_unknown(
    second: int, expected: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is the greatest one, None if any is unknown."""
    monkeypatch.setattr(table, "_duration_bounds", lambda _: np.array([0, second, 9]))
    spread = table.step_spread(THREE, np.array([0, 1]))
    assert spread is not None
    assert spread.bound_ns == expected


def test_some_steps_are_the_same_as_among_all() -> None:
    assert table.step_table(THREE, slice(1, 3)) == table.step_table(THREE)[1:]


def test_shares_of_averages_sum_to_one() -> None:
    """Averages of the parts are shares of the mean duration."""
    averages = table.step_averages(THREE, np.flatnonzero(~THREE.steps.incomplete))
    complete = [row for row in table.step_table(THREE) if not row.incomplete]
    kernel_ns = [row.kernel_ns or 0 for row in complete]
    first = next(row for row in averages if row.part == "kernel")
    assert first.mean_ns == round(sum(kernel_ns) / len(kernel_ns))
    assert (first.min_ns, first.max_ns) == (min(kernel_ns), max(kernel_ns))
    assert abs(sum(row.share or 0 for row in averages) - 1) < 1e-9
