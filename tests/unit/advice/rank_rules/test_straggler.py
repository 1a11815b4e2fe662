"""One rank is late, and the others wait for it."""

from __future__ import annotations

import pytest

from tests.support.rank_runs import FINE, SLOW, Does, by_turns, found, run


def test_it_is_named_with_the_kernel_that_takes_longer() -> None:
    slow = Does(5000, name="flash_backward")
    (row,) = found(run(FINE, FINE, slow, FINE), "straggler")
    assert row.title == "Rank 2 keeps the others waiting: 20.0 % of their time"
    assert row.saving_ns == pytest.approx(2_000_000, rel=0.01)
    assert (row.severity, row.confidence) == ("high", "high")
    assert "Computation takes 2 ms a step longer" in row.explanation
    assert "2 ms of it in flash_backward" in row.explanation
    assert [(one.rank, "computes 5 ms" in one.note) for one in row.evidence] == [(2, True)]


def test_a_slow_data_loader_of_one_rank() -> None:
    (row,) = found(run(FINE, FINE, FINE, Does(loads=1500)), "straggler")
    assert row.saving_ns == pytest.approx(1_500_000, rel=0.01)
    assert (
        "for 1.5 ms a step longer than on the median of the others, most of it waiting for its data"
        in row.explanation
    )


@pytest.mark.parametrize(("more", "speaks"), [(190, False), (210, True)])
def test_it_speaks_from_two_per_cent(more: float, speaks: bool) -> None:
    assert bool(found(run(FINE, FINE, FINE, Does(3000 + more)), "straggler")) == speaks


@pytest.mark.long
def test_ranks_that_are_last_in_turn_are_no_stragglers() -> None:
    assert found(run(*by_turns(2000)), "straggler") == []
    assert found(run(SLOW, SLOW, SLOW, SLOW), "straggler") == []


def test_a_set_of_ranks_is_one_finding() -> None:
    (row,) = found(run(FINE, SLOW, FINE, SLOW, FINE, FINE), "straggler")
    assert row.title == "Ranks 1, 3 keep the others waiting: 10.0 % of their time"
    assert [one.rank for one in row.evidence] == [1, 3]


def test_of_two_culprits_each_counts_until_the_next_one() -> None:
    """The others wait 2.8 ms for rank 1 on average; without it, still 1 ms for rank 3."""
    rows = found(run(FINE, Does(6000), FINE, SLOW, FINE, FINE), "straggler")
    assert [row.saving_ns for row in rows] == pytest.approx([1_800_000, 1_000_000], rel=0.01)
