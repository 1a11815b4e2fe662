"""Ranks without a trace."""

from __future__ import annotations

from tb_privateuse1.views.distributed import distributed
from tests.support.rank_runs import FINE, STEPS, found, rank, run
from tests.support.results import ranks


def test_those_without_a_trace_are_named() -> None:
    (row,) = found(run(FINE, FINE, missing=3), "missing_ranks")
    assert row.title == "3 of 5 ranks are not here"
    assert (row.severity, row.saving_ns) == ("note", None)
    assert [one.rank for one in row.evidence] == [2, 3, 4]


def test_one_that_cannot_be_read() -> None:
    made = [rank(i, [FINE] * STEPS, [3010.0] * STEPS, transfer=100, world=3) for i in (0, 2)]
    (row,) = found(distributed(ranks(made[0], None, made[1])), "missing_ranks")
    assert [(one.rank, one.note) for one in row.evidence] == [(1, "its trace cannot be read")]


def test_all_there() -> None:
    assert run(FINE, FINE).advice == ()
