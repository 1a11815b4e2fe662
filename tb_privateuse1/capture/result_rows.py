"""Read torch's results row by row into columns: whose they are, and the device's time of each.

The training waits meanwhile, so each column is one pass of C: a row read by Python's own steps
takes three times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import compress, repeat, starmap
from operator import methodcaller
from typing import Any

import torch

from tb_privateuse1.capture.warnings import Notes

Streams = Callable[[], tuple[int, int, int]]
"""The backend's ``elapsed_streams``: device and streams of the last elapsed time's events."""
_OPERATORS = ("cpu_op", "user_annotation")
"""libkineto's names for what torch calls the backend's ``ProfilerStubs`` around."""
_Places = tuple[list[int], list[int], list[int]]


@dataclass
class Rows:
    """Columns of one length."""

    external_id: list[int] = field(default_factory=list)
    elapsed_us: list[int | None] = field(default_factory=list)
    """None: no events were recorded around this row, or their time cannot be read."""
    device: list[int | None] | None = None
    """None if the backend does not tell devices and streams."""
    stream: list[int | None] | None = None
    """Of both events; None where they are on two."""
    results: list[Any] = field(default_factory=list)
    """The rows as torch has them."""

    def host_us(self) -> float:
        """Return the host's time of all rows that have a device time."""
        timed = [row for row, us in zip(self.results, self.elapsed_us) if us is not None]
        # torch 2.4 replaced microseconds by nanoseconds.
        if timed and hasattr(timed[0], "duration_ns"):
            return float(sum(map(methodcaller("duration_ns"), timed))) / 1000
        return float(sum(map(methodcaller("duration_us"), timed)))


def start_ns(row: Any) -> int:
    """Return when a row began, in nanoseconds on the trace's clock; before torch 2.4 a whole us."""
    return int(row.start_ns() if hasattr(row, "start_ns") else row.start_us() * 1000)


def duration_ns(row: Any) -> int:
    """Return how long a row took on the host."""
    return int(row.duration_ns() if hasattr(row, "duration_ns") else row.duration_us() * 1000)


def read_rows(results: list[Any], backend: str, notes: Notes) -> Rows:
    """Return the rows of ``kineto_results.events()`` that are operators or annotations.

    One row that raises (a range across two devices does) must not cost the others: its time is
    None, and noted.
    """
    if not results:
        return Rows()
    ids = list(map(type(results[0]).correlation_id, results))
    has_id = [number > 0 for number in ids]  # memory and markers have none, nor events around them
    rows = list(compress(results, has_id))
    streams = getattr(getattr(torch, backend, None), "elapsed_streams", None)
    elapsed: Sequence[int | None]
    try:
        elapsed, places = _read_all(rows, streams)
    except Exception:
        elapsed, places = _read_each(rows, streams, notes)
    times = [None if us is None or us < 0 else us for us in elapsed]
    found = Rows(list(compress(ids, has_id)), times, results=rows)
    if places is not None:
        devices, first, second = places
        streams_of = [one if one == other else None for one, other in zip(first, second)]
        found.device = [None if us is None else device for us, device in zip(times, devices)]
        found.stream = [None if us is None else stream for us, stream in zip(times, streams_of)]
    return _without_others(found, elapsed)


def _without_others(found: Rows, elapsed: Sequence[int | None]) -> Rows:
    """Return the rows without those that torch records no events around.

    A vendor's profiler adds kernels and runtime calls, libkineto those of other devices. Their
    correlation numbers are their own, and may be those of operators. ``elapsed`` is negative
    without events: few operators have none.
    """
    if min((us for us in elapsed if us is not None), default=0) >= 0:
        return found
    timed = {number for number, us in zip(found.external_id, elapsed) if us is None or us >= 0}
    own = [
        us is None or us >= 0 or (is_operator(row) and number not in timed)
        for us, row, number in zip(elapsed, found.results, found.external_id)
    ]
    return Rows(
        list(compress(found.external_id, own)),
        list(compress(found.elapsed_us, own)),
        None if found.device is None else list(compress(found.device, own)),
        None if found.stream is None else list(compress(found.stream, own)),
        list(compress(found.results, own)),
    )


def is_operator(row: Any) -> bool:
    """Return whether a row of torch's results is an operator or annotation."""
    # Before torch 2.12 a row does not name its activity. There runtime calls have rows without a
    # time, except those whose number is an operator's.
    kind = row.activity_type() if hasattr(row, "activity_type") else "cpu_op"
    return kind in _OPERATORS and row.device_type().name == "CPU"


def _read_all(rows: list[Any], streams: Streams | None) -> tuple[list[int], _Places | None]:
    """Return times, and places if the backend tells them; raises what any row raises."""
    read: Callable[[Any], int] = type(rows[0]).privateuse1_elapsed_us if rows else int
    times = map(read, rows)
    if streams is None:
        return list(times), None
    # In turns, as the backend tells the streams of the last elapsed time only.
    turns = list(zip(times, starmap(streams, repeat(()))))
    return [us for us, _ in turns], _columns([place for _, place in turns])


def _read_each(
    rows: list[Any], streams: Streams | None, notes: Notes
) -> tuple[list[int | None], _Places | None]:
    """Return times and places, and note what raised."""
    elapsed: list[int | None] = []
    places: list[tuple[int, int, int]] = []
    raised: list[Exception] = []
    for row in rows:
        us: Any = None
        try:
            us = row.privateuse1_elapsed_us()
        except Exception as error:
            raised.append(error)
        elapsed.append(us)
        try:
            known = streams is not None and us is not None and us >= 0
            places.append(streams() if known else (0, 0, 0))  # type: ignore[misc]
        except Exception as error:
            notes.add("streams-failed", f"elapsed_streams() of the backend failed: {error}")
            streams = None  # for good
    if raised:
        notes.add(
            "row-raised",
            f"the device times of {len(raised)} of {len(rows)} rows could not be read, they are "
            f"null: {raised[0]}",
        )
    try:
        return elapsed, None if streams is None else _columns(places)
    except Exception as error:
        notes.add("streams-failed", f"elapsed_streams() of the backend failed: {error}")
        return elapsed, None


def _columns(places: list[tuple[int, int, int]]) -> _Places:
    """Return devices and streams of both events; raises if not all are three numbers."""
    if not places:
        return [], [], []
    devices, first, second = (list(map(int, column)) for column in zip(*places))
    return devices, first, second
