"""Steps of all ranks as columns: selection, means, and a grid of bounded size."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_privateuse1.analysis.ranks import collectives
from tb_privateuse1.analysis.ranks import steps as ranks_steps
from tests.support.make import step, trace


def table(*lasts: tuple[int, ...]) -> tuple[ranks_steps.RankSteps, collectives.MatchedCalls]:
    """Build a rank per argument, with steps of these lengths in µs."""
    parts = [
        collectives.reduce_trace(
            trace(*(step(i, 1000 * i, 1000 * i + us) for i, us in enumerate(of)))
        )
        for of in lasts
    ]
    calls = collectives.match_calls(parts)
    return ranks_steps.rank_steps(parts, calls), calls


def all_of(steps: ranks_steps.RankSteps) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.ones(len(steps.rank), np.bool_)


def test_means_are_exact_and_missing_without_steps() -> None:
    """Means are exact, and None without steps."""
    steps, _ = table((10, 20), (30,))
    means = ranks_steps.step_means(steps, all_of(steps), 3)
    assert means["duration_ns"] == [15_000, 30_000, None]
    assert means["transferring_ns"] == [None, None, None]


def test_incomplete_steps_count_only_where_there_are_no_others() -> None:
    """Incomplete steps count only without others."""
    steps, _ = table((10, 20), (30,))
    steps.incomplete[[1, 2]] = True
    assert ranks_steps.counted_steps(steps, all_of(steps), 2).tolist() == [True, False, True]


def test_a_grid_has_no_more_cells_than_a_picture() -> None:
    """A grid has a bounded number of cells."""
    steps, calls = table(tuple(range(1, 901)), (10,))
    grid = ranks_steps.step_grid(steps, all_of(steps), calls.step_names, (0, 7), "step", {0, 7})
    assert (grid.ranks, grid.steps_each, len(grid.steps)) == ((0, 7), 3, 300)
    assert grid.steps[:2] == ("ProfilerStep#0", "ProfilerStep#3")
    assert grid.values[:2] == (2000, 5000)
    assert grid.values[300:302] == (10_000, None)


def test_a_grid_of_nothing() -> None:
    """A grid without steps is empty."""
    steps, calls = table()
    grid = ranks_steps.step_grid(steps, all_of(steps), calls.step_names, (), "idle", set())
    assert (grid.values, grid.steps, grid.median_ns) == ((), (), None)
