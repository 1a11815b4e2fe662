"""What holds of every inferred timeline, whatever was run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.trace.model import ANNOTATION, EVENTS, MISSING, NONE
from tests.support import simulate
from tests.support.repeats import repeats
from tests.support.simulate import LATENCY, MARK, Op, Result, step
from tests.unit.inference.device_timeline.test_timeline import composite, leaf, programs, view

pytestmark = pytest.mark.long

US = 1_000
ROOM_NS = 2 * US
"""The recorded event and the rounding of its elapsed time."""

WAIT = Op("synchronize", 10 * US, 10 * US, category="user_annotation", blocking=True)
steps = st.lists(programs, min_size=1, max_size=3)


def run(program: list[list[Op]], backlog: int) -> Result:
    return simulate.simulate([step(i, *ops) for i, ops in enumerate(program)], backlog=backlog)


@settings(max_examples=repeats(60))
@given(steps, st.integers(0, 2_000 * US))
def test_kernels_start_after_their_operator_launches_and_do_not_overlap(
    program: list[list[Op]], backlog: int
) -> None:
    trace = run(program, backlog).trace
    kernels, ops = trace.kernels, trace.ops
    launched = ops.start_ns[kernels.op] + LATENCY
    assert (kernels.start_ns >= launched - ROOM_NS).all()
    assert (kernels.start_ns[1:] >= kernels.end_ns[:-1]).all()
    assert (kernels.end_ns >= kernels.start_ns).all()
    assert (kernels.duration_bound_ns >= 0).all()


@settings(max_examples=repeats(60))
@given(steps, st.integers(0, 2_000 * US))
def test_what_is_inside_a_range_takes_no_longer_than_it(
    program: list[list[Op]], backlog: int
) -> None:
    """The kernels below an operator or annotation fit its elapsed time, with its resolution."""
    trace = run(program, backlog).trace
    kernels, ops = trace.kernels, trace.ops
    inside = np.zeros(len(ops), np.int64)
    bound = np.zeros(len(ops), np.int64)
    up = kernels.op.astype(np.int64)
    length = kernels.end_ns - kernels.start_ns
    while (up != NONE).any():
        known = up != NONE
        np.add.at(inside, up[known], length[known])
        np.add.at(bound, up[known], kernels.duration_bound_ns[known])
        up = np.where(known, ops.parent[up], NONE)
    timed = ops.elapsed_ns != MISSING
    assert (inside - np.minimum(bound, ROOM_NS * 4) <= ops.elapsed_ns + ROOM_NS)[timed].all()


@settings(max_examples=repeats(60))
@given(st.lists(st.one_of(leaf, composite), min_size=10, max_size=30))
def test_elapsed_times_are_reproduced_under_a_backlog(ops: list[Op]) -> None:
    trace = simulate.simulate([step(0, *ops, WAIT)], backlog=5_000 * US).trace
    kernels = trace.kernels
    seen = kernels.evidence == EVENTS
    own = np.bincount(kernels.op, minlength=len(trace.ops))[kernels.op] == 1
    read = trace.ops.elapsed_ns[kernels.op]
    taken = kernels.end_ns - kernels.start_ns + MARK
    assert seen.any()
    off = np.abs(taken - read)[seen & own]
    assert off.max() <= ROOM_NS, off


@settings(max_examples=repeats(30))
@given(programs, programs)
def test_what_came_before_an_idle_point_changes_nothing(first: list[Op], second: list[Op]) -> None:
    """Where the device was waited for, the rest alone gives the same starts, within the bounds."""
    whole = simulate.simulate([step(0, *first, WAIT), step(1, *second, WAIT)])
    alone = simulate.simulate([step(0, WAIT), step(1, *second, WAIT)])
    ops = whole.trace.ops
    at = _last_step(whole)
    rest = whole.trace.kernels.take(ops.start_ns[whole.trace.kernels.op] > at)
    again = _last_step(alone)
    same = alone.trace.kernels
    assert len(rest) == len(same)
    apart = np.abs((rest.start_ns - at) - (same.start_ns - again))
    both = (rest.start_bound_ns != MISSING) & (same.start_bound_ns != MISSING)
    assert (apart <= rest.start_bound_ns + same.start_bound_ns)[both].all()
    names = [
        trace.text(n) for trace, k in ((whole.trace, rest), (alone.trace, same)) for n in k.name
    ]
    assert names[: len(rest)] == names[len(rest) :]


def _last_step(result: Result) -> int:
    ops = result.trace.ops
    outer = np.flatnonzero((ops.kind == ANNOTATION) & (ops.parent == NONE))
    return int(ops.start_ns[outer[-1]])


def test_the_same_program_gives_the_same_timeline() -> None:
    ops = [Op("aten::add", 10 * US, US, 7 * US), Op("aten::view", US, US)] * 10
    results = [run([ops, ops], 300 * US).trace.kernels for _ in range(2)]
    assert all(
        (a == b).all() for (_, a), (_, b) in zip(*(r.columns() for r in results), strict=True)
    )


@settings(max_examples=repeats(30))
@given(st.lists(view, min_size=1, max_size=20))
def test_what_launches_nothing_has_no_kernels(ops: list[Op]) -> None:
    assert len(run([ops], 0).trace.kernels) == 0
