"""The times of decoded events, exact to the nanosecond, and which events have none."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from tb_privateuse1.read import numbers
from tb_privateuse1.read.events import LOOSE, Event
from tb_privateuse1.read.quality import Tally
from tb_privateuse1.trace import I32, I64, Bools

_TS, _DUR = operator.attrgetter("ts"), operator.attrgetter("dur")
_ZERO = Decimal(0)
_FRACTION = re.compile(rb'"ts"\s*:\s*\d+(?:\.\d*[1-9]|[^\s,}]*[eE])')


class Inexact(Exception):
    """Times with fractions that a float64 does not hold to the nanosecond."""


@dataclass(frozen=True)
class Timed:
    """Events that have a time; ``odd`` counts by finding those that had none, and repairs.

    ``number`` is each event's number in the file.
    """

    events: Sequence[Event]
    number: I32
    start_ns: I64
    end_ns: I64
    odd: Tally

    def __len__(self) -> int:
        return len(self.events)

    def where(self, keep: Sequence[bool] | Bools) -> Timed:
        """Those events for which ``keep`` is true."""
        if all(keep):
            return self
        rows = np.flatnonzero(keep)
        events = [self.events[i] for i in rows.tolist()]
        return Timed(events, self.number[rows], self.start_ns[rows], self.end_ns[rows], self.odd)


def timed(events: Sequence[Event], number: I64, text: bytes, *, ranges: bool) -> Timed:
    """Start and end of the events that have a time; without ``ranges`` they end as they start.

    ``number`` counts the events of the file.

    Raises Inexact if they have to be decoded as ``LOOSE``; ``text`` is what they came from.
    """
    odd = Tally()
    if isinstance(events[0], LOOSE):
        told = np.array([e.ts is not None for e in events], np.bool_)
        start, possible = numbers.exact([e.ts or _ZERO for e in events])
        duration, finite = numbers.exact([e.dur or _ZERO for e in events] if ranges else [])
    else:
        us = np.fromiter(map(_TS, events), np.float64, len(events))
        possible = np.abs(us) < numbers.LIMIT_US
        if not possible.all():
            told = ~np.isnan(us)
            us[~possible] = 0
        else:
            told = possible
        if (us >= numbers.EXACT_US).any() and _FRACTION.search(text):
            raise Inexact
        start = numbers.nanoseconds(us)
        lengths = np.fromiter(map(_DUR, events), np.float64, len(events)) if ranges else us[:0]
        if (lengths >= numbers.EXACT_US).any():
            raise Inexact
        finite = np.abs(lengths) < numbers.LIMIT_US
        duration = numbers.nanoseconds(lengths if finite.all() else np.where(finite, lengths, 0))
    possible = possible & (start >= 0)
    if ranges:
        possible = possible & finite
        if (duration < 0).any():
            odd.add("negative_durations", int((duration < 0).sum()))
            duration = np.maximum(duration, 0)
    end = start + duration if ranges else start
    result = Timed(events, number.astype(np.int32), start, end, odd)
    if possible.all() and told.all():
        return result
    impossible = np.flatnonzero(told & ~possible)
    odd.add("events_without_time", int((~told).sum()))
    if len(impossible):
        first = events[impossible[0]]
        odd.add("impossible_times", len(impossible), f"ts {first.ts}, dur {first.dur}")
    return result.where(told & possible)
