"""All ranks of a run: means, collectives, culprits, and what is missing."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from benchmarks.blame_gaps import recorded
from benchmarks.blame_jobs import simulate
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.memory_budget import MemoryBudget
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.views import distributed as distributed_view
from tb_privateuse1.views.distributed import Distributed, distributed
from tb_privateuse1.views.encoding import PAGE_BYTES, encode_columns
from tb_privateuse1.views.overview import overview
from tb_privateuse1.views.reduced_traces import Rank, Ranks
from tests.support.make import Event, annotation, kernel, launch, op, step, trace
from tests.support.results import ranks
from tests.support.uncertain import pair
from tests.unit.analysis.ranks.test_culprits import NOISE
from tests.unit.analysis.recording.test_window import START_UP, drained

SIZE = 4_000_000
ARGUMENTS = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": SIZE // 4,
             "Out msg nelems": SIZE // 4, "Group size": 2, "Process Group Name": "0",
             "Process Group Description": "dp"}  # fmt: skip


def rank(
    number: int, works: float, waits: float, steps: int = 2, world: int = 2, backend: str = "nccl"
) -> Trace:
    """Steps of 1 ms: a kernel of ``works`` us, then a collective that ends at 500 us, twice."""
    events: list[Event] = []
    for i in range(steps):
        at, n = 1000.0 * i, 10 * i
        events += [step(i, at, at + 1000), op("aten::mm", at, at + 20), launch(at + 1, at + 2, n)]
        events.append(kernel("gemm", at + 10, at + 10 + works, n))
        for k, end in ((1, 400), (2, 500)):
            took = waits if k == 1 else 50
            events += [
                op("record_param_comms", at + 20 * k, at + 20 * k + 9),
                launch(at + 20 * k + 1, at + 20 * k + 2, n + k),
                kernel("nccl", at + end - took, at + end, n + k, stream=9, **ARGUMENTS),
            ]
    told = {"backend": backend, "rank": number, "world_size": world}
    return trace(*events, distributedInfo=told)


def slow_and_fast(**more: int) -> Distributed:
    """Rank 1 computes 200 us longer, so that rank 0 waits for it in one of two collectives."""
    return distributed(ranks(rank(0, 100, 260), rank(1, 300, 60)), **more)


def test_each_rank_has_its_means_per_step() -> None:
    fast, slow = slow_and_fast().rows
    assert (fast.rank, fast.steps, fast.step_ns, fast.timeline) == (0, 2, 1_000_000, "measured")
    assert (fast.computation_ns, slow.computation_ns) == (100_000, 300_000)
    assert (fast.communication_ns, slow.communication_ns) == (310_000, 110_000)
    assert (fast.overlap_ns, fast.exposed_ns, fast.copy_ns) == (0, 310_000, 0)
    assert fast.idle_ns == 1_000_000 - 410_000
    assert (fast.transferring_ns, fast.synchronizing_ns) == (110_000, 200_000)
    assert (slow.transferring_ns, slow.synchronizing_ns) == (110_000, 0)
    assert not fast.on_host


def test_the_parts_of_each_step_sum_to_it() -> None:
    result = slow_and_fast()
    assert [(s.rank, s.step) for s in result.steps] == [
        (0, "ProfilerStep#0"), (0, "ProfilerStep#1"), (1, "ProfilerStep#0"), (1, "ProfilerStep#1"),
    ]  # fmt: skip
    for s in result.steps:
        parts = (s.computation_ns, s.exposed_ns, s.copy_ns, s.idle_ns)
        assert sum(part or 0 for part in parts) == s.duration_ns
        assert s.communication_ns == (s.overlap_ns or 0) + (s.exposed_ns or 0)


def test_of_one_step() -> None:
    result = slow_and_fast(step=1)
    assert {s.step for s in result.steps} == {"ProfilerStep#1"}
    assert sum(c.calls for c in result.collectives) == 4
    assert [r.steps for r in result.rows] == [1, 1]
    with pytest.raises(TraceError, match="No rank has a step 9"):
        slow_and_fast(step=9)


def test_means_are_of_the_steady_steps_and_their_time() -> None:
    """A step with start-up counts in no mean, nor does a drain of earlier work in a step's time."""
    for made in (START_UP, drained()):
        steady, whole = (distributed(ranks(made), window=name) for name in ("steady", "all"))
        for answer, window in ((steady, "steady"), (whole, "all")):
            (row,) = answer.rows
            assert row.step_ns == overview(made, window=window).average_step_ns
            parts = (row.computation_ns, row.exposed_ns, row.copy_ns, row.idle_ns)
            assert sum(part or 0 for part in parts) == row.step_ns
        assert (steady.rows[0].step_ns or 0) < (whole.rows[0].step_ns or 0)


