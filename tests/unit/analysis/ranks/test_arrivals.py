"""Ranks that others wait for, by hand."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.ranks import arrivals
from tests.unit.analysis.ranks.test_collectives import matched, one


def test_the_shortest_call_is_the_last_rank() -> None:
    """The others' additional time is the wait that the last rank causes."""
    three = {"Group size": 3}
    calls = matched(one(10, 50, **three), one(30, 20, **three), one(30, 20, **three))
    found = arrivals.assign_blame(calls, np.ones(6, np.bool_), 3)
    assert found.last.tolist() == [1, 1, 1], "two come last together"
    assert found.caused_ns.tolist() == [20_000, 30_000, 30_000]
    assert found.telling == 2


def test_only_calls_of_the_chosen_steps_count() -> None:
    """Without chosen calls there is no blame."""
    calls = matched(one(10), one(30))
    found = arrivals.assign_blame(calls, np.zeros(2, np.bool_), 2)
    assert (found.last.tolist(), found.caused_ns.tolist(), found.telling) == ([0, 0], [0, 0], 0)


def test_short_waits_do_not_count() -> None:
    """A wait below 10 % of the call does not identify the last rank."""
    found = arrivals.assign_blame(matched(one(100), one(105)), np.ones(2, np.bool_), 2)
    assert (found.last.tolist(), found.telling) == ([0, 0], 0)
