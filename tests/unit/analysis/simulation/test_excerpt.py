"""An excerpt of a few steps: its rows and links are those of the whole trace."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.simulation import excerpt
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace.model import Trace
from tests.support import valid_trace
from tests.support.program import Program

STEPS = 20


@pytest.fixture(scope="module")
def trace() -> Trace:
    run = Program()
    for _ in range(STEPS):
        with run.step(), run.around("aten::linear"):
            run.op("aten::mm", 10, kernel=50)
            run.op("aten::add", 10, kernel=5)
    return run.trace()


def test_a_short_trace_is_its_own(trace: Trace) -> None:
    """A short trace is its own excerpt."""
    part = excerpt.cut_excerpt(trace, np.arange(STEPS), 10_000)
    assert part is not None
    assert part.trace is trace
    assert len(part.steps) == STEPS
    assert len(part.kernels) == len(trace.kernels)


def test_the_middle_of_a_long_one(trace: Trace) -> None:
    """A long trace gives its middle steps."""
    part = excerpt.cut_excerpt(trace, np.arange(STEPS), 60)
    assert part is not None
    assert 1 <= len(part.steps) < STEPS
    names = [part.trace.text(part.trace.steps.name[row]) for row in part.steps]
    first = (STEPS - len(names)) // 2
    assert names == [trace.text(trace.steps.name[first + i]) for i in range(len(names))]
    size = sum(len(t) for t in (part.trace.ops, part.trace.launches, part.trace.kernels))
    assert size <= 2 * 60


def test_the_step_before_leads_in(trace: Trace) -> None:
    """The first replayed step gains what the host gains once: it does not count."""
    part = excerpt.cut_excerpt(trace, np.arange(STEPS), 60)
    assert part is not None
    assert part.steps.min() == 1
    assert part.chosen.min() > 1
    assert len(part.trace.steps) == len(part.steps) + 1


def test_the_first_recorded_step_has_none_before(trace: Trace) -> None:
    part = excerpt.cut_excerpt(trace, np.arange(1), 60)
    assert part is not None
    assert part.steps.tolist() == [0]


def test_links_lead_to_the_same_rows(trace: Trace) -> None:
    """Links refer to the same rows as in the whole trace."""
    part = excerpt.cut_excerpt(trace, np.arange(STEPS), 60)
    assert part is not None
    few, ops, launches = part.trace, part.ops, part.launches
    assert np.array_equal(few.ops.start_ns, trace.ops.start_ns[ops])
    assert np.array_equal(few.kernels.end_ns, trace.kernels.end_ns[part.kernels])
    for own, was, rows in (
        (few.ops.parent, trace.ops.parent[ops], ops),
        (few.launches.op, trace.launches.op[launches], ops),
        (few.kernels.op, trace.kernels.op[part.kernels], ops),
        (few.kernels.launch, trace.kernels.launch[part.kernels], launches),
    ):
        there = own >= 0
        assert there.any()
        assert np.array_equal(rows[own[there]], was[there])
        assert not np.isin(was[~there], rows).any()


def test_collectives_of_its_own() -> None:
    """Only its own collectives remain."""
    run = Program()
    for _ in range(STEPS):
        with run.step():
            run.op("c10d::allreduce_", 10, kernel=50, device="ncclDevKernel_AllReduce")
    whole = run.trace()
    assert len(whole.collectives) == STEPS
    part = excerpt.cut_excerpt(whole, np.arange(STEPS), 25)
    assert part is not None
    calls = part.trace.collectives
    assert 0 < len(calls) < STEPS
    kernels = part.trace.kernels
    assert kernels.communication[calls.kernel].all()
    assert len(np.unique(calls.kernel)) == len(calls)


def test_a_step_that_is_too_long_alone(trace: Trace) -> None:
    """A single step that is too long gives None."""
    assert excerpt.cut_excerpt(trace, np.arange(STEPS), 5) is None
    assert excerpt.cut_excerpt(trace, np.empty(0, np.int64), 60) is None


def test_every_reference_is_one_of_its_own_rows() -> None:
    """Calls in annotations and frames, and memory: no reference leads out of the excerpt."""
    run = Program()
    for _ in range(STEPS):
        with run.step(), run.frame("train.py(1): step"), run.range("forward"):
            run.launch("gemm", 50)
            run.op("aten::mm", 10, kernel=50)
    whole = run.trace()
    assert (whole.launches.around >= 0).all()
    assert (whole.launches.frame >= 0).all()
    part = excerpt.cut_excerpt(whole, np.arange(STEPS), 40)
    assert part is not None
    valid_trace.check(part.trace)
    thread_roles(part.trace)
    own, was = part.trace.launches.around, whole.launches.around[part.launches]
    assert np.array_equal(part.ops[own], was)
