"""Build columns of decoded events: interned strings, int64 ns, one column per argument.

Events come window by window and are sorted by kind, which is phase and category. Common fields
become columns at once. Of the arguments only those are read that have a meaning for the category.
All loops over events are list comprehensions of a single expression, or in C.
"""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.readers.chrome import numbers
from tb_privateuse1.readers.chrome.begin_end_pairs import Pairs
from tb_privateuse1.readers.chrome.counter_columns import CounterColumns
from tb_privateuse1.readers.chrome.event_kinds import TIMED, Kinds, Spelling
from tb_privateuse1.readers.chrome.event_schema import (
    COLLECTIVE,
    CONFIG,
    COUNTED,
    GRAPH_NODE,
    INPUTS,
    LOOSE,
    NO_ARGS,
    RANK_PART,
    Event,
)
from tb_privateuse1.readers.chrome.growing_columns import Column, Parts
from tb_privateuse1.readers.chrome.interning import JsonTexts, Strings, ThreadRows
from tb_privateuse1.readers.chrome.part_columns import PartColumns, Rows, renumbering
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.chrome.timestamps import event_times
from tb_privateuse1.readers.raw import MISSING_OF, Flows, Group, Raw
from tb_privateuse1.trace.file_checkpoints import Checkpoints
from tb_privateuse1.trace.model import NONE, Threads
from tb_privateuse1.trace.recorded_counters import COMPUTED
from tb_privateuse1.trace.table import I32, I64, Bools

_OPERATOR = (
    "external_id",
    "sequence",
    "forward_thread",
    "shapes",
    "dtypes",
    "stack",
    "modules",
    "collective",
    "kernel_gb",
    "record_function",
)
_LAUNCH = re.compile(r"(runtime|driver)$|^dequeue$")
_LAUNCH_ARGUMENTS = ("external_id", "correlation", "kernel")
_DEVICE_ARGUMENTS = (
    "external_id", "correlation", "device", "stream", "bytes", "collective", "block", "unit",
    "graph_node",
)  # fmt: skip
_SYNC = re.compile(r"_sync$")
_SYNC_ARGUMENTS = ("correlation", "device", "stream", "awaited_stream", "record_correlation")
_ARGUMENTS = {
    "cpu_op": _OPERATOR,
    "operator": _OPERATOR,
    "user_annotation": ("external_id", "shapes", "dtypes", "modules"),
    "python_function": ("python_id", "python_parent", "module_id"),
    "": (*_DEVICE_ARGUMENTS, "rank_elements"),
    # Added to a trace by our export and by the published recipe.
    "device_kernel": (
        *_DEVICE_ARGUMENTS,
        "start_bound_ns",
        "shift_bound_ns",
        "duration_bound_ns",
        "evidence",
    ),
}
_MEMORY = (
    "address", "device_type", "device_id", "memory_bytes", "allocated_bytes", "reserved_bytes",
)  # fmt: skip
_JSON = ("shapes", "dtypes", "strides", "concrete", "grid", "block", "occupancy")
_MORE = {
    "shapes": INPUTS,
    "collective": COLLECTIVE,
    "rank_elements": RANK_PART,
    "block": CONFIG,
    "kernel_gb": COUNTED,
    "graph_node": GRAPH_NODE,
}
_SPELT_2021 = {"external_id": "external_id_2021", "shapes": "shapes_2021"}

_INSTANTS = frozenset("iI")
_FEW = 1 << 15
"""NumPy sorts int16 by counting, which holds this number of kinds."""


class _Window(Struct, frozen=True):
    """Events by kind, with their numbers in the file."""

    events: Sequence[Event]
    kind: NDArray[Any]
    number: I32

    def where(self, keep: Bools) -> _Window:
        """Return the events for which ``keep`` is true."""
        if keep.all():
            return self
        rows = np.flatnonzero(keep)
        return _Window([self.events[i] for i in rows.tolist()], self.kind[rows], self.number[rows])

    def kinds(self) -> Iterator[tuple[int, slice]]:
        """Yield each kind and its rows."""
        if not self.events:
            return
        edges = [0, *(np.flatnonzero(np.diff(self.kind)) + 1).tolist(), len(self.events)]
        for start, stop in pairwise(edges):
            yield int(self.kind[start]), slice(start, stop)


