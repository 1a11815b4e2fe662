"""Decoded events -> columns: interned strings, int64 ns, one argument a column.

Events come window by window. A column of a window is made in one pass in C (``np.fromiter`` over
``map``); only the arguments that mean something for the category are looked at.
"""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.read import numbers
from tb_privateuse1.read.base import Flows, Group, Raw
from tb_privateuse1.read.events import LOOSE, MISSING_OF, NO_ARGS, Event
from tb_privateuse1.read.pairs import Pairs
from tb_privateuse1.read.parts import Parts
from tb_privateuse1.read.quality import Tally
from tb_privateuse1.read.times import Timed, timed
from tb_privateuse1.trace import I32, I64, NONE, Checkpoints, Threads

_OPERATOR = ("external_id", "sequence", "forward_thread", "shapes", "dtypes", "stack", "collective")
_ARGUMENTS = {
    "cpu_op": _OPERATOR,
    "operator": _OPERATOR,
    "user_annotation": ("external_id",),
    "python_function": ("python_id", "module_id"),
}
_LAUNCH = re.compile(r"(runtime|driver)$")
_LAUNCH_ARGUMENTS = ("external_id", "correlation")
_DEVICE_ARGUMENTS = (
    "external_id",
    "correlation",
    "device",
    "stream",
    "bytes",
    "start_bound_ns",
    "duration_bound_ns",
    "evidence",
    "collective",
)
_MEMORY = (
    "address",
    "device_type",
    "device_id",
    "memory_bytes",
    "allocated_bytes",
    "reserved_bytes",
)
_JSON = ("shapes", "dtypes")
_SPELT_2021 = {"external_id": "external_id_2021", "shapes": "shapes_2021"}

_TIMED = frozenset("XsfiIBE")

_NAME, _PID, _TID, _ID, _ARGS = map(operator.attrgetter, ("name", "pid", "tid", "id", "args"))


class _Strings(dict[Any, int]):
    """Texts to their numbers, in order of first sight; what is no text is told as one."""

    def __missing__(self, text: Any) -> int:
        if not isinstance(text, str):
            return self[str(text)]
        number = self[text] = len(self)
        return number


class _Json(dict[bytes, int]):
    """Equal lists are one string, however the exporter spaced them."""

    def __init__(self, strings: _Strings) -> None:
        super().__init__()
        self._strings = strings

    def __missing__(self, text: bytes) -> int:
        try:
            value = msgspec.json.decode(text) if text else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            value = None
        plain = value if value is None else msgspec.json.encode(value).decode()
        number = self[text] = NONE if plain is None else self._strings[plain]
        return number


class _ThreadRows(dict[tuple[Any, Any], int]):
    """(pid, tid) to a row: torch of 2021 wrote the same tid as "25738" and as 25738."""

    def __init__(self) -> None:
        super().__init__()
        self.told: dict[tuple[str, str], int] = {}

    def __missing__(self, key: tuple[Any, Any]) -> int:
        told = (str(key[0]), str(key[1]))
        row = self[key] = self.told.setdefault(told, len(self.told))
        return row


