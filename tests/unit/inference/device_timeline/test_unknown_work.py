"""Device work of an unknown launcher, as of replayed graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.inference.device_timeline.unknown_work import UNKNOWN_WORK
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import NONE, UNKNOWN, Kernels
from tb_privateuse1.views.kernels import kernels as kernel_table
from tb_privateuse1.views.operators import operators
from tb_privateuse1.views.overview import overview
from tests.support import invariants
from tests.support.repeats import repeats
from tests.support.simulate import Op, Result, linear, simulate, step

LAYERS = [linear(20_000, 15_000)] * 4
READ = Op("aten::_local_scalar_dense", 3_000, 1_000, 1_500, blocking=True)


def replay(kernel: int, host: int = 30_000) -> Op:
    """A graph that the program replays: its launch is in no operator."""
    return Op("replay", host, 1_000, kernel, category="user_annotation")


def unknown(result: Result) -> Kernels:
    kernels = result.trace.kernels
    return kernels.take(kernels.kind == UNKNOWN)


def truth_of(result: Result, name: str) -> intervals.Set:
    """When the work of the ranges of a name truly ran."""
    trace = result.trace
    text = np.array([trace.text(n) for n in trace.ops.name])
    mine = np.isin(result.ids, trace.ops.external_id[text == name])
    return intervals.union(result.start_ns[mine], result.end_ns[mine])


@pytest.mark.parametrize(
    "program",
    [
        [step(i, *LAYERS, replay(2_000_000), *LAYERS, READ) for i in range(6)],
        [step(i, replay(2_000_000), READ) for i in range(12)],
        # The cost of an event is not known here: starts drift by 0.7 us a step.
        [step(i, replay(600_000), *LAYERS) for i in range(30)],
        [x for i in range(12) for x in (step(i, *LAYERS), replay(900_000), *LAYERS)],
    ],
    ids=["amid operators", "nothing else", "a growing backlog", "outside of steps"],
)
def test_replays_of_graphs_are_busy_time_of_an_unknown_launcher(program: Sequence[Op]) -> None:
    result = simulate(program)
    ours, true = unknown(result), truth_of(result, "replay")
    assert len(ours) == len(true[0])
    busy = intervals.union(ours.start_ns, ours.end_ns)
    assert intervals.length(busy) == pytest.approx(intervals.length(true), rel=0.01)
    assert intervals.length(intervals.intersect(busy, true)) >= 0.95 * intervals.length(true)
    error = np.abs(ours.end_ns - ours.start_ns - (true[1] - true[0]))
    assert (error <= ours.duration_bound_ns).all()


def test_it_belongs_to_no_operator_and_looks_like_no_kernel() -> None:
    trace = simulate([step(i, *LAYERS, replay(2_000_000), *LAYERS, READ) for i in range(4)]).trace
    invariants.of_time(trace)
    (row,) = [r for r in kernel_table(trace, group="name").rows if r.name == UNKNOWN_WORK]
    assert (row.kind, row.calls) == ("unknown", 4)
    result = overview(trace)
    totals = result.totals
    assert totals.unknown_activities == 4
    assert totals.unlinked == 4
    assert totals.unknown_ns is not None
    assert 8_000_000 <= totals.unknown_ns <= 8_100_000
    assert totals.compute_ns is not None
    assert totals.compute_ns < 1_000_000
    assert sum(s.unknown_ns or 0 for s in result.steps) == totals.unknown_ns
    (lost,) = [r for r in operators(trace).rows if r.calls == 0]
    assert lost.device_self_ns == row.total_ns
    kernels = trace.kernels
    assert (kernels.op[kernels.kind == UNKNOWN] == NONE).all()


def test_a_thread_that_was_preempted_once_is_no_work() -> None:
    """Between an operator's end and its event: the event is late, and no device was busy."""
    held = Op("aten::view", 3_000, 500, held=2_000_000)
    program = [step(i, *LAYERS, *([held] if i == 3 else []), *LAYERS, READ) for i in range(6)]
    assert not len(unknown(simulate(program)))


@pytest.mark.long
@settings(max_examples=repeats(25), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(2_000, 60_000),
            st.integers(1_000, 400_000),
            st.booleans(),
            st.integers(0, 300_000),
        ),
        min_size=5,
        max_size=40,
    ),
    st.integers(0, 3_000_000),
)
def test_where_operators_launch_everything_nothing_is_unknown(
    ops: list[tuple[int, int, bool, int]], backlog: int
) -> None:
    """Of those that take the host as long as a launch does: 2.5 us."""
    program = [
        Op("aten::mm", host, 1_000, kernel, blocking=wait, held=held if wait else 0)
        for host, kernel, wait, held in ops
    ]
    assert not len(unknown(simulate([step(0, *program)], backlog=backlog)))