class Builder:
    """Builds one ``Raw`` of windows of events."""

    def __init__(self, tally: Tally, kinds: Iterable[Spelling] = ()) -> None:
        self._tally = tally
        self._strings = Strings()
        self._json = JsonTexts(self._strings)
        self._threads = ThreadRows()
        self._thread_names: dict[int, int] = {}
        self._process_names: dict[str, str] = {}
        self._kinds = Kinds(kinds)
        self._groups: dict[str, Parts] = defaultdict(Parts)
        self._memory = Parts()
        self._flows = {name: Column(dtype) for name, dtype in Flows.column_types().items()}
        self._pairs = Pairs(tally)
        self._counters = CounterColumns(tally, self._strings)
        self._seen = 0

    def add(self, events: Sequence[Event | None], text: bytes) -> None:
        """Add the events of one window, decoded from ``text``; a malformed one is None.

        Raises Inexact, with nothing added, if their times need decoding as decimals.
        """
        window = self._sorted(events)
        is_timed, is_range, is_counter = (
            np.array([phase in phases for phase, _ in self._kinds.pairs], np.bool_)
            for phases in (TIMED, "X", "C")
        )
        timed = window.where(is_timed[window.kind])
        when = event_times(timed.events, is_range[timed.kind], text)
        first, self._seen = self._seen, self._seen + len(events)
        self._tally.merge(when.problems)
        self._untimed(window.where(~is_timed[window.kind]))
        keep = when.valid & self._shown(timed)
        counted = keep & is_counter[timed.kind]
        if counted.any():
            number = timed.where(counted).number
            self._counters.add(when.start_ns[counted], number, text, first)
            keep &= ~counted
        placed = timed.where(keep)
        if not placed.events:
            return
        whole = Group(
            self._names(placed.events),
            when.start_ns[keep],
            when.end_ns[keep],
            self._thread_column(placed.events),
            placed.number,
        )
        for kind, rows in placed.kinds():
            self._add(*self._kinds.pairs[kind], placed.events[rows], whole.take(rows))

    def _sorted(self, events: Sequence[Event | None]) -> _Window:
        rows = np.arange(self._seen, self._seen + len(events), dtype=np.int32)
        whole: Sequence[Any] = events
        try:
            kinds = self._kinds.numbers(whole)
        except AttributeError:
            rows = rows[[event is not None for event in whole]]
            whole = [event for event in whole if event is not None]
            kinds = self._kinds.numbers(whole)
        dtype = np.int16 if len(self._kinds.pairs) <= _FEW else np.int32
        kind = np.fromiter(kinds, dtype, len(kinds))
        order = np.argsort(kind, kind="stable")
        return _Window([whole[i] for i in order.tolist()], kind[order], rows[order])

    def _shown(self, window: _Window) -> Bools:
        """Return a mask of events that a table takes: of instants only those of memory."""
        shown = np.ones(len(window.events), np.bool_)
        for kind, rows in window.kinds():
            if self._kinds.pairs[kind] == ("C", COMPUTED):
                shown[rows] = False
            elif self._is_instant(*self._kinds.pairs[kind]):
                shown[rows] = [event.name == "[memory]" for event in window.events[rows]]
        return shown

    @staticmethod
    def _is_instant(phase: str, category: str) -> bool:
        # With torch's Python exporter memory instants are complete events of that category.
        return phase in _INSTANTS or category == "cpu_instant_event"

    def _untimed(self, window: _Window) -> None:
        for kind, rows in window.kinds():
            phase, _ = self._kinds.pairs[kind]
            if phase == "M":
                self._labels(window.events[rows])
            else:
                self._tally.add("phase_not_shown", rows.stop - rows.start, phase)

    def _add(self, phase: str, category: str, events: Sequence[Event], rows: Group) -> None:
        """Add the rows of one kind, with the arguments of their events."""
        if self._is_instant(phase, category):
            self._memory.add(self._with_arguments(rows, events, _MEMORY))
        elif phase == "X":
            self._groups[category].add(self._with_arguments(rows, events, _arguments(category)))
        elif phase == "B":
            rows = self._with_arguments(rows, events, _arguments(category))
            self._pairs.begin(category, rows)
        elif phase == "E":
            self._pairs.end(rows.thread, rows.start_ns)
        else:
            self._add_flows(category, events, rows, finish=phase == "f")

    def part(self, events: list[int]) -> PartColumns | None:
        """Return what was added, window by window; None if only the whole file can say that."""
        kinds, problems = self._kinds.spellings(), self._tally.problems()
        series, samples = self._counters.columns()
        if kinds is None or problems is None or not self._counters.fits(series):
            return None
        begun, ends = self._pairs.columns()
        return PartColumns(
            events=events,
            kinds=kinds,
            strings=list(self._strings),
            threads=list(self._threads.by_text),
            thread_names=self._thread_names,
            process_names=self._process_names,
            problems=problems,
            groups={category: Rows.of(parts.group()) for category, parts in self._groups.items()},
            memory=Rows.of(self._memory.group()),
            flows={name: column.values() for name, column in self._flows.items()},
            begun={category: (Rows.of(group), order) for category, (group, order) in begun.items()},
            ends=ends,
            series=series,
            samples=samples,
        )

    def join(self, part: PartColumns) -> bool:
        """Add a part that a builder with our kinds as its seed has made of the next windows.

        Return False, with nothing added, if the result would not be the same as that of ``add``.
        """
        if not self._counters.fits(part.series) or not self._kinds.join(part.kinds):
            return False
        first = self._seen
        self._seen += sum(part.events)
        strings = renumbering([self._strings[text] for text in part.strings])
        threads = renumbering([self._threads.row(pid, tid) for pid, tid in part.threads])
        for thread, name in part.thread_names.items():
            self._thread_names[int(threads[thread])] = int(strings[name])
        self._process_names |= part.process_names
        self._tally.join(part.problems)
        for category, rows in part.groups.items():
            self._groups[category].add(rows.group(strings, threads, first))
        self._memory.add(part.memory.group(strings, threads, first))
        flows = part.flows | {
            "category": strings[part.flows["category"]],
            "thread": threads[part.flows["thread"]],
        }
        for key, column in flows.items():
            self._flows[key].add(column)
        begun = {
            category: (rows.group(strings, threads, first), order)
            for category, (rows, order) in part.begun.items()
        }
        thread_column, ts_ns, number = part.ends
        self._pairs.join(begun, (threads[thread_column], ts_ns, number))
        self._counters.join(part.series, part.samples, first)
        return True

    def kinds(self) -> list[Spelling] | None:
        """Return the kinds so far, None if there are too many: the seed of a later part."""
        return self._kinds.spellings()

    def raw(self, metadata: dict[str, Any], checkpoints: Checkpoints) -> Raw:
        """Return all columns, with times since the file's base (``baseTimeNanoseconds`` or 0)."""
        groups = {category: parts.group() for category, parts in self._groups.items()}
        last = max((int(g.end_ns.max()) for g in groups.values() if len(g)), default=0)
        for category, closed in self._pairs.groups(last).items():
            whole = [groups[category], closed] if category in groups else [closed]
            groups[category] = Group.join(whole, MISSING_OF)
        counters = self._counters.counters()
        keys = list(self._threads.by_text)
        threads = Threads(
            pid=self._string_column([pid for pid, _ in keys]),
            tid=self._string_column([tid for _, tid in keys]),
            name=np.array([self._thread_names.get(i, NONE) for i in range(len(keys))], np.int32),
        )
        base = numbers.parse_ids([metadata.get("baseTimeNanoseconds")], missing=0)[0]
        return Raw(
            base_ns=int(base),
            strings=tuple(self._strings),
            threads=threads,
            groups=groups,
            memory=self._memory.group(),
            flows=Flows(**{name: column.values() for name, column in self._flows.items()}),
            metadata=metadata,
            findings=self._tally.findings(),
            checkpoints=checkpoints,
            counters=counters,
            process_names=self._process_names,
        )

    def _labels(self, events: Iterable[Event]) -> None:
        """Add the names of threads and processes, from metadata events (``M``)."""
        for event in events:
            if event.args is None:
                continue
            if event.name == "thread_name":
                thread = self._threads[event.pid][event.tid]
                self._thread_names[thread] = self._strings[str(event.args.name)]
            elif event.name == "process_name":
                self._process_names[str(event.pid)] = str(event.args.name)

    def _add_flows(
        self, category: str, events: Sequence[Event], rows: Group, *, finish: bool
    ) -> None:
        columns = {
            "category": np.full(len(rows), self._strings[category]),
            "id": numbers.parse_ids([event.id for event in events]),
            "ts_ns": rows.start_ns,
            "thread": rows.thread,
            "finish": np.full(len(rows), finish),
        }
        for name, column in columns.items():
            self._flows[name].add(column)

    def _with_arguments(self, rows: Group, events: Sequence[Event], keys: Iterable[str]) -> Group:
        args: list[Any] = [event.args for event in events]
        if isinstance(events[0], LOOSE):
            args = [NO_ARGS if a is None else a for a in args]
        ids: dict[str, I64] = {}
        texts: dict[str, I32] = {}
        pending = list(keys)
        for key in pending:
            column = self._argument(key, args)
            absent = MISSING_OF.get(key, NONE)
            if key in _SPELT_2021 and absent in column:
                older = self._argument(_SPELT_2021[key], args)
                column = np.where(column == absent, older, column)
            if (column != absent).any():
                (ids if key in MISSING_OF else texts)[key] = column
                pending += _MORE.get(key, ())
        return Group(rows.name, rows.start_ns, rows.end_ns, rows.thread, rows.event, ids, texts)

    def _argument(self, key: str, args: list[Any]) -> NDArray[Any]:
        get: Callable[[Any], Any] = operator.attrgetter(key)
        if key in MISSING_OF:
            try:
                return np.fromiter(map(get, args), np.int64, len(args))
            except (TypeError, ValueError, OverflowError):
                return numbers.parse_ids(list(map(get, args)), MISSING_OF[key])
        if key.startswith(_JSON):
            return np.fromiter(self._json.numbers(list(map(get, args))), np.int32, len(args))
        values = list(map(get, args))
        if values.count(None) == len(values):
            return np.full(len(values), NONE, np.int32)
        return np.array([NONE if v is None else self._strings[str(v)] for v in values], np.int32)

    def _names(self, events: Sequence[Event]) -> I32:
        strings = self._strings
        try:
            return np.fromiter([strings[event.name] for event in events], np.int32, len(events))
        except TypeError:  # a list or an object instead of a name
            return self._string_column([str(event.name) for event in events])

    def _string_column(self, texts: list[str]) -> I32:
        return np.array([self._strings[text] for text in texts], np.int32)

    def _thread_column(self, events: Sequence[Event]) -> I32:
        threads = self._threads
        rows = [threads[event.pid][event.tid] for event in events]
        return np.fromiter(rows, np.int32, len(rows))


def _arguments(category: str) -> tuple[str, ...]:
    category = category.lower()
    if _LAUNCH.search(category):
        return _LAUNCH_ARGUMENTS
    if _SYNC.search(category):
        return _SYNC_ARGUMENTS
    return _ARGUMENTS.get(category, _DEVICE_ARGUMENTS)
