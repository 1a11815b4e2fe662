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

_REPORTS = {
    "elapsed_streams": ("device", "stream", "second"),
    "event_times": ("first_ns", "second_ns"),
}
"""What a backend's module may tell of the last elapsed time's events: by function, its numbers."""
_OPERATORS = ("cpu_op", "user_annotation")
"""libkineto's names for what torch calls the backend's ``ProfilerStubs`` around."""
_Functions = dict[str, Callable[[], Any]]
_Columns = dict[str, list[Any]]


@dataclass
class Rows:
    """Columns of one length."""

    external_id: list[int] = field(default_factory=list)
    elapsed_us: list[int | None] = field(default_factory=list)
    """None: no events were recorded around this row, or their time cannot be read."""
    results: list[Any] = field(default_factory=list)
    """The rows as torch has them."""
    reported: _Columns = field(default_factory=dict)
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
    functions = {name: getattr(module, name) for name in _REPORTS if hasattr(module, name)}
    elapsed: Sequence[int | None]
    try:
        elapsed, columns = _read_all(rows, functions)
    except Exception:
        elapsed, columns = _read_each(rows, functions, notes)
    times = [None if us is None or us < 0 else us for us in elapsed]
    if "second" in columns:
        pairs = zip(columns["stream"], columns.pop("second"))
        columns["stream"] = [one if one == other else None for one, other in pairs]
    known = {
        name: [None if us is None else one for us, one in zip(times, column)]
        for name, column in columns.items()
    }
    return _without_others(Rows(list(compress(ids, has_id)), times, rows, known), elapsed)


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
        {name: list(compress(column, own)) for name, column in found.reported.items()},
    )


def is_operator(row: Any) -> bool:
    """Return whether a row of torch's results is an operator or annotation."""
    # Before torch 2.12 a row does not name its activity. There runtime calls have rows without a
    # time, except those whose number is an operator's.
    kind = row.activity_type() if hasattr(row, "activity_type") else "cpu_op"
    return kind in _OPERATORS and row.device_type().name == "CPU"


def _read_all(rows: list[Any], functions: _Functions) -> tuple[list[int], _Columns]:
    """Return times, and what the backend tells of their events; raises what any row raises."""
    read: Callable[[Any], int] = type(rows[0]).privateuse1_elapsed_us if rows else int
    # In turns, as the backend tells of the last elapsed time only.
    turns = list(zip(map(read, rows), *(starmap(tell, repeat(())) for tell in functions.values())))
    elapsed, *answers = zip(*turns) if turns else ([], *([] for _ in functions))
    columns: _Columns = {}
    for name, answer in zip(functions, answers):
        columns.update(_columns(name, answer))
    return list(elapsed), columns


def _read_each(
    rows: list[Any], functions: _Functions, notes: Notes
) -> tuple[list[int | None], _Columns]:
    """Return times, and what the backend tells of their events, and note what raised."""
    elapsed: list[int | None] = []
    answers: dict[str, list[Any]] = {name: [] for name in functions}
    failed: dict[str, Exception] = {}
    raised: list[Exception] = []
    for row in rows:
        us: Any = None
        try:
            us = row.privateuse1_elapsed_us()
        except Exception as error:
            raised.append(error)
        elapsed.append(us)
        for name in answers.keys() - failed:
            try:
                known = us is not None and us >= 0
                answers[name].append(functions[name]() if known else [0] * len(_REPORTS[name]))
            except Exception as error:
                failed[name] = error
    if raised:
        notes.add(
            "row-raised",
            f"the device times of {len(raised)} of {len(rows)} rows could not be read, they are "
            f"null: {raised[0]}",
        )
    columns: _Columns = {}
    for name in functions:
        try:
            if name in failed:
                raise failed[name]
            columns.update(_columns(name, answers[name]))
        except Exception as error:
            notes.add(_code(name), f"{name}() of the backend failed: {error}")
    return elapsed, columns


def _code(name: str) -> str:
    if name == "event_times":
        return "times-failed"
    return "streams-failed"


def _columns(name: str, answers: Sequence[Any]) -> _Columns:
    """Return a column for each number; raises if an answer has more or fewer."""
    names = _REPORTS[name]
    if set(map(len, answers)) - {len(names)}:
        raise ValueError(f"it must return {len(names)} numbers")
    return {one: [int(answer[i]) for answer in answers] for i, one in enumerate(names)}
