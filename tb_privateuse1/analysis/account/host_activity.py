"""Find what each host thread does: ranges by class of time, in order of precedence.

At one instant a thread may be in several ranges, one inside the other: a synchronization inside an
operator inside a Python frame. The first class in this order counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from tb_privateuse1.analysis.account.classes import ClassName
from tb_privateuse1.analysis.idle import blocking_calls
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.call_tree import LOADER, STEP, starts_with
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.findings import TableName
from tb_privateuse1.trace.model import ANNOTATION, NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I32, I64, Bools, Code, RowsBy, Table, ThreadRow

OPS, LAUNCHES, FRAMES, KERNELS = range(4)
"""Values of a column ``table``: where the row of the responsible event is."""
TABLES: tuple[TableName, ...] = ("ops", "launches", "frames", "kernels")

EventRow = Annotated[I32, RowsBy("table", TABLES)]
EventRow64 = Annotated[I64, RowsBy("table", TABLES)]

_OTHER_RANKS = re.compile(r"wait_tensors?\b|\bbarrier|monitored_barrier|\bwait\(\)")
"""Operators and annotations that return when other ranks have arrived."""

_COLLECTION = re.compile(r"^python gc\b|^gc\.collect|<built-in \w+ collect>", re.IGNORECASE)

_PROFILER = re.compile(
    r"(^|/)torch/(autograd/)?profiler(/\w+|_\w+)?\.py\(|(^|/)tb_privateuse1/capture/"
    r"(?!__main__\.py)"
)
"""Frames of a profiler. The launcher's own hold the whole program."""

_LOADER_FRAMES = re.compile(
    r"(^|/)torch/utils/data/\w+\.py\(\d+\): (__next__|_next_data|_get_data)"
)

_BLOCKED_FRAMES = re.compile(
    r"^<built-in (method|function) (acquire|wait\w*|select|poll|epoll_wait|sleep|recv\w*"
    r"|sched_yield|get of _queue\.SimpleQueue|accept|connect|read\w*|write|open|flush|fsync|load)\b"
    r"|^threading\.py\(\d+\): (wait|join|_wait_for_tstate_lock)"
)
"""Functions of Python that wait for a lock, a timer, a socket or a file; most are in C."""

_DEVICE_MEMORY = re.compile(
    r"malloc|free(?!d)|(mem|host)_?(alloc|create|release|map|unmap|register|unregister|address)"
    r"|hostalloc|mempool",
    re.IGNORECASE,
)
"""Runtime calls that take or return memory of the device, or memory that it reads directly."""

_NO_ALLOCATION = re.compile(r"memcpy|memset|getinfo|get_?info|attribute", re.IGNORECASE)


class HostRanges(Table, frozen=True):
    """Ranges of host threads by thread and start, disjoint in each thread.

    ``row`` is the responsible row of the table ``table``.
    """

    thread: ThreadRow
    start_ns: I64
    end_ns: I64
    table: Code
    row: EventRow

    def of_thread(self, thread: int) -> HostRanges:
        """Return the ranges of one thread."""
        bounds = np.array([thread, thread + 1], self.thread.dtype)
        first, end = np.searchsorted(self.thread, bounds)
        return HostRanges(**{name: column[first:end] for name, column in self.columns()})


