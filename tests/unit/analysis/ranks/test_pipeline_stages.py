"""Stages of pipelines: their order, and planted bubbles."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.distributed import distributed
from tests.support import parallel_runs as job
from tests.support.make import Event, kernel, launch, op, step, trace
from tests.support.results import ranks


@pytest.mark.long
def test_planted_bubbles() -> None:
    first, second = job.job().stages
    assert [(s.stage, s.ranks, s.members) for s in (first, second)] == [
        (0, "0-3, 8-11", 8), (1, "4-7, 12-15", 8),
    ]  # fmt: skip
    assert {first.order, second.order} == {"messages"}
    assert first.waiting_ns == first.bubble_ns == job.MICRO * job.SEND * 1000
    waits = job.WORK + job.SKEW + job.REDUCE + 2 * job.SEND
    assert second.waiting_ns == second.bubble_ns == waits * 1000
    assert second.bubble_share == pytest.approx(waits / job.STEP)
    assert (first.messages, first.step_ns) == (job.MICRO, job.STEP * 1000)


@pytest.mark.long
def test_without_peers_the_order_is_that_of_ranks() -> None:
    stages = job.job(peers=False).stages
    assert [(s.stage, s.order, s.ranks) for s in stages] == [
        (0, "ranks", "0-3, 8-11"), (1, "ranks", "4-7, 12-15"),
    ]  # fmt: skip


def member(rank: int, line: list[int], *, ring: bool = False) -> Trace:
    """A rank of a pipeline in an order of its own: it waits, computes, idles, and sends."""
    at = line.index(rank)
    events: list[Event] = [step(0, 0, 1000)]
    number = 0

    def run(name: str, start: float, end: float, **args: Any) -> None:
        nonlocal number
        number += 1
        events.extend([op("x", start - 3, start - 1), launch(start - 2.5, start - 2, number),
                       kernel(name, start, end, number, **args)])  # fmt: skip

    def message(kind: str, peer: int, start: float, end: float) -> None:
        way = {"send": "Dst Rank", "recv": "Src Rank"}[kind]
        run("nccl", start, end, **{"Collective name": kind, "dtype": "Float", "In msg nelems": 8,
            "Out msg nelems": 8, "Group size": len(line), "Process Group Name": "p",
            "Process Group Description": "pp", way: peer})  # fmt: skip

    if at or ring:
        message("recv", line[at - 1], 10, 10 + 100 * at + 5)
    start = 10 + 100 * at + 25  # 20 us idle behind the message
    run("gemm", start, start + 60)
    if at + 1 < len(line) or ring:
        message("send", line[(at + 1) % len(line)], start + 60, start + 70)
    config = [{"pg_name": "p", "pg_desc": "pp", "pg_size": len(line), "ranks": sorted(line)}]
    info = {"rank": rank, "world_size": 9, "pg_config": config}
    return trace(*events, distributedInfo=info)


def test_stages_follow_the_messages() -> None:
    line = [5, 2, 7, 0]
    stages = distributed(ranks(*(member(rank, line) for rank in sorted(line)))).stages
    assert [(s.ranks, s.order) for s in stages] == [(str(rank), "messages") for rank in line]
    assert [s.waiting_ns for s in stages] == [10_000, 115_000, 215_000, 305_000]
    assert [s.idle_ns for s in stages] == [0, 20_000, 20_000, 20_000]


def test_a_ring_has_no_first_stage() -> None:
    line = [5, 2, 7, 0]
    stages = distributed(ranks(*(member(rank, line, ring=True) for rank in sorted(line)))).stages
    assert [(s.ranks, s.order) for s in stages] == [(str(r), "ranks") for r in sorted(line)]


def test_ranks_that_all_send_to_one_are_no_line() -> None:
    """Wrong or hostile peers: each names rank 2 alone, which also names itself."""
    line = [2, 5, 7, 0]
    made = [member(rank, [2, rank] if rank != 2 else [2, 2]) for rank in sorted(line)]
    stages = distributed(ranks(*made)).stages
    assert all(s.order == "ranks" or s.members <= 2 for s in stages)


def test_one_rank_of_a_pipeline_has_no_stage() -> None:
    assert distributed(ranks(member(2, [5, 2]))).stages == ()
