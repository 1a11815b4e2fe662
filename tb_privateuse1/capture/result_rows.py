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

_TOLD = {"elapsed_streams": 3, "event_times": 2}
"""What a backend's module may tell of the last elapsed time's two events, and in how many numbers:
their device and streams, and when the device executed them."""
_OPERATORS = ("cpu_op", "user_annotation")
"""libkineto's names for what torch calls the backend's ``ProfilerStubs`` around."""
_Told = dict[str, Callable[[], Any]]
_Columns = dict[str, list[list[int]]]
"""By function, a column for each number that it returns."""


@dataclass
class Rows:
    """Columns of one length."""

    external_id: list[int] = field(default_factory=list)
    elapsed_us: list[int | None] = field(default_factory=list)
    """None: no events were recorded around this row, or their time cannot be read."""
    results: list[Any] = field(default_factory=list)
    """The rows as torch has them."""
    told: dict[str, list[int | None]] = field(default_factory=dict)
    """What the backend tells of both events. ``device`` and ``stream``: None where they are on two
    streams. ``first_ns`` and ``second_ns``: when the device executed them, after an event that is
    the same for all of a recording."""

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
    module = getattr(torch, backend, None)
    told = {name: getattr(module, name) for name in _TOLD if hasattr(module, name)}
    elapsed: Sequence[int | None]
    try:
        elapsed, columns = _read_all(rows, told)
    except Exception:
        elapsed, columns = _read_each(rows, told, notes)
    times = [None if us is None or us < 0 else us for us in elapsed]
    found = Rows(list(compress(ids, has_id)), times, rows)
    for name, numbers in columns.items():
        found.told.update(_told_columns(name, numbers, times))
    return _without_others(found, elapsed)


def _told_columns(
    name: str, numbers: list[list[int]], times: list[int | None]
) -> dict[str, list[int | None]]:
    """Return what a function of the backend told as columns; None where there is no time."""
    known: list[list[int | None]] = [
        [None if us is None else one for us, one in zip(times, column)] for column in numbers
    ]
    if name == "event_times":
        return {"first_ns": known[0], "second_ns": known[1]}
    device, first, second = known
    stream = [one if one == other else None for one, other in zip(first, second)]
    return {"device": device, "stream": stream}


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
        list(compress(found.results, own)),
        {name: list(compress(column, own)) for name, column in found.told.items()},
    )


def is_operator(row: Any) -> bool:
    """Return whether a row of torch's results is an operator or annotation."""
    # Before torch 2.12 a row does not name its activity. There runtime calls have rows without a
    # time, except those whose number is an operator's.
    kind = row.activity_type() if hasattr(row, "activity_type") else "cpu_op"
    return kind in _OPERATORS and row.device_type().name == "CPU"


def _read_all(rows: list[Any], told: _Told) -> tuple[list[int], _Columns]:
    """Return times, and what the backend tells of their events; raises what any row raises."""
    read: Callable[[Any], int] = type(rows[0]).privateuse1_elapsed_us if rows else int
    # In turns, as the backend tells of the last elapsed time only.
    turns = list(zip(map(read, rows), *(starmap(tell, repeat(())) for tell in told.values())))
    elapsed, *answers = zip(*turns) if turns else ([], *([] for _ in told))
    return list(elapsed), {name: _columns(name, answer) for name, answer in zip(told, answers)}


def _read_each(rows: list[Any], told: _Told, notes: Notes) -> tuple[list[int | None], _Columns]:
    """Return times, and what the backend tells of their events, and note what raised."""
    elapsed: list[int | None] = []
    answers: dict[str, list[Any]] = {name: [] for name in told}
    raised: list[Exception] = []
    for row in rows:
        us: Any = None
        try:
            us = row.privateuse1_elapsed_us()
        except Exception as error:
            raised.append(error)
        elapsed.append(us)
        known = us is not None and us >= 0
        for name in list(answers):
            try:
                answers[name].append(told[name]() if known else (0,) * _TOLD[name])
            except Exception as error:
                _failed(name, error, notes)
                del answers[name]  # for good
    if raised:
        notes.add(
            "row-raised",
            f"the device times of {len(raised)} of {len(rows)} rows could not be read, they are "
            f"null: {raised[0]}",
        )
    columns: _Columns = {}
    for name, answer in answers.items():
        try:
            columns[name] = _columns(name, answer)
        except Exception as error:
            _failed(name, error, notes)
    return elapsed, columns


def _failed(name: str, error: Exception, notes: Notes) -> None:
    code = {"elapsed_streams": "streams-failed", "event_times": "times-failed"}[name]
    notes.add(code, f"{name}() of the backend failed: {error}")


def _columns(name: str, answers: Sequence[Any]) -> list[list[int]]:
    """Return a column for each number; raises if not all answers have as many."""
    if not answers:
        return [[] for _ in range(_TOLD[name])]
    columns = [list(map(int, column)) for column in zip(*answers)]
    if len(columns) != _TOLD[name] or set(map(len, answers)) != {_TOLD[name]}:
        raise ValueError(f"it must return {_TOLD[name]} numbers")
    return columns
