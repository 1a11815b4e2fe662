"""The memory of all ranks: each peak by category, in the same step of all."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tb_privateuse1.analysis.memory.rank_peaks import rank_memory
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.lookups.memory_ranks import MemoryRanks, memory_ranks
from tb_privateuse1.views.memory import memory as memory_view
from tests.support.make import Event, memory, op, step, trace
from tests.support.results import ranks

KIB = 1024


def rank(number: int, peaks: Mapping[int, int]) -> Trace:
    """A rank whose steps allocate so much, and release it within the step."""
    events: list[Event] = []
    for place, (name, size) in enumerate(peaks.items()):
        at = 100.0 * place
        facts = {"Addr": 64 * (place + 1), "Total Reserved": 8 * KIB}
        events += [
            step(name, at, at + 90),
            op("aten::empty", at + 5, at + 50),
            memory(at + 10, size, size + KIB, **facts),
            memory(at + 40, -size, KIB, **facts),
        ]
    return trace(*events, distributedInfo={"rank": number, "world_size": 3})


def ask(*traces: Trace | None, **options: int) -> MemoryRanks:
    return memory_ranks(ranks(*traces, reduce=rank_memory), **options)


TWO = rank(0, {3: 2 * KIB, 4: 4 * KIB}), rank(1, {3: 3 * KIB, 4: KIB})


def test_ranks_have_the_peak_of_their_recording() -> None:
    found = ask(*TWO)
    assert [(row.rank, row.peak_bytes, row.step) for row in found.rows] == [
        (0, 5 * KIB, "ProfilerStep#4"), (1, 4 * KIB, "ProfilerStep#3"),
    ]  # fmt: skip
    assert [row.above_least_bytes for row in found.rows] == [KIB, 0]
    assert [row.peak_reserved_bytes for row in found.rows] == [8 * KIB] * 2
    assert (found.fullest, found.steps) == (0, ("ProfilerStep#3", "ProfilerStep#4"))


def test_of_a_step_all_ranks_have_the_same() -> None:
    found = ask(*TWO, step=3)
    assert [(row.peak_bytes, row.step) for row in found.rows] == [
        (3 * KIB, "ProfilerStep#3"), (4 * KIB, "ProfilerStep#3"),
    ]  # fmt: skip
    assert found.fullest == 1


def test_a_step_that_a_rank_lacks_is_an_error() -> None:
    with pytest.raises(TraceError) as caught:
        ask(*TWO, rank(2, {3: KIB}), step=4)
    assert caught.value.code == "unknown_step"


def test_categories_sum_to_the_peak_and_are_those_of_the_memory_page() -> None:
    row = ask(*TWO).rows[0]
    of_page = {f"{one.category}_bytes": one.at_peak_bytes for one in memory_view(TWO[0]).categories}
    assert of_page
    assert {name: getattr(row, name) for name in of_page} == of_page
    assert sum(of_page.values()) == row.peak_bytes


def test_a_rank_without_memory_or_trace_says_why() -> None:
    plain = trace(op("aten::mm", 0, 5), distributedInfo={"rank": 1, "world_size": 3})
    found = ask(TWO[0], plain, None)
    assert [row.problem and row.problem.code for row in found.rows] == [
        None, "no_memory", "truncated",
    ]  # fmt: skip
    assert [row.peak_bytes for row in found.rows][1:] == [None, None]
    assert ask(plain).fullest is None


def test_no_step_is_left_out() -> None:
    many = rank(0, {n: (2 if n == 600 else 1) * KIB for n in range(1, 601)})
    found = ask(many)
    assert (found.rows[0].step, len(found.steps)) == ("ProfilerStep#600", 600)
    assert ask(many, step=600).rows[0].peak_bytes == 3 * KIB


def without_totals(number: int) -> Trace:
    event = memory(10, KIB, 0, Addr=64)
    del event["args"]["Total Allocated"]
    return trace(step(3, 0, 90), event, distributedInfo={"rank": number, "world_size": 3})


def test_a_rank_without_totals_is_skipped_and_named() -> None:
    found = ask(*TWO, without_totals(2), step=3)
    assert [row.peak_bytes for row in found.rows] == [3 * KIB, 4 * KIB, None]
    assert found.rows[2].problem is not None
    assert found.rows[2].problem.code == "no_memory"
    assert found.without_totals == (2,)
    assert ask(*TWO, without_totals(2)).steps == ("ProfilerStep#3", "ProfilerStep#4")


def test_a_peak_before_the_first_step_is_in_none_of_them() -> None:
    """The first step begins with as many bytes, but the peak was before it."""
    early = trace(
        memory(-9, KIB, KIB, Addr=64),
        step(1, 0, 90),
        memory(50, -KIB, 0, Addr=64),
        distributedInfo={"rank": 0, "world_size": 3},
    )
    found = ask(early).rows[0]
    assert (found.peak_at_ns, found.peak_bytes, found.step) == (-9_000, KIB, None)
    assert ask(early, step=1).rows[0].peak_bytes == KIB