def test_collectives_and_their_bandwidth() -> None:
    (row,) = slow_and_fast().collectives
    assert (row.kind, row.group, row.purpose, row.group_size) == ("all_reduce", "0", "dp", 2)
    assert (row.bytes, row.calls, row.ranks, row.matched) == (SIZE, 8, 2, 8)
    assert row.total_ns == 2 * (260 + 50 + 60 + 50) * 1000
    assert row.mean_ns == 105_000
    assert (row.transfer_ns, row.synchronizing_ns) == (55_000, 50_000)
    assert row.algorithm_bytes_per_s == pytest.approx(SIZE / 55e-6)
    assert (row.longest_rank, row.longest_ns) == (0, 260_000)
    assert row.bus_bytes_per_s == pytest.approx(SIZE / 55e-6)  # 2 (n - 1) / n is 1 for two ranks


def test_of_too_many_kinds_of_calls_those_with_the_most_time() -> None:
    def of(took: float) -> Trace:
        calls = [e for k in range(4) for e in talk(k, took + k, 1000 * (k + 1))]
        return trace(step(0, 0, 2000), *calls)

    both = ranks(of(20), of(30))
    result = distributed(both, limit=2)
    assert result.collectives_total == 4
    assert [c.bytes for c in result.collectives] == [16_000, 12_000]
    assert [c.bytes for c in distributed(both).collectives] == [16_000, 12_000, 8_000, 4_000]
    assert distributed(both).collectives[0].total_ns == 56_000


def test_a_slow_rank_is_named_with_its_cause() -> None:
    both = ranks(rank(0, 100, 260, steps=4), rank(1, 300, 60, steps=4))
    (found,) = distributed(both).culprits
    assert (found.kind, found.ranks, found.victims) == ("rank", (1,), (0,))
    assert (found.steps, found.of_steps) == (4, 4)
    assert found.cost_ns == found.excess_ns == found.cause_ns == 200_000
    assert (found.cause, found.kernel, found.kernel_ns) == ("computation", "gemm", 200_000)
    assert distributed(both).rows[1].last == 4
    assert distributed(both, step=2).culprits == (found,), "of all steps"


def test_who_is_last_by_turns_is_no_culprit() -> None:
    a = trace(step(0, 0, 2000), *(e for k in range(4) for e in talk(k, 20 if k % 2 else 90)))
    b = trace(step(0, 0, 2000), *(e for k in range(4) for e in talk(k, 90 if k % 2 else 20)))
    result = distributed(ranks(a, b))
    assert [r.last for r in result.rows] == [2, 2]
    assert result.culprits == ()


