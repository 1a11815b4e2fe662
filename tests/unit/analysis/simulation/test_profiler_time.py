"""The profiler's own time goes with its events: a step of two parts, one of them dense (in µs)."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.simulation import profiler_time
from tb_privateuse1.trace.intervals import lanes
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.whatif import WhatIf, whatif
from tests.support.make import op, step, trace
from tests.support.results import result

PAIRS, QUIET_US = 100, 1000
"""Nested operators in the dense part, and the length of the part with one."""


def two_parts() -> Trace:
    """Return steps of nested operators, 0.2 µs from event to event, then one of 1000 µs."""
    events = []
    for number in range(3):
        begin = 2000 * number
        end = begin + 2 * PAIRS
        events += [
            step(number, begin, begin + 1500),
            op("aten::dense", begin + 10, end + 10),
            *(op("aten::outer", at + 0.2, at + 0.8) for at in range(begin + 10, end + 10, 2)),
            *(op("aten::inner", at + 0.4, at + 0.6) for at in range(begin + 10, end + 10, 2)),
            op("aten::quiet", end + 20, end + 20 + QUIET_US),
        ]
    return trace(*events)


def gain(changes: str) -> WhatIf:
    """Return the answer to changes of that program."""
    found = result(whatif, two_parts(), changes=changes, ranking=False)
    assert isinstance(found, WhatIf)
    return found


def test_a_part_without_events_keeps_its_time() -> None:
    """Nearly all of the profiler's time is elsewhere: a long operator gains its own length."""
    assert gain("aten::quiet=0").gain_ns == pytest.approx(QUIET_US * 1000, rel=0.01)


def test_a_dense_part_takes_its_profiler_along() -> None:
    """An event costs 0.2 µs: four of them in each 2 µs."""
    found = gain("aten::dense=0")
    assert found.gain_ns == pytest.approx(2 * PAIRS * 1000 * (1 - 4 * 0.2 / 2), rel=0.05)
    assert found.gain_high_ns is not None
    assert found.gain_high_ns >= 2 * PAIRS * 1000


def test_changes_of_different_times_add() -> None:
    """The gain of two parts that do not overlap is that of one and that of the other."""
    dense, quiet, both = (
        gain(text).gain_ns
        for text in ("aten::dense=0.5", "aten::quiet=0.5", "aten::dense=0.5\naten::quiet=0.5")
    )
    assert dense is not None
    assert quiet is not None
    assert both == pytest.approx(dense + quiet, abs=2)


def test_an_event_at_an_instant_counts_half() -> None:
    """A range's own start and end lie half inside of it."""
    events = profiler_time.find_events(trace(op("aten::mm", 0, 10), op("aten::add", 2, 4)))
    (axis,) = lanes((events.thread, events.at_ns))
    until = events.count_until(axis)
    start, end = (until(axis.place(events.thread[:1], np.array([at * 1000]))) for at in (0, 10))
    assert (end - start).tolist() == [3]


def test_the_profiler_stays_where_nothing_of_it_goes() -> None:
    """It takes 5 ns for each of 10 events of 100 ns; 40 ns without an event go."""
    was, now = (np.array([100]), np.array([10.0])), (np.array([60]), np.array([10.0]))
    assert profiler_time.left_ns(was, now, 5).tolist() == [48]
    assert profiler_time.left_ns(was, (np.array([60]), np.array([4.0])), 5).tolist() == [20]
