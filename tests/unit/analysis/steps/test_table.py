"""Rows, averages and spread of steps by hand."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.analysis.steps import breakdown, table
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
    one, two, three = table.step_table(THREE)
    spread = table.step_spread((one, two))
    assert spread is not None
    assert (spread.mean_ns, spread.median_ns, spread.deviation_ns) == (150_000, 150_000, 50_000)
    others = (replace(two, primed=True), replace(three, incomplete=True))
    spread = table.step_spread((one, *others))
    assert spread is not None
    assert (spread.min_ns, spread.max_ns, spread.deviation_ns) == (100_000, 100_000, 0)
    assert table.step_spread(others) is None


def test_an_unknown_bound_makes_the_spreads_bound_unknown() -> None:
    """The bound is the greatest one, None if any is unknown."""
    one, two, _ = table.step_table(THREE)
    wide = replace(two, duration_bound_ns=7)
    spread = table.step_spread((one, wide))
    assert spread is not None
    assert spread.bound_ns == 7
    spread = table.step_spread((wide, replace(one, duration_bound_ns=None)))
    assert spread is not None
    assert spread.bound_ns is None


def test_shares_of_averages_sum_to_one() -> None:
    """Averages of the parts are shares of the mean duration."""
    averages = table.step_averages(THREE, np.flatnonzero(~THREE.steps.incomplete))
    complete = [row for row in table.step_table(THREE) if not row.incomplete]
    kernel_ns = [row.kernel_ns or 0 for row in complete]
    first = next(row for row in averages if row.part == "kernel")
    assert first.mean_ns == round(sum(kernel_ns) / len(kernel_ns))
    assert (first.min_ns, first.max_ns) == (min(kernel_ns), max(kernel_ns))
    assert abs(sum(row.share or 0 for row in averages) - 1) < 1e-9
