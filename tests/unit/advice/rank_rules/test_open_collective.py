"""A collective that a rank did not join is a finding; one that all ended is none."""

from __future__ import annotations

from pathlib import Path

import tb_privateuse1 as tbp
from tb_privateuse1.views.distributed import Distributed
from tests.support.flight_recorders import Rank
from tests.support.rank_runs import found


def run(folder: Path, *states: str) -> Distributed:
    for number, state in enumerate(states):
        rank = Rank(number, {"0": tuple(range(len(states)))}).call()
        (rank.call(state=state) if state else rank).dump(folder)
    return tbp.open(folder).distributed()


def test_a_rank_that_did_not_join(tmp_path: Path) -> None:
    (row,) = found(run(tmp_path, "started", "", "scheduled"), "open_collective")
    assert row.title == "Rank 1 did not join all_reduce #2 of default_pg"
    assert [one.rank for one in row.evidence] == [1, 0, 2]
    assert row.saving_ns is None
    assert row.severity == "medium"


def test_one_that_all_joined_is_less_urgent(tmp_path: Path) -> None:
    (row,) = found(run(tmp_path, "started", "started"), "open_collective")
    assert row.title == "all_reduce #2 of default_pg has not ended, though each rank here joined it"
    assert row.severity == "note"


def test_one_that_all_have_ended(tmp_path: Path) -> None:
    assert found(run(tmp_path, "completed", "completed"), "open_collective") == []
