"""Read the values of counters (phase ``C``), whose arguments have names of their own.

The schema of events knows the profiler's arguments alone, so counters are decoded once more, from
the window's text. Each argument is a series, as the Trace Event Format has it ("Counter Events").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.readers.chrome.decoder import list_of_raw
from tb_privateuse1.readers.chrome.growing_columns import Column
from tb_privateuse1.readers.chrome.interning import Strings
from tb_privateuse1.readers.chrome.json_values import BROKEN
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.chrome.repair import repair_text
from tb_privateuse1.readers.raw import Counters
from tb_privateuse1.trace.recorded_counters import CounterSamples, CounterSeries
from tb_privateuse1.trace.table import I32, I64

Series = tuple[str, str, str]
"""Process, counter and argument."""
_MOST_SERIES = 1000
"""A hostile trace has a counter for each value."""


class _Counter(msgspec.Struct, gc=False):
    name: Any = ""
    pid: Any = None
    id: Any = None
    args: Any = None


# Made at import, as the decoder of events.
_DECODER = msgspec.json.Decoder(_Counter)


class CounterColumns:
    """The counters of a file, window by window."""

    def __init__(self, tally: Tally, strings: Strings) -> None:
        self._tally = tally
        self._strings = strings
        self._series: dict[Series, int] = {}
        self._samples = {
            name: Column(dtype) for name, dtype in CounterSamples.column_types().items()
        }

    def add(self, ts_ns: I64, event: I32, window: bytes, first: int) -> None:
        """Add events by their times and numbers; values that are no finite numbers are left out.

        ``window`` is the text around them, whose first event has the number ``first``.
        """
        texts = list_of_raw(window)
        series: list[int] = []
        values: list[float] = []
        owner: list[int] = []
        invalid = dropped = 0
        for i, at in enumerate((event - first).tolist()):
            one = self._decode(texts[at])
            for key, value in one.args.items() if isinstance(one.args, dict) else ():
                number = _finite(value)
                place = self._place(one, str(key))
                if number is None:
                    invalid += 1
                elif place is None:
                    dropped += 1
                else:
                    series.append(place)
                    values.append(number)
                    owner.append(i)
        self._tally.add("counters_no_number", invalid)
        self._tally.add("counters_dropped", dropped)
        columns: dict[str, Any] = {
            "series": np.array(series, np.int32),
            "ts_ns": ts_ns[owner],
            "value": np.array(values, np.float64),
            "event": event[owner],
        }
        for name, column in columns.items():
            self._samples[name].add(column)

    def _decode(self, text: msgspec.Raw) -> _Counter:
        """Return an event; its texts may be damaged, as events are read without these arguments."""
        try:
            return _DECODER.decode(text)
        except BROKEN as error:
            repaired, tally = repair_text(bytes(text))
            try:
                found = _DECODER.decode(repaired)
            except BROKEN:
                self._tally.add("malformed_events", 1, error)
                return _Counter()
            self._tally.merge(tally)
            return found

    def _place(self, event: _Counter, key: str) -> int | None:
        """Return the number of the series; None if there are too many."""
        name = str(event.name) if event.id is None else f"{event.name} {event.id}"
        own = str(event.pid), name, key
        if own not in self._series:
            if len(self._series) >= _MOST_SERIES:
                return None
            self._series[own] = len(self._series)
        return self._series[own]

    def columns(self) -> tuple[list[Series], dict[str, NDArray[Any]]]:
        """Return the series as the file spells them, and the columns of the samples."""
        return list(self._series), {name: c.values() for name, c in self._samples.items()}

    def fits(self, series: Sequence[Series]) -> bool:
        """Return whether none of these series has to be left out."""
        return len(self._series | dict.fromkeys(series, 0)) < _MOST_SERIES

    def join(self, series: Sequence[Series], samples: dict[str, NDArray[Any]], first: int) -> None:
        """Add the ``columns`` of a later part of the file, whose first event has a number."""
        places = [self._series.setdefault(key, len(self._series)) for key in series]
        moved = {
            "series": np.array(places, np.int32)[samples["series"]],
            "event": samples["event"] + first,
        }
        for name, column in (samples | moved).items():
            self._samples[name].add(column)

    def counters(self) -> Counters:
        """Return all of them; times are on the file's clock, processes are numbers."""
        keys = list(self._series)
        names = [np.array([self._strings[key[i]] for key in keys], np.int32) for i in (1, 2, 0)]
        samples = {name: column.values() for name, column in self._samples.items()}
        return Counters(CounterSeries(*names), CounterSamples(**samples))


def _finite(value: Any) -> float | None:
    """Return a number, or a numeral, as a float; None for others and for what is not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
