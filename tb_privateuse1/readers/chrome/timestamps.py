"""Convert the times of decoded events to nanoseconds, exactly, and mark events without one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from msgspec import Struct

from tb_privateuse1.readers.chrome import numbers
from tb_privateuse1.readers.chrome.event_schema import LOOSE, Event
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.trace.table import I64, Bools

_ZERO = Decimal(0)
_FRACTION = re.compile(rb'"ts"\s*:\s*-?\d+(?:\.\d*[1-9]|[^\s,}]*[eE])')


class Inexact(Exception):
    """A float64 does not hold the fraction of a time to the nanosecond."""


class Times(Struct, frozen=True):
    """Start and end of events, a mask of the valid ones, and a tally of problems."""

    start_ns: I64
    end_ns: I64
    valid: Bools
    problems: Tally


def event_times(events: Sequence[Event], is_range: Bools, text: bytes) -> Times:
    """Return the times of events, decoded from ``text``; instants end where they start.

    Raises Inexact if the events have to be decoded as ``LOOSE``.
    """
    problems = Tally()
    if events and isinstance(events[0], LOOSE):
        present = np.array([event.ts is not None for event in events], np.bool_)
        start, possible = numbers.exact_nanoseconds([event.ts or _ZERO for event in events])
        duration, finite = numbers.exact_nanoseconds([event.dur or _ZERO for event in events])
    else:
        us = np.fromiter([event.ts for event in events], np.float64, len(events))
        length = np.fromiter([event.dur for event in events], np.float64, len(events))
        far, long = np.abs(us), np.abs(length)
        possible, finite, present = far < numbers.LIMIT_US, long < numbers.LIMIT_US, ~np.isnan(us)
        if not possible.all() or not finite.all():
            us, length = np.where(possible, us, 0), np.where(finite, length, 0)
        if (far >= numbers.EXACT_US).any() and _FRACTION.search(text):
            raise Inexact
        if (long >= numbers.EXACT_US).any():
            raise Inexact
        start, duration = numbers.nanoseconds(us), numbers.nanoseconds(length)
    if not is_range.all():
        duration, finite = np.where(is_range, duration, 0), finite | ~is_range
    if (duration < 0).any():
        problems.add("negative_durations", int((duration < 0).sum()))
        duration = np.maximum(duration, 0)
    valid = present & possible & finite
    if not valid.all():
        problems.add("events_without_time", int((~present).sum()))
        if len(impossible := np.flatnonzero(present & ~valid)):
            first = events[impossible[0]]
            problems.add("impossible_times", len(impossible), f"ts {first.ts}, dur {first.dur}")
    return Times(start, start + duration, valid, problems)
