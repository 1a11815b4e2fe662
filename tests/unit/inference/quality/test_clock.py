"""Times that cannot be."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace.findings import ALL
from tests.support.make import frame, kernel, launch, op, trace
from tests.support.quality import found, sound, sure


def test_kernels_before_their_launch() -> None:
    early = [
        event
        for i in range(1, 5)
        for event in (
            launch(100 * i, 100 * i + 2, 50 + i),
            kernel("early", 100 * i - 2.5 - i, 100 * i + 5, 50 + i),
        )
    ]
    close = [launch(500, 501, 60), kernel("k", 499.5, 503, 60)]
    finding = sure(trace(op("aten::mm", 50, 450, id=1), *early, *close), "clock_behind")
    assert (finding.count, finding.severity) == (4, "error")
    assert "by up to 6.5 µs" in finding.message
    assert [e.note for e in finding.examples] == [
        f"{n} µs before its call" for n in (6.5, 5.5, 4.5)
    ]


def test_a_clock_that_drifts() -> None:
    pairs = [
        event
        for i in range(40)
        for event in (
            launch(100 * i, 100 * i + 2, 50 + i),
            kernel("k", 100 * i + 10 - i, 100 * i + 60.5, 50 + i),
        )
    ]
    finding = sure(trace(op("aten::mm", 0, 5000, id=1), *pairs), "clock_behind")
    assert (finding.count, finding.severity) == (28, "error")
    assert "It changes by about 30 µs over the recording." in finding.message


def test_a_microsecond_is_within_the_clocks_precision() -> None:
    t = trace(op("aten::mm", 0, 50, id=1), launch(10.001, 12, 1), kernel("k", 9.1, 20, 1))
    assert found(t, "clock_behind") is None


def test_activities_far_from_the_host() -> None:
    late = [launch(50, 51, 9), kernel("late", 3_000_000, 3_000_001, 9)]
    finding = sure(trace(*sound(), *late), "activities_outside")
    assert (finding.count, finding.severity) == (1, "error")
    behind = [launch(50, 51, 9), kernel("late", 900_000, 900_001, 9)]
    assert found(trace(*sound(), *behind), "activities_outside") is None


def test_events_of_another_day() -> None:
    day_us = 86_400 * 10**6
    lost = frame("lost", 3 * day_us, 3 * day_us + 5)
    finding = sure(trace(*sound(), lost), "far_events")
    assert (finding.count, finding.severity, finding.affects) == (1, "error", ALL)
    assert finding.examples[0].name == "lost"
    assert finding.examples[0].note == "259,200 s away"


def test_absurd_times_are_no_error_of_ours() -> None:
    """As far apart as a number can tell: sums over lanes and families must not overflow."""
    far = [op(f"o{i}", i * 9.0e12, i * 9.0e12 + 5, id=i + 1, thread=i) for i in range(40)]
    far += [kernel("k", i * 9.0e12, i * 9.0e12 + 5, stream=i) for i in range(40)]
    with np.errstate(all="raise"):
        t = trace(*far)
    assert any(f.code == "far_events" for f in t.meta.findings)


def test_activities_at_once_on_one_stream() -> None:
    t = trace(*sound(), launch(50, 51, 9), kernel("next", 35, 50, 9))
    finding = sure(t, "overlapping_activities")
    assert (finding.count, finding.severity, finding.examples[0].name) == (1, "info", "next")
    other = trace(*sound(), launch(50, 51, 9), kernel("next", 35, 50, 9, stream=8))
    assert found(other, "overlapping_activities") is None
