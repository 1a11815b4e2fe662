"""Exposed transfers."""

from __future__ import annotations

import pytest

from tests.support.rank_runs import FINE, SLOW, Does, found, run


def test_bare_transfers_are_found() -> None:
    (row,) = found(run(FINE, FINE, transfer=2000), "missing_overlap")
    assert row.saving_ns == pytest.approx(2_000_000, rel=0.01)
    assert "Of the communication 0 % run beside computation" in row.explanation


@pytest.mark.parametrize(("transfer", "speaks"), [(490, False), (510, True)])
def test_it_speaks_from_five_per_cent(transfer: float, speaks: bool) -> None:
    assert bool(found(run(FINE, FINE, transfer=transfer), "missing_overlap")) == speaks


@pytest.mark.parametrize(("beside", "speaks"), [(990, True), (1010, False)])
def test_half_of_it_hidden_is_fine(beside: float, speaks: bool) -> None:
    result = run(FINE, FINE, transfer=2000, beside=beside)
    assert bool(found(result, "missing_overlap")) == speaks


def test_waiting_for_a_rank_or_by_the_host_is_another_matter() -> None:
    late = run(FINE, SLOW, transfer=100)
    assert [row.rule for row in late.advice] == ["straggler"]
    held = run(Does(waits=True), Does(waits=True), transfer=2000)
    assert [row.rule for row in held.advice] == ["synchronous_collectives"]
