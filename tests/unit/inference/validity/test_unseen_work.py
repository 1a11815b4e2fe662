"""Work that nobody is known to have launched makes sums of device times lower limits."""

from __future__ import annotations

from tb_privateuse1.inference.validity import unseen_work
from tb_privateuse1.trace import device_times, uncertainty
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.views.overview import overview
from tests.support.simulate import linear, simulate, step

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
