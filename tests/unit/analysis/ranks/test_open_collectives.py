"""Open collectives: who did not join, by dumps of known faults, of torch and made here."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

import tb_privateuse1 as tbp
from tb_privateuse1.analysis.ranks.open_collectives import OpenCollective
from tests.support.flight_recorders import Rank

RECORDED = Path(__file__).parents[2] / "readers" / "flight_recorder" / "recorded"


def found(folder: Path) -> list[OpenCollective]:
    rows = tbp.open(folder).distributed().open_collectives
    assert all(row.title and row.explanation for row in rows)
    return [row.collective for row in rows]


def of(folder: Path, ranks: Iterable[Rank]) -> list[OpenCollective]:
    for rank in ranks:
        rank.dump(folder)
    return found(folder)


@pytest.mark.long
def test_a_rank_of_gloo_that_skips_a_collective() -> None:
    for form in ("skip", "json"):
        (one,) = found(RECORDED / form)
        assert (one.verdict, one.missing, one.sequence) == ("missing", (2,), 7)
        assert one.scheduled == (0, 1, 3)
        assert one.call.name == "gloo:all_reduce"
        assert one.instead[0].group == "1"
    (one,) = found(RECORDED / "skip")
    assert one.call.stack.endswith("train.py(21): loss")


def test_a_rank_of_gloo_that_calls_another_operation() -> None:
    (one,) = found(RECORDED / "operation")
    assert (one.verdict, one.missing, one.sequence) == ("different", (), 7)
    assert [(call.rank, call.name) for call in one.different] == [(3, "gloo:broadcast")]


def test_ranks_of_gloo_that_use_two_groups_in_different_orders() -> None:
    rows = found(RECORDED / "order")
    assert [(one.group, one.verdict, one.missing) for one in rows] == [
        ("0", "circle", (2,)), ("1", "circle", (0,)),
    ]  # fmt: skip


def test_without_one_of_the_dumps_it_is_not_known(tmp_path: Path) -> None:
    shutil.copytree(RECORDED / "skip", tmp_path / "run")
    (tmp_path / "run" / "gloo_trace_rank_2").unlink()
    assert [one.verdict for one in found(tmp_path / "run")] == ["unfinished"]
    ranks = [Rank(i).call().call(state="started") for i in (0, 1, 3)]
    (one,) = of(tmp_path / "nccl", ranks)
    assert (one.verdict, one.unknown, one.size) == ("unfinished", (2,), 4)


def test_all_went_on(tmp_path: Path) -> None:
    assert of(tmp_path, [Rank(i).call().call("barrier") for i in range(4)]) == []


def test_started_scheduled_and_ended_are_distinct(tmp_path: Path) -> None:
    states = ("started", "scheduled", "completed", "started")
    (one,) = of(tmp_path, [Rank(i).call().call(state=s) for i, s in enumerate(states)])
    assert (one.verdict, one.started, one.scheduled, one.ended) == (
        "unfinished", (0, 3), (1,), (2,),
    )  # fmt: skip


def test_a_rank_without_any_call_did_not_join_if_nothing_is_lost(tmp_path: Path) -> None:
    groups = {"0": (0, 1), "tp": (0, 1)}
    ranks = [Rank(0, groups).call().call(group="tp", state="started"), Rank(1, groups).call()]
    (one,) = of(tmp_path / "whole", ranks)
    assert (one.group, one.missing) == ("tp", (1,))
    lost = [Rank(0, groups).call().call(group="tp", state="started"), Rank(1, groups, first=9)]
    (one,) = of(tmp_path / "lost", [lost[0], lost[1].call()])
    assert (one.group, one.missing, one.unknown) == ("tp", (), (1,))


@pytest.mark.parametrize("changed", [{"shape": (33,)}, {"dtype": "Half"}, {"kind": "broadcast"}])
def test_a_rank_with_another_size_type_or_operation(
    tmp_path: Path, changed: dict[str, object]
) -> None:
    ranks = [Rank(i).call() for i in range(4)]
    for i, rank in enumerate(ranks):
        rank.call(state="started", **(changed if i == 3 else {}))  # type: ignore[arg-type]
    (one,) = of(tmp_path, ranks)
    assert one.verdict == "different"
    assert [call.rank for call in one.different] == [3]


def test_sizes_that_may_differ_are_the_same_call(tmp_path: Path) -> None:
    ranks = [Rank(i).call("all_to_all", state="started", shape=(8 + i,)) for i in range(4)]
    assert [one.verdict for one in of(tmp_path / "a", ranks)] == ["unfinished"]
    ranks = [Rank(i).call(state="started", shape=((8, 4), (4, 8))[i % 2]) for i in range(4)]
    assert [one.verdict for one in of(tmp_path / "b", ranks)] == ["unfinished"]


def test_the_cause_comes_before_its_effects(tmp_path: Path) -> None:
    """Rank 3 is missing in dp; rank 2 waits there, and so is missing in tp, where rank 0 waits."""
    groups = {"0": (0, 1, 2, 3), "tp": (0, 2), "dp": (2, 3)}
    ranks = [Rank(i, groups).call() for i in range(4)]
    ranks[0].call(group="tp", state="started")
    ranks[2].call(group="dp", state="started")
    rows = of(tmp_path, ranks)
    assert [(one.group, one.verdict, one.missing) for one in rows] == [
        ("dp", "missing", (3,)), ("tp", "behind", (2,)),
    ]  # fmt: skip
    advice = [row for row in tbp.open(tmp_path).distributed().advice if row.rule != "missing_ranks"]
    assert [row.rule for row in advice] == ["open_collective"]
    assert [e.rank for e in advice[0].evidence] == [3, 2]


def test_two_groups_of_one_name_are_two(tmp_path: Path) -> None:
    ranks = [Rank(i, {"0": (0, 1, 2, 3), "tp": (i & 2, (i & 2) + 1)}).call() for i in range(4)]
    for i, rank in enumerate(ranks):
        if i != 3:
            rank.call(group="tp", state="started" if i == 2 else "completed")
    (one,) = of(tmp_path, ranks)
    assert (one.group, one.missing, one.size) == ("tp", (3,), 2)


def test_messages_whose_other_end_is_missing(tmp_path: Path) -> None:
    groups = {"0": (0, 1), "pp": (4, 6)}
    first = Rank(4, groups).call("recv 0<-1", group="pp", state="started")
    second = Rank(6, groups).call("send 1->0", group="pp").call("recv 1<-0", "started", "pp")
    (one, other) = of(tmp_path / "a", [first, second])
    assert {(o.call.rank, o.missing) for o in (one, other)} == {(4, (6,)), (6, (4,))}
    both = [
        Rank(4, groups).call("recv 0<-1", "started", "pp"),
        Rank(6, groups).call("send 1->0", "started", "pp"),
    ]
    assert of(tmp_path / "b", both) == []


def test_a_coalesced_call_is_one(tmp_path: Path) -> None:
    ranks = [Rank(i, {"0": (0, 1)}).call().call(state="started") for i in range(2)]
    for rank in ranks:
        again = dict(rank.entries[-1], record_id=2, op_id=3)
        rank.entries.append(again)
    assert [one.verdict for one in of(tmp_path, ranks)] == ["unfinished"]
    ranks[1].entries[-1]["profiling_name"] = "nccl:broadcast"
    (one,) = of(tmp_path, ranks)
    assert one.verdict == "different"


@pytest.mark.long
def test_many_ranks_and_entries(tmp_path: Path) -> None:
    count = 64
    for i in range(count):
        rank = Rank(i, {"0": tuple(range(count))}, first=100)
        for _ in range(300):
            rank.call()
        (rank.call(state="started") if i != 40 else rank).dump(tmp_path)
    (one,) = found(tmp_path)
    assert (one.missing, one.sequence, len(one.started)) == ((40,), 301, count - 1)
