"""Work that nobody is known to have launched makes sums of device times lower limits."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.inference.validity import unseen_work
from tb_privateuse1.trace import device_times, uncertainty
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.views.overview import overview
from tests.support.simulate import Op, linear, simulate, step

US = 1_000


def test_waits_beyond_the_error_of_the_busy_time_make_it_a_lower_limit() -> None:
    trace = simulate([step(i, *[linear(6 * US, 40 * US)] * 10) for i in range(3)]).trace
    bound = uncertainty.union_bound(trace.kernels)
    assert bound is not None
    assert unseen_work.mark(trace, bound) is trace
    marked = unseen_work.mark(trace, bound + 5_000 * US)
    assert [f.code for f in marked.meta.findings] == ["work_unseen"]
    assert device_times.may_lack_work(marked)
    assert device_times.known_bound(marked, bound) is None
    assert device_times.lacking_steps(marked).all()
    assert (marked.kernels.start_bound_ns == MISSING).all()
    timed = unseen_work.mark(trace, bound + 5_000 * US, timed=True)
    assert (timed.kernels.start_bound_ns == trace.kernels.start_bound_ns).all()
    assert (marked.kernels.start_ns == trace.kernels.start_ns).all()
    verdict = overview(marked).verdict
    assert verdict is not None
    assert "busy for at least" in verdict.sentence
    assert "work that no recorded operator launched" in verdict.sentence


def test_a_device_that_works_for_recorded_operators_alone_has_no_unseen_work() -> None:
    trace = simulate([step(i, *[linear(6 * US, 40 * US)] * 10) for i in range(3)]).trace
    assert not trace.meta.unseen_work


LAYERS = [linear(20 * US, 12 * US), Op("aten::view", 3 * US, 700), linear(9 * US, 5 * US)] * 6


@pytest.mark.parametrize("unseen", [(120 * US, 15 * US), (240 * US, 15 * US), (160 * US, 40 * US)])
@pytest.mark.parametrize("event_times", [None, (0, 0.0)], ids=["elapsed", "event times"])
def test_short_work_of_an_unseen_thread_makes_a_lower_limit(
    unseen: tuple[int, int], event_times: tuple[int, float] | None
) -> None:
    """What events waited for is a part of it only, so that its sum says nothing of the rest."""
    program = [step(i, *LAYERS) for i in range(12)]
    trace = simulate(program, unseen=unseen, event_times=event_times).trace
    assert trace.meta.unseen_work
    assert not simulate(program, event_times=event_times).trace.meta.unseen_work


def test_a_clock_that_no_idle_device_ties_bounds_no_start() -> None:
    trace = simulate([step(i, *LAYERS) for i in range(3)], event_times=(0, 0.0)).trace
    far = np.full(len(trace.kernels), 400 * US)
    off = replace(trace, kernels=replace(trace.kernels, shift_bound_ns=far))
    marked = unseen_work.mark(off, 0, 3, timed=True)
    assert marked.meta.unseen_work
    assert (marked.kernels.start_bound_ns == MISSING).all()
    assert unseen_work.mark(trace, 0, 0, timed=True) is trace
    assert unseen_work.mark(trace, 0, 1, timed=False) is trace


def test_a_wait_too_short_to_read_is_counted_instead() -> None:
    trace = simulate([step(i, *LAYERS) for i in range(3)], event_times=(0, 0.0)).trace
    (finding,) = unseen_work.mark(trace, 0, 3, timed=True).meta.findings[-1:]
    assert finding.message.startswith("3 times the device was busy with work")
