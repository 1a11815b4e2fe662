"""Ranges of steps that cannot be."""

from __future__ import annotations

from tb_privateuse1.analysis.recording.iterations import has_steps
from tb_privateuse1.analysis.recording.summary import summary
from tests.support.make import op, step, trace
from tests.support.quality import found, sure


def names(*events: dict[str, object]) -> list[str]:
    t = trace(*events, *(op("aten::mm", 100 * i + 10, 100 * i + 90, id=i) for i in range(1, 5)))
    return [t.text(name) for name in t.steps.name]


def test_a_step_around_later_ones_is_left_out() -> None:
    steps = [step(i, 100 * i, 100 * i + 95) for i in range(1, 5)]
    steps[1]["dur"] = 5_000_000
    t = trace(*steps)
    finding = sure(t, "impossible_steps")
    assert (finding.count, "ProfilerStep#2" in finding.message) == (1, True)
    assert names(*steps) == ["ProfilerStep#1", "ProfilerStep#3", "ProfilerStep#4"]
    assert t.end_ns < 1_000_000
    outer = step(0, 50, 600)
    steps[1]["dur"] = 95
    assert names(outer, *steps) == [f"ProfilerStep#{i}" for i in range(1, 5)]


def test_steps_without_any_length_are_no_steps() -> None:
    t = trace(*(step(i, 100 * i, 100 * i) for i in range(1, 5)), op("aten::mm", 100, 500, id=1))
    assert sure(t, "impossible_steps").count == 4
    assert not has_steps(t)
    assert summary(t).judged_ns > 0


def test_steps_that_touch_or_repeat_stay() -> None:
    once = [step(i, 100 * i, 100 * i + 100) for i in range(1, 5)]
    assert found(trace(*once), "impossible_steps") is None
    assert found(trace(*once, *once), "impossible_steps") is None
    crossing = trace(step(1, 100, 250), step(2, 200, 300))
    assert found(crossing, "impossible_steps") is None
