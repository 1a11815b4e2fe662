"""Ranks wait without a constant straggler."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.support.rank_runs import FINE, SLOW, by_turns, found, run


def test_by_turns() -> None:
    (row,) = found(run(*by_turns(2000)), "uneven_ranks")
    assert row.saving_ns == pytest.approx(1_500_000, rel=0.01)
    assert "who is late changes from step to step" in row.explanation
    assert row.confidence == "low"


@pytest.mark.parametrize(("extra", "speaks"), [(650, False), (680, True)])
def test_it_speaks_from_five_per_cent(extra: float, speaks: bool) -> None:
    """Three of four ranks wait in each step."""
    assert bool(found(run(*by_turns(extra)), "uneven_ranks")) == speaks


def test_ranks_with_more_work_are_named() -> None:
    """Two of six are late in some steps each, too few to rule out chance."""
    more = replace(SLOW, computes=5000)
    late = [[more] * 4 + [FINE] * 4, [FINE] * 4 + [more] * 3 + [FINE]]
    (row,) = found(run(FINE, *late, FINE, FINE, FINE), "uneven_ranks")
    assert "most have ranks 1, 2" in row.explanation
    assert row.confidence == "medium"


@pytest.mark.long
def test_a_straggler_is_none() -> None:
    assert found(run(FINE, FINE, SLOW, FINE), "uneven_ranks") == []
    assert found(run(FINE, FINE, FINE, FINE), "uneven_ranks") == []
