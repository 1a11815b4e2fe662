"""Device time that a fix saves: awaited by its own launch, between activities, behind the host."""

import numpy as np
import pytest

from tb_privateuse1.advice import device_time
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.trace import intervals
from tests.support import make
from tests.support.program import Program


def context(run: Program) -> RuleContext:
    return RuleContext(run.trace())


def test_a_launch_that_returns_behind_its_kernel_waits_for_it() -> None:
    trace = make.trace(
        make.step(1, 0, 100),
        make.op("aten::mm", 0, 60),
        make.launch(5, 55, 1),
        make.kernel("mm", 10, 50, 1),
        make.op("aten::mm", 60, 80),
        make.launch(65, 70, 2),
        make.kernel("mm", 68, 99, 2),
    )
    assert intervals.length(device_time.awaited(trace)) == 40_000


@pytest.mark.parametrize(("saved_us", "claimed_us"), [(20, 20), (80, 80), (400, 100)])
def test_an_earlier_host_fills_the_idle_time_behind(saved_us: int, claimed_us: int) -> None:
    """The host works 100 us more than the device after each range, and 500 us beside it."""
    run = Program()
    with run.step():
        run.op("aten::mm", 10, kernel=500)
        with run.range("late"):
            run.rest(489)
        run.rest(100)
        run.op("aten::mm", 10, kernel=500)
        run.wait()
    case = context(run)
    begin, end = np.array([11_000]), np.array([500_000])
    found = device_time.idle_after(case, (begin, end), saved_us / 489)
    assert intervals.length(found) == pytest.approx(claimed_us * 1000, abs=12_000)


def test_without_idle_time_there_is_nothing_to_fill() -> None:
    run = Program()
    with run.step():
        run.op("aten::mm", 10, kernel=500)
        run.wait()
    ranges = np.array([100_000]), np.array([200_000])
    assert intervals.length(device_time.idle_after(context(run), ranges, 1.0)) < 12_000
