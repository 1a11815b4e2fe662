"""The judged trace: its account of time, as rules ask for it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.analysis.account.classes import IDLE
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tests.support import make
from tests.support.program import Program
from tests.support.simulate import Op, simulate


def test_the_stable_members_exist_and_are_documented() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guide" / "advice.md").read_text()
    listed = re.search(r"<!-- stable members -->(.*?)<!-- end", guide, re.DOTALL)
    assert listed is not None
    stable = (RuleContext.__doc__ or "").partition("Stable")[2]
    names = re.findall(r"``(\w+)``", stable)
    assert sorted(names) == sorted(re.findall(r"`(\w+)`", listed[1]))
    assert [name for name in names if not hasattr(RuleContext(Trace()), name)] == []


def idle_us(trace: Trace) -> float:
    """Return the idle time for which the host is the reason, in µs."""
    return intervals.length(RuleContext(trace).idle) / 1000


def test_the_host_limits_until_its_launch_returns() -> None:
    run = Program()
    for _ in range(50):
        run.op("aten::mm", 100, kernel=20)
    assert idle_us(run.trace()) == pytest.approx(50 * 81, rel=0.03)


def test_a_gap_inside_the_queue_is_not_the_hosts() -> None:
    """Both were handed in before the first was done: the device made the gap itself."""
    case = RuleContext(
        make.trace(
            make.op("aten::mm", 0, 10, id=1), make.launch(1, 2, 1), make.launch(3, 4, 2),
            make.kernel("a", 10, 100, 1), make.kernel("b", 150, 200, 2),
        )
    )  # fmt: skip
    assert intervals.length(case.idle) == 2_000
    assert intervals.length(case.in_classes("launch_latency", "queued_gap")) == 58_000


def test_idle_that_ends_with_a_late_launch_is_the_hosts() -> None:
    trace = make.trace(
        make.op("aten::mm", 0, 140, id=1), make.launch(1, 2, 1), make.launch(130, 131, 2),
        make.kernel("a", 10, 100, 1), make.kernel("b", 150, 200, 2),
    )  # fmt: skip
    assert idle_us(trace) == 2 + 31


def test_idle_time_of_inferred_kernels_is_that_of_their_estimates() -> None:
    """It is off by no more than their bounds."""
    pair = [Op("aten::mm", 10_000, 2_000, kernel=20_000), Op("aten::view", 200_000, 200)]
    result = simulate(pair * 100)
    truth = intervals.union(result.start_ns, result.end_ns)
    case = RuleContext(result.trace)
    assert intervals.length(case.idle) > 0
    kernels = result.trace.kernels
    wrong = intervals.length(intervals.intersect(case.in_classes(*IDLE), truth))
    assert wrong <= int((kernels.start_bound_ns + kernels.duration_bound_ns).sum())


def test_without_device_times_only_a_host_alone_is_judged() -> None:
    assert idle_us(make.trace(make.op("aten::mm", 0, 100))) == 100
    assert idle_us(make.trace(make.op("aten::mm", 0, 100), make.memory(5, 8, 8))) == 0


def test_instants_are_removed_from_a_task_queue_as_well() -> None:
    """The operator's thread hands the launch to another one."""
    launched = make.launch(30, 40, 1)
    launched["tid"] = 2
    case = RuleContext(
        make.trace(
            make.op("aten::mm", 0, 20, id=1),
            launched,
            make.kernel("mm", 41, 60, 1, **{"External id": 1}),
        )
    )
    removed = case.without(instants=intervals.union(np.array([0]), np.array([5_000])))
    threads = {case.trace.ops.thread[0], case.trace.launches.thread[0]}
    assert len(threads) == 2
    assert set(removed.ranges.thread.tolist()) == threads
