"""A rank that makes fewer calls than the others."""

from __future__ import annotations

import pytest

from tb_privateuse1.views.distributed import Distributed, distributed
from tests.support.make import Event, kernel, launch, op, step, trace
from tests.support.rank_runs import found
from tests.support.results import ranks

WORLD = 4


def run(*calls: int, steps: int = 8) -> Distributed:
    """Ranks with these numbers of all-reduces per step."""
    made = []
    for number, count in enumerate(calls):
        args = {"Collective name": "allreduce", "dtype": "Float", "Group size": len(calls),
                "In msg nelems": 1024, "Out msg nelems": 1024,
                "Process Group Name": "0"}  # fmt: skip
        events: list[Event] = []
        for i in range(steps):
            at = 1000.0 * i
            events.append(step(i, at, at + 990))
            for k in range(count):
                n, begin = 10 * i + k, at + 100 * k
                events += [op("aten::mm", begin, begin + 5), launch(begin + 1, begin + 2, n),
                           kernel("nccl", begin + 10, begin + 50, n, stream=9, **args)]  # fmt: skip
        info = {"backend": "nccl", "rank": number, "world_size": len(calls)}
        made.append(trace(*events, distributedInfo=info))
    return distributed(ranks(*made))


def test_a_rank_with_fewer_calls_is_named() -> None:
    result = run(5, 5, 4, 5)
    (row,) = found(result, "missed_collectives")
    assert row.title == "Rank 2 misses collectives of group 0"
    assert "In 8 of 8 steps" in row.explanation
    assert "the 3 other members" in row.explanation
    assert (row.saving_ns, row.severity) == (None, "medium")
    assert [one.rank for one in row.evidence] == [2]
    assert [(one.kind, one.victims) for one in result.culprits] == [("missing", (0, 1, 3))]


def test_a_rank_without_any_call_of_a_group_of_all_is_named() -> None:
    """Group size and world size are equal: the rank must be a member."""
    (row,) = found(run(1, 1, 1, 0, 1, 1), "missed_collectives")
    assert row.title.startswith("Rank 3 misses")


def test_more_calls_of_one_are_not_misses_of_the_others() -> None:
    assert found(run(4, 4, 5, 4), "missed_collectives") == []


@pytest.mark.long
def test_few_steps_or_even_calls_are_silent() -> None:
    assert found(run(5, 5, 4, 5, steps=3), "missed_collectives") == []
    assert found(run(5, 5, 5, 5), "missed_collectives") == []
