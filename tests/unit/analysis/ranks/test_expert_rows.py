"""Experts: planted imbalance of tokens and of computation between dispatch and combine."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.distributed import distributed
from tests.support.make import Event, kernel, launch, op, step, trace
from tests.support.results import ranks

TOKENS = 1000
RECEIVED = (400, 600, 1000, 2000)
WORK = 0.1
"""Us per token."""


def member(rank: int, *, sizes: bool = True, description: str = "undefined") -> Trace:
    """In each step a dispatch, the experts' kernel, a combine, and another kernel."""
    events: list[Event] = []
    number = 0

    def run(name: str, start: float, end: float, **args: Any) -> None:
        nonlocal number
        number += 1
        events.extend([op("x", start - 3, start - 1), launch(start - 2.5, start - 2, number),
                       kernel(name, start, end, number, **args)])  # fmt: skip

    def exchange(sent: int, received: int, start: float, end: float) -> None:
        count = {"In msg nelems": sent, "Out msg nelems": received} if sizes else {}
        run("ncclDevKernel_SendRecv", start, end, **{"Collective name": "all_to_allv",
            "dtype": "Float", "Group size": 4, "Process Group Name": "3",
            "Process Group Description": description, **count})  # fmt: skip

    own = RECEIVED[rank]
    for i in range(2):
        at = 1000.0 * i + 10
        events.append(step(i, at - 10, at + 990))
        exchange(TOKENS, own, at, at + 50)
        run("experts", at + 50, at + 50 + WORK * own)
        exchange(own, TOKENS, at + 260, at + 300)
        run("attention", at + 300, at + 500)
    config = [{"pg_name": "3", "pg_desc": description, "pg_size": 4, "ranks": [0, 1, 2, 3]}]
    info = {"rank": rank, "world_size": 8, "pg_config": config}
    return trace(*events, distributedInfo=info)


def test_planted_imbalance() -> None:
    result = distributed(ranks(*map(member, range(4))))
    (row,) = result.experts
    mean = sum(RECEIVED) / 4
    assert (row.axis, row.ranks, row.members, row.steps) == ("Expert", "0-3", 4, 2)
    assert (row.exchanges, row.busiest_rank) == (1.0, 3)
    assert (row.received_bytes, row.most_bytes) == (mean * 4, 2000 * 4)
    assert row.imbalance == pytest.approx(2000 / mean)
    assert (row.computation_ns, row.longest_ns) == (mean * WORK * 1000, 2000 * WORK * 1000)
    assert row.computation_imbalance == pytest.approx(2000 / mean)
    (axis,) = result.axes
    assert (axis.evidence, axis.collectives) == ("collectives", ("all_to_all",))


def test_of_one_step() -> None:
    (row,) = distributed(ranks(*map(member, range(4))), step=1).experts
    assert (row.steps, row.exchanges) == (1, 1.0)


def test_without_sizes_the_computation_is_known() -> None:
    """Calls pair in turn; nothing shows that tokens were routed."""
    result = distributed(ranks(*(member(rank, sizes=False) for rank in range(4))))
    (row,) = result.experts
    assert (row.imbalance, row.received_bytes, row.busiest_rank) == (None, None, 3)
    assert row.longest_ns == 2000 * WORK * 1000
    assert result.axes[0].evidence == "structure"


def test_one_rank_cannot_be_compared() -> None:
    assert distributed(ranks(member(2))).experts == ()