def host_activity(trace: Trace) -> Mapping[ClassName, HostRanges]:
    """Return when threads are in events of each class, in order of precedence."""
    ops, launches, collectives = trace.ops, trace.launches, trace.collectives
    steps = starts_with(trace, STEP)[ops.name]
    operators = (ops.kind == OPERATOR) & ~steps
    notes = (ops.kind == ANNOTATION) & ~steps
    hosted = mask_of(collectives.op, len(ops))
    frame = _Named(trace, trace.frames.name)
    op = _Named(trace, ops.name)
    copies = blocking_calls.blocking_copies(trace)
    waits = blocking_calls.blocking_calls(trace) & ~copies
    waiting_ops = blocking_calls.blocking_names(trace)[ops.name]
    waiting_ops[blocking_calls.blocking_operators(trace)] = True
    call = _Named(trace, launches.name)
    memory = call.matches(_DEVICE_MEMORY) & ~call.matches(_NO_ALLOCATION)
    return {
        "profiler": _ranges(trace, frames=frame.matches(_PROFILER)),
        "blocking_copy": _ranges(trace, launches=copies),
        "synchronization": _ranges(
            trace,
            launches=waits,
            ops=waiting_ops & ~steps,
            frames=blocking_calls.blocking_names(trace)[trace.frames.name],
        ),
        "device_memory": _ranges(trace, launches=memory),
        "garbage_collection": _ranges(
            trace, ops=op.matches(_COLLECTION), frames=frame.matches(_COLLECTION)
        ),
        "other_rank": _ranges(trace, ops=hosted | op.matches(_OTHER_RANKS)),
        "input": loader_ranges(trace),
        "launch_call": _ranges(trace, launches=np.ones(len(launches), np.bool_)),
        "dispatch": _ranges(trace, ops=operators),
        "file_or_lock": _ranges(trace, frames=frame.matches(_BLOCKED_FRAMES)),
        "python": _ranges(trace, ops=notes, frames=np.asarray(trace.frames.parent < 0, np.bool_)),
    }


def loader_ranges(trace: Trace) -> HostRanges:
    """Return when threads are in the data loader."""
    return _ranges(
        trace,
        ops=starts_with(trace, LOADER)[trace.ops.name],
        frames=_Named(trace, trace.frames.name).matches(_LOADER_FRAMES),
    )


class _Named:
    """Tests the names of a table's rows, each distinct name once."""

    def __init__(self, trace: Trace, column: I32) -> None:
        self._trace, self._column = trace, column
        self._names = groupby.distinct_values(column[column >= 0])
        self._texts = [trace.strings[name] for name in self._names.tolist()]

    def matches(self, pattern: re.Pattern[str]) -> Bools:
        """Return by row whether the pattern is found in its name."""
        flags = np.zeros(len(self._trace.strings) + 1, np.bool_)
        flags[self._names] = [pattern.search(text) is not None for text in self._texts]
        return groupby.rows_of(flags, self._column)


def _ranges(
    trace: Trace,
    *,
    ops: Bools | None = None,
    launches: Bools | None = None,
    frames: Bools | None = None,
) -> HostRanges:
    """Return the chosen rows of these tables as disjoint ranges; of nested rows the outermost."""
    parts: list[tuple[Any, I64, int]] = []
    for name, chosen, number in (
        ("ops", ops, OPS),
        ("launches", launches, LAUNCHES),
        ("frames", frames, FRAMES),
    ):
        if chosen is not None and chosen.any():
            parts.append((getattr(trace, name), np.flatnonzero(chosen), number))
    if not parts:
        return HostRanges.empty()
    thread = np.concatenate([table.thread[rows] for table, rows, _ in parts])
    start = np.concatenate([table.start_ns[rows] for table, rows, _ in parts])
    end = np.concatenate([table.end_ns[rows] for table, rows, _ in parts])
    row = np.concatenate([rows for _, rows, _ in parts]).astype(np.int32)
    table = np.concatenate([np.full(len(rows), n, np.int8) for _, rows, n in parts])
    order = intervals.nesting_order(thread, start, end)
    order = order[thread[order] > NONE]
    thread, start, end = thread[order], start[order], end[order]
    table, row = table[order], row[order]
    which, starts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for axis in intervals.lanes((thread, start), (thread, end)):
        own = np.flatnonzero((thread >= axis.first) & (thread < axis.end))
        begins, _, first = disjoint(*(axis.place(thread[own], at[own]) for at in (start, end)))
        which.append(own[first])
        starts.append(axis.instants(begins)[1])
    rows = np.concatenate(which)
    return HostRanges(thread[rows], np.concatenate(starts), end[rows], table[rows], row[rows])


def disjoint(starts: I64, ends: I64) -> tuple[I64, I64, I64]:
    """Return starts, ends and places of the parts of ranges, sorted by start, that are first.

    An instant belongs to the first range that covers it, so the parts tile the ranges' union.
    """
    reach = np.maximum.accumulate(ends) if len(ends) else ends
    begin = starts.copy()
    begin[1:] = np.maximum(starts[1:], reach[:-1])
    places = np.flatnonzero(ends > begin)
    return begin[places], ends[places], places
