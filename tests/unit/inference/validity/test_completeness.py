"""Launches whose activities are missing, and the steps that lack them."""

from __future__ import annotations

from collections.abc import Collection

from tb_privateuse1.advice.engine import built_in_advice
from tb_privateuse1.analysis.recording.summary import summary
from tb_privateuse1.analysis.simulation.verdict import steady_verdict
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.overview import overview
from tests.support.make import Event, kernel, launch, op, step, trace
from tests.support.quality import found, sure

STEPS, LAUNCHES = 4, 5


def program(
    lost: Collection[tuple[int, int]] = (), *, length: int = 15, stray: bool = False
) -> list[Event]:
    """Steps of 100 us, each with launches every 20 us; ``lost`` are (step, launch) without kernel.

    ``stray``: kernels have no correlation.
    """
    events, number = [], 0
    for i in range(STEPS):
        events.append(step(i, 100 * i, 100 * i + 99))
        for k in range(LAUNCHES):
            at, number = 100 * i + 20 * k, number + 1
            events += [op("aten::mm", at, at + 4, id=number), launch(at + 1, at + 2, number)]
            if (i, k) not in lost:
                correlation = 0 if stray else number
                events.append(kernel("gemm", at + 3, at + 3 + length, correlation))
    return events


ALL_OF_1 = {(1, k) for k in range(LAUNCHES)}
ONE_OF_EACH = {(i, 2) for i in range(STEPS)}


def test_a_step_without_its_kernels_is_left_out() -> None:
    t = trace(*program(ALL_OF_1))
    finding = sure(t, "missing_activities")
    assert finding.count == 5
    assert "5 of 20 calls" in finding.message
    assert "1 of 4 steps" in finding.message
    assert t.steps.partial.tolist() == [False, True, False, False]
    assert t.steps.incomplete.tolist() == [False, True, False, False]
    assert "1 step left out: without all of their kernels" in summary(t).sentence
    limit = steady_verdict(t)
    whole = steady_verdict(trace(*program()))
    assert limit is not None
    assert whole is not None
    assert (limit.kind, limit.cause) == (whole.kind, whole.cause)
    shown = overview(t)
    assert shown.steps[1].kernel_ns is None
    assert shown.steps[1].other_bound_ns is None
    assert shown.steps[2].kernel_bound_ns == 0
    assert shown.utilization == shown.utilization_low
    assert shown.totals.busy_bound_ns is None


def test_if_all_steps_lack_kernels_the_verdict_says_what_is_known() -> None:
    t = trace(*program(ONE_OF_EACH, length=10))
    assert t.steps.partial.all()
    assert not t.steps.incomplete.any()
    limit = steady_verdict(t)
    assert limit is not None
    assert limit.kind == "undecided"
    assert limit.bound_ns is None
    assert limit.cause == ""
    assert "busy for at least 40" in limit.sentence
    assert "kernels of 4 of 4 steps are missing" in limit.sentence
    shown = overview(t)
    assert shown.average_step_bound_ns is None
    assert shown.utilization_high is None
    assert shown.account is not None
    assert shown.account.idle_bound_ns is None


def test_what_runs_for_more_than_half_the_time_limits_whatever_is_missing() -> None:
    limit = steady_verdict(trace(*program(ONE_OF_EACH)))
    assert limit is not None
    assert (limit.kind, limit.cause, limit.bound_ns) == ("device", "", None)
    assert "Kernels at least 60" in limit.sentence
    assert "idle for at most" in limit.sentence


def test_advice_on_idle_time_is_silent_where_kernels_are_missing() -> None:
    sure_of = built_in_advice(trace(*program(length=2)))
    silent = built_in_advice(trace(*program(ONE_OF_EACH, length=2)))
    assert all(row.saving_ns is None or row.cause == "recording" for row in silent.rows)
    assert len(silent.rows) <= len(sure_of.rows)


def test_without_steps_the_whole_recording_lacks_them() -> None:
    events = [event for event in program({(2, 1)}) if not event["name"].startswith("Profiler")]
    t = trace(*events)
    assert t.steps.partial.tolist() == [True]
    limit = steady_verdict(t)
    assert limit is not None
    assert "1 launching call left no kernel" in limit.sentence


def test_work_of_the_step_before_may_run_in_a_step() -> None:
    """The device is behind: lost kernels of step 1 would have run in step 2."""
    behind = trace(*program(length=30))
    assert (behind.steps.start_ns > behind.steps.host_start_ns).any()
    t = _late(ALL_OF_1)
    assert t.steps.partial.tolist() == [False, True, True, False]


def _late(lost: Collection[tuple[int, int]]) -> Trace:
    """Steps whose device is 100 us behind."""
    events = []
    for event in program(lost):
        late = event["cat"] == "kernel"
        events.append(event | {"ts": event["ts"] + 100} if late else event)
    return trace(*events)


def test_calls_that_run_nothing_are_not_lost() -> None:
    fill = launch(395, 396, 90) | {"name": "cudaMemsetAsync"}
    begin, captured, end = (
        launch(380 + i, 380.5 + i, 91 + i) | {"name": name}
        for i, name in enumerate(
            ("cudaStreamBeginCapture", "cudaLaunchKernel", "cudaStreamEndCapture")
        )
    )
    t = trace(*program(), fill, begin, captured, end)
    assert found(t, "missing_activities") is None
    assert t.meta.lost_launches == 0


def test_activities_without_an_id_may_be_of_any_launch() -> None:
    t = trace(*program(stray=True))
    assert found(t, "missing_activities") is None
    some = trace(*program(ALL_OF_1, stray=True))
    assert some.meta.lost_launches in (0, 5)


def test_a_step_that_lost_its_launches_too() -> None:
    """Its operators are those of steps with kernels."""
    events = [
        event
        for event in program(ALL_OF_1)
        if not (event["cat"] == "cuda_runtime" and 100 <= event["ts"] < 200)
    ]
    t = trace(*events)
    assert t.steps.partial.tolist() == [False, True, False, False]


def test_activities_without_an_id_may_run_in_a_later_step() -> None:
    """The host is a step ahead of the device."""
    events = [step(i, 100 * i, 100 * i + 100) for i in range(1, 5)]
    for i in range(1, 4):
        events += [op("aten::mm", 100 * i, 100 * i + 50, id=i), launch(100 * i, 100 * i + 5, i)]
        events.append(kernel("gemm", 100 * i + 110, 100 * i + 190))
    t = trace(*events)
    assert found(t, "missing_activities") is None
    lost = trace(*events[:-1])
    assert sure(lost, "missing_activities").count == 1
