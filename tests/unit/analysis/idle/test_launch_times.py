"""Unrecorded work before the first recorded activity."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.advice.rules.host_bound import RULE as HOST_BOUND
from tb_privateuse1.advice.rules.uneven_steps import RULE as UNEVEN_STEPS
from tb_privateuse1.analysis.account import classification
from tb_privateuse1.analysis.idle import device_bound, launch_times
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tests.support import make
from tests.support.program import Program, found


def queued(delay_us: float, later_us: float = 5) -> Trace:
    """Build four activities; the first starts this long after its launch."""
    first = 1 + delay_us
    events = [make.launch(0, 1, 1), make.kernel("k", first, first + 10, 1)]
    for number in range(2, 5):
        at = first + number * 1000
        events += [make.launch(at, at + 1, number)]
        events += [make.kernel("k", at + 1 + later_us, at + 11 + later_us, number)]
    return make.trace(*events)


def lengths(trace: Trace) -> tuple[int, int]:
    """Return the unrecorded time, and the other idle time."""
    window = intervals.union(np.array([0]), trace.kernels.end_ns[-1:])
    limits = device_bound.find_limits(trace, window)
    unseen = intervals.length(launch_times.unrecorded_start(trace))
    return unseen, intervals.length(limits.all_idle)


def test_a_first_activity_that_was_queued_stood_behind_unseen_work() -> None:
    """A late first activity waited for unrecorded work."""
    trace = queued(delay_us=8000)
    unseen, idle_ns = lengths(trace)
    assert unseen == 8_001_000
    assert idle_ns == (1000 - 4 + 1000 - 10 + 1000 - 10 + 1000) * 1000
    sets = classification.class_sets(trace)
    assert intervals.length(sets["launch_latency"]) == 3 * 5_000
    assert intervals.length(sets["before_recording"]) == unseen


@pytest.mark.parametrize(("delay_us", "expected"), [(499, 0), (501, 502_000)])
def test_half_a_millisecond_is_queued(delay_us: float, expected: int) -> None:
    """A delay of half a millisecond means a queue."""
    assert lengths(queued(delay_us))[0] == expected


@pytest.mark.parametrize(("later_us", "expected"), [(2001, 0), (1990, 8_001_000)])
def test_a_device_that_is_always_late_was_not_busy(later_us: float, expected: int) -> None:
    """A delay that is usual does not mean a queue."""
    assert lengths(queued(8000, later_us))[0] == expected


def test_no_unrecorded_time_without_activities_or_launches() -> None:
    """Without activities or launches there is no unrecorded time."""
    for trace in (Trace(), make.trace(make.op("a", 0, 9), make.kernel("k", 5000, 5010))):
        assert launch_times.unrecorded_start(trace) == intervals.EMPTY


def behind(unseen_us: float) -> Trace:
    """Build steps of 6 ms, device-bound; the device runs earlier work in the first one."""
    run = Program()
    run.device = unseen_us
    for _ in range(4):
        start = run.device
        for _ in range(60):
            run.op("aten::mm", 10, kernel=100)
        run.events.append(make.step(run.steps, 0 if not run.steps else start, run.device))
        run.steps += 1
    return run.trace()


def test_unseen_work_is_neither_a_late_host_nor_an_uneven_step() -> None:
    """Unrecorded work gives no finding."""
    trace = behind(20_000)
    duration = trace.steps.end_ns - trace.steps.start_ns
    assert duration[0] > 4 * duration[1]
    assert found(HOST_BOUND, trace) == []
    assert found(UNEVEN_STEPS, trace) == []
