"""Give kernels of graph replays the operators, modules and lines of the graph's capture.

A replay is one launch call with many device activities. In the recording of a capture the same
kernels were launched one by one, by calls that ran nothing. A replay and a capture belong together
if they have the same kernels; the activities and the calls are then matched by name and order.
Without a capture, an eager run of the same kernels may have them (``eager_matches``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.inference import eager_matches
from tb_privateuse1.inference import window_ranges as ranges
from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.trace.columns import flag_names, following, lookup
from tb_privateuse1.trace.groupby import split_by_value
from tb_privateuse1.trace.model import (
    KERNEL,
    MEMCPY,
    MEMSET,
    NONE,
    Trace,
)
from tb_privateuse1.trace.table import I8, I32, I64, Bools

_BEGIN = re.compile(r"begin_?capture|capture_?begin", re.IGNORECASE)
_END = re.compile(r"end_?capture|capture_?end", re.IGNORECASE)
_COPY = re.compile("memcpy|memory_?copy", re.IGNORECASE)
_FILL = re.compile("memset|memory_?fill", re.IGNORECASE)
_LAUNCH = re.compile("launch", re.IGNORECASE)
_GRAPH = re.compile("graph|instantiate", re.IGNORECASE)

_UNNAMED = -2
"""The name of a captured kernel whose call does not say it."""


class _Sequence(Struct, frozen=True):
    """Activities of a replay or calls of a capture, by kind, name and order."""

    row: I64
    kind: I8
    name: I64

    @classmethod
    def of(cls, row: I64, kind: I8, name: I64, start_ns: I64) -> _Sequence:
        """Return the sorted sequence; copies and fills have no names."""
        name = np.where(kind == KERNEL, name, NONE)
        order = np.lexsort((start_ns, name, kind))
        return cls(row[order], kind[order], name[order])

    @property
    def kernels(self) -> bytes:
        """Return what the sequences of one graph have in common."""
        return bytes(self.name[self.kind == KERNEL].tobytes())

    @property
    def count(self) -> bytes:
        """Return the same for calls that do not name their kernels."""
        return bytes(np.full(int((self.kind == KERNEL).sum()), _UNNAMED).tobytes())


class _Capture(Struct, frozen=True):
    """The calls of one capture, and the row of ``Captures`` and operator that each was made in."""

    calls: _Sequence
    node: I32
    op: I32
    """Row of ``CapturedOps``, or ``NONE``."""
    inputs: I64
    """A number for what the operator and those around it got: equal for equal inputs."""


def add_captures(trace: Trace, others: Callable[[], Sequence[Trace]] | None = None) -> Trace:
    """Return the trace with ``captures``, ``kernels.capture`` and ``kernels.captured_op``.

    ``others`` returns other recordings of the run; it is called if the trace has replays of graphs
    that were not captured in it.
    """
    replays = list(_replays(trace))
    if not replays:
        return trace
    found = _matched(trace, trace, replays)
    graph = _named(trace.strings, _GRAPH)[trace.launches.name]
    lost = [one for one in replays if graph[trace.kernels.launch[one.row[0]]]]
    if found is None and others is not None and lost:
        candidates = (_matched(trace, other, lost) for other in others())
        found = next((one for one in candidates if one is not None), None)
    made = trace if found is None else found
    left = [one.row for one in lost if (made.kernels.capture[one.row] < 0).all()]
    return eager_matches.add_matches(made, left) if left else made


def _replays(trace: Trace) -> Iterator[_Sequence]:
    """Yield the activities of each launch call that made several."""
    kernels = trace.kernels
    launched = kernels.launch[kernels.launch >= 0]
    many = np.append(np.bincount(launched, minlength=len(trace.launches)) > 1, False)
    rows = np.flatnonzero(many[kernels.launch])
    for _, part in split_by_value(kernels.launch[rows]):
        row = rows[part]
        name = kernels.name[row].astype(np.int64)
        yield _Sequence.of(row, kernels.kind[row], name, kernels.start_ns[row])


def _matched(trace: Trace, recording: Trace, replays: Sequence[_Sequence]) -> Trace | None:
    """Return the trace with the captures of a recording; None if no replay has one."""
    strings = Strings(trace.strings)
    windows = _windows(recording)
    if not len(windows):
        return None
    table, node_of_call = ranges.nodes(recording, windows, strings)
    operators, op_of_call = ranges.operators(recording, windows, strings)
    places = _Places(node_of_call, op_of_call, ranges.input_numbers(operators))
    known = _by_kernels(_captures(recording, windows, places, strings))
    column, op = (np.full(len(trace.kernels), NONE, np.int32) for _ in range(2))
    for replay in replays:
        capture = known.get(replay.kernels)
        if capture is None and len(np.unique(trace.kernels.lane[replay.row])) == 1:
            capture = known.get(replay.count)  # by order alone, which one stream keeps
        if capture is None:
            continue
        for kind in (KERNEL, MEMCPY, MEMSET):
            rows = replay.row[replay.kind == kind]
            same = capture.calls.kind == kind
            if len(rows) == same.sum():
                column[rows], op[rows] = capture.node[same], capture.op[same]
    if not (column >= 0).any():
        return None
    kernels = replace(trace.kernels, capture=column, captured_op=op)
    return replace(
        trace,
        kernels=kernels,
        captures=table,
        captured_ops=operators,
        strings=tuple(strings.all),
    )


def _by_kernels(captures: Sequence[_Capture]) -> Mapping[bytes, _Capture]:
    """Return captures by their kernels; none where two with the same kernels differ in context.

    If only the inputs of their operators differ, as of two batch sizes, the operators are unknown.
    """
    known: dict[bytes, _Capture] = {}
    ambiguous = set()
    for capture in captures:
        key = capture.calls.kernels
        other = known.setdefault(key, capture)
        if not np.array_equal(other.node, capture.node):
            ambiguous.add(key)
        elif not np.array_equal(other.inputs, capture.inputs):
            known[key] = replace(other, op=np.full_like(other.op, NONE))
    return {key: capture for key, capture in known.items() if key and key not in ambiguous}


def while_capturing(trace: Trace, start_ns: I64) -> Bools:
    """Return which instants are in a capture: calls launch nothing then."""
    windows = _windows(trace)
    found: Bools = ranges.inside(windows, start_ns) >= 0 if len(windows) else start_ns < 0
    return found


def _windows(trace: Trace) -> I64:
    """Return the start and end of each capture, a row each."""
    launches = trace.launches
    begins = np.sort(launches.start_ns[_named(trace.strings, _BEGIN)[launches.name]])
    ends = np.sort(launches.start_ns[_named(trace.strings, _END)[launches.name]])
    at = np.searchsorted(ends, begins)
    pairs = np.stack((begins, lookup(ends, np.minimum(at, len(ends)), -1)), axis=1)
    # A capture whose end is not in the recording, or lies behind the next begin, is none.
    next_begin = following(begins, np.iinfo(np.int64).max)
    return pairs[(pairs[:, 1] >= pairs[:, 0]) & (pairs[:, 1] <= next_begin)]


def _named(strings: Sequence[str], pattern: re.Pattern[str]) -> Bools:
    """Return which strings match; the last entry is for ``NONE``."""
    return flag_names(strings, pattern.search)


class _Places(Struct, frozen=True):
    """Where launches were made: by launch the node and the operator, by operator its inputs."""

    node: I32
    op: I32
    inputs: I64


def _captures(trace: Trace, windows: I64, places: _Places, strings: Strings) -> list[_Capture]:
    """Return the calls of each capture that put something into its graph."""
    launches, names = trace.launches, trace.strings
    ran = np.zeros(len(launches) + 1, np.bool_)
    ran[trace.kernels.launch] = True
    copy, fill = _named(names, _COPY)[launches.name], _named(names, _FILL)[launches.name]
    kernel = _named(names, _LAUNCH)[launches.name] & ~_named(names, _GRAPH)[launches.name]
    calls = (kernel | copy | fill) & ~ran[:-1]
    window = np.where(calls, ranges.inside(windows, launches.start_ns), NONE)
    rows = np.flatnonzero(window >= 0)
    kind = np.select((copy[rows], fill[rows]), (MEMCPY, MEMSET), KERNEL).astype(np.int8)
    found = []
    for _, part in split_by_value(window[rows]):
        row = rows[part]
        named = [
            strings.find(trace.text(n)) if n >= 0 else _UNNAMED for n in launches.kernel_name[row]
        ]
        calls_of = _Sequence.of(row, kind[part], np.array(named, np.int64), launches.start_ns[row])
        op = places.op[calls_of.row]
        inputs = lookup(places.inputs, op, NONE)
        found.append(_Capture(calls_of, places.node[calls_of.row], op, inputs))
    return found
