"""gloo on ranks that have a device."""

from __future__ import annotations

import pytest

from tests.support.rank_runs import FINE, Does, found, run


def test_it_is_found_on_the_ranks_that_do_it() -> None:
    (row,) = found(run(FINE, Does(gloo=2000)), "host_collectives")
    assert row.title == "Ranks with a device communicate on the host: 10.0 % of the time"
    assert [one.rank for one in row.evidence] == [1]


def test_that_nothing_hides_it_is_its_symptom() -> None:
    """One finding counts the time once: 2 ms of gloo and 0.1 ms of transfers."""
    result = run(Does(gloo=2000), Does(gloo=2000))
    (row,) = found(result, "host_collectives")
    assert found(result, "missing_overlap") == []
    assert [one.rule for one in row.symptoms] == ["missing_overlap"]
    assert row.symptoms[0].title == "Transfers that no computation hides: 21.0 % of the time"
    assert row.saving_ns == pytest.approx(2_100_000, rel=0.01)
    assert row.severity == "high"
    assert "what could be hidden" in row.how


def test_transfers_of_the_device_are_another_matter() -> None:
    result = run(Does(gloo=500), Does(gloo=500), transfer=2000)
    (row,) = found(result, "host_collectives")
    assert (row.saving_ns, row.severity, row.symptoms) == (None, "medium", ())
    assert len(found(result, "missing_overlap")) == 1


def test_an_unknown_cost_has_no_saving() -> None:
    (row,) = found(run(Does(gloo=300), Does(gloo=300)), "host_collectives")
    assert (row.saving_ns, row.severity, row.symptoms) == (None, "medium", ())


@pytest.mark.parametrize(("gloo", "speaks"), [(190, False), (210, True)])
def test_it_speaks_from_two_per_cent(gloo: float, speaks: bool) -> None:
    assert bool(found(run(Does(gloo=gloo), Does(gloo=gloo)), "host_collectives")) == speaks
