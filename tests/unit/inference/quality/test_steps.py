"""Steps that overlap, repeat or were cut off."""

from __future__ import annotations

from tests.support.make import kernel, launch, op, step, trace
from tests.support.quality import sure


def test_steps_that_overlap_or_repeat() -> None:
    t = trace(step(1, 0, 100), step(2, 90, 200), step(2, 300, 400), op("a", 0, 400, id=1))
    overlapping, repeated = sure(t, "overlapping_steps"), sure(t, "repeated_steps")
    assert (overlapping.count, repeated.count) == (1, 1)
    assert "by up to 10 µs: ProfilerStep#2" in overlapping.message
    assert "ProfilerStep#2" in repeated.message


def test_a_step_that_was_cut_off() -> None:
    events = []
    for i in range(5):
        at = 10 * i
        events += [op("o", at, at + 5, id=i + 1), launch(at, at + 1, i + 1)]
        events.append(kernel("k", at + 2, at + 4, i + 1))
    finding = sure(trace(step(1, 0, 40), step(2, 40, 50), *events), "incomplete_steps")
    assert (finding.count, finding.severity) == (1, "info")
