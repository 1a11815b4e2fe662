"""The host blocks on a collective and launches nothing."""

from __future__ import annotations

import pytest

from tests.support.rank_runs import FINE, Does, found, run

WAITS = Does(waits=True)


def test_the_host_waits_for_the_transfer() -> None:
    (row,) = found(run(WAITS, WAITS, transfer=1000), "synchronous_collectives")
    assert row.saving_ns == pytest.approx(1_000_000, rel=0.01)
    assert {one.rank for one in row.evidence} == {0, 1}


@pytest.mark.parametrize(("transfer", "speaks"), [(290, False), (310, True)])
def test_it_speaks_from_three_per_cent(transfer: float, speaks: bool) -> None:
    assert bool(found(run(WAITS, WAITS, transfer=transfer), "synchronous_collectives")) == speaks


def test_without_a_wait_or_hidden_it_is_fine() -> None:
    assert found(run(FINE, FINE, transfer=1000), "synchronous_collectives") == []
    hidden = run(WAITS, WAITS, transfer=1000, beside=1000)
    assert found(hidden, "synchronous_collectives") == []