def talk(k: int, took: float, elements: int = SIZE // 4) -> list[Event]:
    at = 100.0 * k
    told = ARGUMENTS | {"In msg nelems": elements, "Out msg nelems": elements}
    return [
        op("record_param_comms", at, at + 5), launch(at + 1, at + 2, k + 1),
        kernel("nccl", at + 10, at + 10 + took, k + 1, stream=9, **told),
    ]  # fmt: skip


def test_a_rank_that_cannot_be_read_is_named_and_the_others_are_shown() -> None:
    result = distributed(ranks(rank(0, 100, 260, world=4), None, rank(2, 300, 60, world=4)))
    assert [(r.rank, r.problem) for r in result.rows] == [
        (0, None), (1, "Rank 1 is cut off."), (2, None),
    ]  # fmt: skip
    assert result.rows[1].step_ns is None
    told = {n.code: n.message for n in result.notes}
    assert told["ranks_missing"] == "Rank 3 of 4 has no trace here."
    assert told["ranks_unread"] == "Rank 1 cannot be shown."
    assert result.world_size == 4
    assert result.collectives[0].matched == 8


def test_different_numbers_of_steps_are_told() -> None:
    result = distributed(ranks(rank(0, 10, 60), rank(1, 10, 60), rank(2, 10, 60, steps=1)))
    told = {n.code: n.message for n in result.notes}
    assert told["steps_differ"] == "Rank 2 has not 2 steps as the others do."
    assert [r.steps for r in result.rows] == [2, 2, 1]


def test_many_missing_ranks_are_listed_in_short() -> None:
    result = distributed(ranks(rank(0, 10, 60, world=128), rank(5, 10, 60, world=128)))
    told = {n.code: n.message for n in result.notes}
    assert told["ranks_missing"] == "Ranks 1 to 4, 6 to 127 of 128 have no trace here."


def test_a_rank_alone_says_nothing_about_waiting() -> None:
    result = distributed(ranks(rank(0, 100, 260)))
    (row,) = result.rows
    assert (row.transferring_ns, row.synchronizing_ns) == (None, None)
    (collective,) = result.collectives
    assert (collective.transfer_ns, collective.matched) == (None, 0)
    assert collective.algorithm_bytes_per_s == pytest.approx(SIZE / 155e-6)
    assert {"one_rank", "ranks_missing"} == {n.code for n in result.notes}


def test_clocks_and_what_is_not_the_same_collective() -> None:
    """Rank 1's trace began 70 us earlier; its third call is another one."""

    def of(number: int, shift: float, third: float) -> Trace:
        ends = [100.0, 300.0, third, 700.0, 900.0, 1100.0]
        calls: list[Event] = []
        for k, end in enumerate(ends):
            at = end + shift
            calls += [
                op("record_param_comms", at - 60, at - 55), launch(at - 58, at - 57, k + 1),
                kernel("nccl", at - 20 - 5 * number, at, k + 1, stream=9, **ARGUMENTS),
            ]  # fmt: skip
        told = {"backend": "nccl", "rank": number, "world_size": 2}
        return trace(step(0, 0, 2000), *calls, distributedInfo=told)

    result = distributed(ranks(of(0, 0, 500), of(1, 70, 590)))
    assert [r.clock_offset_ns for r in result.rows] == [0, 70_000]
    assert [r.clock_residual_ns for r in result.rows] == [0, 0]
    assert {n.code: n.count for n in result.notes} == {"collectives_apart": 1}
    (row,) = result.collectives
    assert (row.calls, row.matched) == (12, 10)
    alone = distributed(ranks(of(0, 0, 500))).rows[0]
    assert (alone.clock_offset_ns, alone.clock_residual_ns) == (None, None)


def test_gloo_on_the_host_counts() -> None:
    def of(number: int, took: float) -> Trace:
        shapes = {"Input Dims": [[1000]], "Input type": ["float"]}
        told = {"backend": "gloo", "rank": number, "world_size": 2}
        return trace(
            step(0, 0, 100), op("aten::mm", 0, 30),
            annotation("gloo:all_reduce", 40, 40 + took, thread=2, **shapes), distributedInfo=told,
        )  # fmt: skip

    result = distributed(ranks(of(0, 20), of(1, 50)))
    (row,) = result.collectives
    assert (row.on_host, row.bytes, row.transfer_ns) == (True, 4000, 20_000)
    assert result.provenance.timeline == "none"
    assert [(r.on_host, r.communication_ns) for r in result.rows] == [
        (True, 20_000),
        (True, 50_000),
    ]


def test_without_communication() -> None:
    result = distributed(ranks(trace(op("a", 0, 5)), Trace()))
    assert "no_communication" in {n.code for n in result.notes}
    assert result.collectives == ()
    assert distributed(()).rows == ()


def test_of_too_many_steps_those_that_took_longest() -> None:
    def of(number: int, *lasts: float) -> Trace:
        told = {"backend": "nccl", "rank": number, "world_size": 3}
        steps = [step(i, 1000.0 * i, 1000.0 * i + last) for i, last in enumerate(lasts)]
        return trace(*steps, distributedInfo=told)

    parts = ranks(of(0, 100, 900, 100), of(1, 100, 950, 100), of(2, 100, 900, 300))
    result = distributed(parts, limit=2)
    assert result.steps_total == 9
    assert [(s.rank, s.step) for s in result.steps] == [
        (1, "ProfilerStep#1"), (2, "ProfilerStep#2"),
    ]  # fmt: skip
    assert distributed(parts, limit=0).steps == ()
    assert len(distributed(parts).steps) == 9
    assert result.rows == distributed(parts).rows
    with pytest.raises(TraceError, match="limit must not be negative"):
        distributed(parts, limit=-1)


def test_a_grid_of_ranks_by_steps() -> None:
    parts = ranks(rank(0, 100, 260), rank(1, 300, 60, steps=3))
    grid = distributed(parts).grid
    assert (grid.measure, grid.ranks, grid.steps_each) == ("step", (0, 1), 1)
    assert grid.steps == ("ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2")
    assert grid.values == (1_000_000, 1_000_000, None, 1_000_000, 1_000_000, 1_000_000)
    assert grid.median_ns == 1_000_000
    waiting = distributed(parts, measure="waiting").grid
    assert waiting.values == (200_000, 200_000, None, 0, 0, None)
    assert distributed(parts, measure="computation", step=2).grid.values == (None, 300_000)


def test_steps_of_one_name_are_steps_of_their_own() -> None:
    """A profiler that is started anew counts its steps from 0 again."""
    twice = trace(
        step(1, 0, 500), *talk(0, 20), step(1, 1000, 1500), *talk(10, 90), distributedInfo=FIRST
    )
    other = trace(step(1, 0, 500), *talk(0, 50), step(1, 1000, 1500), *talk(10, 10))
    result = distributed(ranks(twice, other))
    assert [s.transferring_ns for s in result.steps] == [20_000, 10_000] * 2
    assert [s.synchronizing_ns for s in result.steps] == [0, 80_000, 30_000, 0]


FIRST = {"backend": "nccl", "rank": 0, "world_size": 2}


def test_inferred_figures_have_their_bounds() -> None:
    shown, true = pair(5)
    mine, theirs = (distributed(ranks(one)) for one in (shown, true))
    for figures, truth in ((mine.rows, theirs.rows), (mine.steps, theirs.steps)):
        for one, other in zip(figures, truth, strict=True):
            for name in ("computation", "communication", "overlap", "exposed", "copy", "idle"):
                bound = getattr(one, f"{name}_bound_ns")
                assert abs(getattr(one, f"{name}_ns") - getattr(other, f"{name}_ns")) <= bound
    (row,) = mine.rows
    assert row.computation_bound_ns is not None
    assert row.computation_bound_ns > 0
    assert row.communication_bound_ns == 0
    lost = replace(shown.kernels, duration_bound_ns=np.full(len(shown.kernels), MISSING, np.int64))
    (row,) = distributed(ranks(replace(shown, kernels=lost))).rows
    assert row.computation_bound_ns is row.idle_bound_ns is row.step_bound_ns is None
    assert all(r.idle_bound_ns == 0 for r in slow_and_fast().rows)


def test_idle_time_of_a_rank_by_class() -> None:
    """The idle classes of a rank sum to its idle time, the longest first."""
    for row in slow_and_fast().rows:
        times = [one.ns for one in row.idle_classes]
        assert times == sorted(times, reverse=True)
        assert sum(times) == row.idle_ns
        assert all(one.label for one in row.idle_classes)


def test_of_too_many_ranks_those_that_others_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rest of the figures is of all ranks, and an unread one comes last."""
    job = simulate(3, NOISE, "device")
    unread = Rank(job.world, "unread", None, Finding("unreadable", "It is gone."))
    many = (*recorded(job, "none"), unread)
    whole = distributed(many)
    monkeypatch.setattr(distributed_view, "MOST_RANKS", 3)
    few = distributed(many)
    numbers = [row.rank for row in few.rows]
    assert (len(numbers), few.rows_total, whole.rows_total) == (3, job.world + 1, job.world + 1)
    worst = sorted(whole.rows, key=lambda row: -row.caused_ns)[:3]
    assert worst[0].caused_ns > 0
    assert {row.rank for row in worst} == set(numbers)
    assert job.plants[0].ranks[0] in numbers
    assert few.rows == tuple(row for row in whole.rows if row.rank in numbers)
    columns = len(whole.grid.steps)
    at = [whole.grid.ranks.index(number) for number in numbers]
    values = [whole.grid.values[i * columns : (i + 1) * columns] for i in at]
    assert few.grid.ranks == tuple(numbers)
    assert few.grid.values == tuple(value for row in values for value in row)
    assert few.grid.median_ns == whole.grid.median_ns
    assert (few.steps, few.culprits, few.nodes) == (whole.steps, whole.culprits, whole.nodes)


def test_a_thousand_ranks_are_a_page_below_the_limit() -> None:
    """Each with steps and several classes of idle time; the tables of ranks are packed."""
    made = ranks(rank(0, 100, 260, steps=4, world=1000), rank(1, 300, 60, steps=4, world=1000))
    many = tuple(replace(made[n % 2], rank=n, worker=f"node{n // 8:03}_{n}") for n in range(1000))
    found = distributed(many)
    body = encode_columns(found)
    assert (len(found.rows), found.world_size) == (1000, 1000)
    assert all(row.idle_classes for row in found.rows)
    assert body is not None
    assert len(body) <= PAGE_BYTES


def test_what_is_kept_gives_the_same_page() -> None:
    plain = ranks(rank(0, 100, 260), rank(1, 300, 60), None)
    memory = MemoryBudget()
    kept = Ranks.kept_in(memory, plain)
    asked: list[dict[str, Any]] = [
        {"measure": "step"}, {"measure": "waiting"}, {"measure": "step", "step": 1},
        {"measure": "idle", "window": "all"}, {"measure": "idle", "limit": 1}, {"measure": "step"},
    ]  # fmt: skip
    for options in asked:
        assert distributed(kept, **options) == distributed(plain, **options)
    with pytest.raises(TraceError, match="No rank has a step 77"):
        distributed(kept, step=77)
    assert memory.bytes > 0
    del kept
    gc.collect()
    assert memory.bytes == 0


def test_another_measure_joins_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[object] = []
    match = distributed_view.match_calls
    monkeypatch.setattr(
        distributed_view, "match_calls", lambda parts: joined.append(1) or match(parts)
    )
    kept = Ranks.kept_in(MemoryBudget(), ranks(rank(0, 100, 260), rank(1, 300, 60)))
    grids = [distributed(kept, measure=one).grid for one in ("step", "idle", "waiting")]
    assert len({grid.values for grid in grids}) == 3
    distributed(kept, step=1)
    assert len(joined) == 1