class Builder:
    """Takes windows of events and yields one ``Raw``."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._strings = _Strings()
        self._json = _Json(self._strings)
        self._threads = _ThreadRows()
        self._thread_names: dict[int, int] = {}
        self._groups: dict[str, Parts] = defaultdict(Parts)
        self._memory = Parts()
        self._flows: list[Flows] = []
        self._pairs = Pairs(tally)
        self._seen = 0

    def add(self, events: Sequence[Event | None], text: bytes) -> None:
        """The events of one window, None where one is malformed; ``text`` is what they came from.

        Raises Inexact, with nothing added, if their times need decoding as decimals.
        """
        kinds = list(_by_kind(events))
        times = [
            timed(members, rows + self._seen, text, ranges=phase == "X")
            if phase in _TIMED
            else None
            for (phase, _), members, rows in kinds
        ]
        self._seen += len(events)
        for ((phase, category), members, _), placed in zip(kinds, times, strict=True):
            if phase == "M":
                self._labels(members)
            elif placed is None:
                self._tally.add("phase_not_shown", len(members), phase)
            else:
                self._tally.merge(placed.odd)
                if len(placed):
                    self._add(phase, category or "", placed)

    def _add(self, phase: str, category: str, times: Timed) -> None:
        if phase in "iI" or category == "cpu_instant_event":
            # With torch's Python exporter memory instants are complete events of that category.
            times = times.where([e.name == "[memory]" for e in times.events])
            if len(times):
                self._memory.add(self._group(times, _MEMORY))
        elif phase == "X":
            self._groups[category].add(self._group(times, _arguments(category)))
        elif phase == "B":
            self._pairs.begin(category, self._group(times, _arguments(category)))
        elif phase == "E":
            self._pairs.end(self._thread_column(times.events), times.start_ns)
        else:
            self._flows.append(self._flow_ends(category, times, finish=phase == "f"))

    def raw(self, metadata: dict[str, Any], checkpoints: Checkpoints) -> Raw:
        """Everything, with times since the file's base (``baseTimeNanoseconds`` or 0)."""
        groups = {category: parts.group() for category, parts in self._groups.items()}
        last = max((int(g.end_ns.max()) for g in groups.values() if len(g)), default=0)
        for category, closed in self._pairs.groups(last).items():
            whole = [groups[category], closed] if category in groups else [closed]
            groups[category] = Group.join(whole, MISSING_OF)
        keys = list(self._threads.told)
        threads = Threads(
            pid=self._string_column([pid for pid, _ in keys]),
            tid=self._string_column([tid for _, tid in keys]),
            name=np.array([self._thread_names.get(i, NONE) for i in range(len(keys))], np.int32),
        )
        base = numbers.ids([metadata.get("baseTimeNanoseconds")], missing=0)[0]
        return Raw(
            base_ns=int(base),
            strings=tuple(self._strings),
            threads=threads,
            groups=groups,
            memory=self._memory.group(),
            flows=_concatenated(self._flows),
            metadata=metadata,
            findings=self._tally.findings(),
            checkpoints=checkpoints,
        )

    def _labels(self, events: Iterable[Event]) -> None:
        """Metadata events (``M``): the names of threads."""
        for event in events:
            if event.name == "thread_name" and event.args is not None:
                thread = self._threads[event.pid, event.tid]
                self._thread_names[thread] = self._strings[str(event.args.name)]

    def _flow_ends(self, category: str, times: Timed, *, finish: bool) -> Flows:
        n = len(times)
        return Flows(
            category=np.full(n, self._strings[category], np.int32),
            id=numbers.ids(list(map(_ID, times.events))),
            ts_ns=times.start_ns,
            thread=self._thread_column(times.events),
            finish=np.full(n, finish, np.int32),
        )

    def _group(self, times: Timed, keys: Iterable[str]) -> Group:
        events = times.events
        args: list[Any] = list(map(_ARGS, events))
        if isinstance(events[0], LOOSE):
            args = [NO_ARGS if a is None else a for a in args]
        ids: dict[str, I64] = {}
        texts: dict[str, I32] = {}
        for key in keys:
            column = self._argument(key, args)
            absent = MISSING_OF.get(key, NONE)
            if key in _SPELT_2021 and absent in column:
                older = self._argument(_SPELT_2021[key], args)
                column = np.where(column == absent, older, column)
            if (column != absent).any():
                (ids if key in MISSING_OF else texts)[key] = column
        return Group(
            self._names(events),
            times.start_ns,
            times.end_ns,
            self._thread_column(events),
            times.number,
            ids,
            texts,
        )

    def _argument(self, key: str, args: list[Any]) -> NDArray[Any]:
        get: Callable[[Any], Any] = operator.attrgetter(key)
        if key in MISSING_OF:
            try:
                return np.fromiter(map(get, args), np.int64, len(args))
            except (TypeError, ValueError, OverflowError):
                return numbers.ids(list(map(get, args)), MISSING_OF[key])
        if key.startswith(_JSON):
            number = map(self._json.__getitem__, map(bytes, map(get, args)))
            return np.fromiter(number, np.int32, len(args))
        values = list(map(get, args))
        if values.count(None) == len(values):
            return np.full(len(values), NONE, np.int32)
        return np.array([NONE if v is None else self._strings[str(v)] for v in values], np.int32)

    def _names(self, events: Sequence[Event]) -> I32:
        number = self._strings.__getitem__
        try:
            return np.fromiter(map(number, map(_NAME, events)), np.int32, len(events))
        except TypeError:  # a list or an object where a name should be
            return self._string_column([str(event.name) for event in events])

    def _string_column(self, texts: list[str]) -> I32:
        return np.array([self._strings[text] for text in texts], np.int32)

    def _thread_column(self, events: Sequence[Event]) -> I32:
        keys = zip(map(_PID, events), map(_TID, events), strict=True)
        return np.fromiter(map(self._threads.__getitem__, keys), np.int32, len(events))


def _arguments(category: str) -> tuple[str, ...]:
    category = category.lower()
    if _LAUNCH.search(category):
        return _LAUNCH_ARGUMENTS
    return _ARGUMENTS.get(category, _DEVICE_ARGUMENTS)


def _by_kind(
    events: Sequence[Event | None],
) -> Iterable[tuple[tuple[str, str | None], list[Event], I64]]:
    """Events and their rows by phase and category, of which most have one phase."""
    by_kind: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    for row, event in enumerate(events):
        if event is not None:
            by_kind[event.ph, event.cat].append(row)
    for kind, rows in by_kind.items():
        yield kind, [events[row] for row in rows], np.array(rows)  # type: ignore[misc]


def _concatenated(parts: list[Flows]) -> Flows:
    if not parts:
        return Flows.empty()
    return Flows(
        **{name: np.concatenate([getattr(p, name) for p in parts]) for name in Flows.column_types()}
    )
