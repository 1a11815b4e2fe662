"""gloo on ranks that have a device."""

from __future__ import annotations

import pytest

from tests.rankrules.runs import FINE, Does, found, run


def test_it_is_found_on_the_ranks_that_do_it() -> None:
    (row,) = found(run(FINE, Does(gloo=2000)), "host_collectives")
    assert row.title == "Ranks with a device communicate on the host: 10 % of the time"
    assert (row.saving_ns, row.severity) == (None, "medium")
    assert [one.rank for one in row.evidence] == [1]


@pytest.mark.parametrize(("gloo", "speaks"), [(190, False), (210, True)])
def test_it_speaks_from_two_per_cent(gloo: float, speaks: bool) -> None:
    assert bool(found(run(Does(gloo=gloo), Does(gloo=gloo)), "host_collectives")) == speaks
