"""Ranks that others wait for, and their excess, by hand."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.ranks import stragglers
from tb_privateuse1.analysis.ranks.stragglers import Blame
from tests.unit.analysis.ranks.test_collectives import matched, one

FIGURES = {
    0: {"computation": 100, "copy": 5, "idle": 10},
    1: {"computation": 140, "copy": 5, "idle": 0},
    2: {"computation": 104, "copy": 5, "idle": 10},
}


def blame(*last: int, telling: int = 10) -> Blame:
    """Return a blame with these counts by rank, and a wait of 1 µs for each."""
    counts = np.array(last, np.int64)
    return Blame(counts, counts * 1000, telling)


def test_the_shortest_call_is_the_last_rank() -> None:
    """The others' additional time is the wait that the last rank causes."""
    three = {"Group size": 3}
    calls = matched(one(10, 50, **three), one(30, 20, **three), one(30, 20, **three))
    found = stragglers.assign_blame(calls, np.ones(6, np.bool_), 3)
    assert found.last.tolist() == [1, 1, 0]
    assert found.caused_ns.tolist() == [20_000, 15_000, 0]
    assert found.telling == 2


def test_only_calls_of_the_chosen_steps_count() -> None:
    """Without chosen calls there is no blame."""
    calls = matched(one(10), one(30))
    found = stragglers.assign_blame(calls, np.zeros(2, np.bool_), 2)
    assert (found.last.tolist(), found.caused_ns.tolist(), found.telling) == ([0, 0], [0, 0], 0)


def test_short_waits_do_not_count() -> None:
    """A wait below 10 % of the call does not identify the last rank."""
    found = stragglers.assign_blame(matched(one(100), one(105)), np.ones(2, np.bool_), 2)
    assert (found.last.tolist(), found.telling) == ([0, 0], 0)


def test_a_straggler_has_the_greatest_excess_over_the_median() -> None:
    """Rank 1 computes 140 against a median of 102."""
    (found,) = stragglers.find_stragglers(blame(1, 8, 1), FIGURES)
    assert (found.rank, found.last, found.collectives, found.caused_ns) == (1, 8, 10, 8_000)
    assert (found.cause, found.excess_ns) == ("computation", 38)


def test_being_last_by_chance_is_not_straggling() -> None:
    """With three ranks, it takes two thirds of at least four collectives."""
    assert stragglers.find_stragglers(blame(2, 6, 2), FIGURES) == ()
    assert stragglers.find_stragglers(blame(0, 3, 0, telling=3), FIGURES) == ()
    assert stragglers.find_stragglers(blame(10), {0: FIGURES[0]}) == ()


def test_without_an_excess_the_cause_is_unknown() -> None:
    """Equal or missing figures give no cause."""
    (found,) = stragglers.find_stragglers(blame(8, 2), {0: FIGURES[0], 1: FIGURES[0]})
    assert (found.cause, found.excess_ns) == ("unknown", 0)
    (found,) = stragglers.find_stragglers(blame(8, 2), {0: None, 1: FIGURES[0]})
    assert (found.cause, found.excess_ns) == ("unknown", 0)
