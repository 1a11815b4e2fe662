"""Writer of Perfetto traces: a stream of TracePackets for ui.perfetto.dev and its trace processor.

Host threads are tracks of slices (operators, annotations, frames, runtime calls). Device activities
are on Perfetto's GPU tracks, and curves are counters. ``GpuCorrelation`` links a launch to its
activities, and a flow links a forward operator to its backward ones. Time 0 is the trace's start.
Names are interned. Activities with shapes have their work in their arguments, inferred ones the
evidence and bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.counters import counters
from tb_privateuse1.analysis.counters.curves import Curve
from tb_privateuse1.export import work_columns
from tb_privateuse1.export.perfetto import nesting, packets
from tb_privateuse1.export.perfetto.packets import Names
from tb_privateuse1.export.perfetto.protobuf import (
    EncodedPart,
    constant,
    decimal,
    encode,
    field,
    fixed64,
    message,
    only,
    text,
    varint,
)
from tb_privateuse1.export.perfetto.tracks import Tracks
from tb_privateuse1.export.time_window import EVERYTHING, Window
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import EVIDENCE, KERNEL, MEASURED, MISSING, NONE, Ops, Trace
from tb_privateuse1.trace.perfetto_words import COUNTER, INSTANT, SLICE_BEGIN, SLICE_END
from tb_privateuse1.trace.table import I64

_CHUNK = 1 << 16
"""Events per encoded chunk: it needs some tens of megabytes."""
_MOST_ARROWS = 32
"""The most arrows of one launch: a graph's launch may start thousands of kernels."""
_LONGEST = 120
"""The most characters of an operator's name in an activity's arguments."""


def write(trace: Trace, window: Window = EVERYTHING) -> Iterator[bytes]:
    """Yield the trace in Perfetto's format, in pieces of some megabytes at most."""
    tracks, names = Tracks(trace), Names(trace.strings)
    host, steps = _host(trace, window), window.rows(trace, trace.steps)
    kernels = window.rows(trace, trace.kernels)
    names.events(host.name, trace.steps.name[steps])
    names.texts(trace.ops.shapes[host.ops], trace.ops.dtypes[host.ops])
    compute = trace.kernels.kind[kernels] == KERNEL
    of_kernels = trace.kernels.name[kernels]
    names.stages(of_kernels[compute], of_kernels[~compute])
    names.queues(tracks.queues())
    yield packets.head(trace, names, tracks.pid) + tracks.processes()
    yield _steps(trace, tracks, steps)
    yield from _slices(trace, tracks, host, _Arrows(trace, kernels))
    for rows in _chunks(kernels):
        yield _device(trace, names, rows)
    for curve in counters.build_curves(trace):
        yield from _counter(tracks, curve, window, trace.end_ns)


def _chunks(rows: I64) -> Iterator[I64]:
    for first in range(0, len(rows), _CHUNK):
        yield rows[first : first + _CHUNK]


def _steps(trace: Trace, tracks: Tracks, rows: I64) -> bytes:
    steps = trace.steps
    # Without recorded steps, one row stands for the whole trace: it has another name.
    recorded = call_tree.starts_with(trace, call_tree.STEP)
    rows = rows[recorded[steps.name[rows]] & (steps.end_ns[rows] > steps.start_ns[rows])]
    if not len(rows):
        return b""
    uuid, descriptor = tracks.named("Steps")
    track = constant(field(11, uuid))
    ends = packets.event(SLICE_END, steps.end_ns[rows], track)
    name = varint(10, steps.name[rows] + 1)
    starts = packets.event(SLICE_BEGIN, steps.start_ns[rows], track, packets.category("step"), name)
    return descriptor + encode(ends, len(rows)) + encode(starts, len(rows))


class _Host(Struct, frozen=True):
    """Ranges of the host: first ``ops``, then frames, then launches."""

    ops: I64
    """Rows of ``Trace.ops``, for the first ranges here."""
    thread: NDArray[np.int32]
    start_ns: I64
    end_ns: I64
    name: NDArray[np.int32]
    category: NDArray[np.int8]
    argument: NDArray[np.int8]
    """The kind of ``id``, an index into ``packets.ARGUMENTS``."""
    id: I64
    source: I64
    """The index among all host ranges of the trace."""


def _host(trace: Trace, window: Window) -> _Host:
    ops, frames, launches = trace.ops, trace.frames, trace.launches
    tables = (ops, frames, launches)
    rows = [window.rows(trace, table) for table in tables]
    counts = [len(own) for own in rows]

    def joined(*columns: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([c[own] for c, own in zip(columns, rows, strict=True)])

    first = np.cumsum([0, *map(len, tables)])
    source = np.concatenate([own + f for own, f in zip(rows, first[:-1], strict=True)])
    category = np.repeat(np.array([0, 2, 3], np.int8), counts)
    category[: counts[0]] = ops.kind[rows[0]]  # an operator or an annotation
    return _Host(
        ops=rows[0],
        thread=joined(*(t.thread for t in tables)),
        start_ns=joined(*(t.start_ns for t in tables)),
        end_ns=joined(*(t.end_ns for t in tables)),
        name=joined(*(t.name for t in tables)),
        category=category,
        argument=np.repeat(np.arange(3, dtype=np.int8), counts),
        id=joined(ops.external_id, frames.python_id, launches.correlation),
        source=source,
    )


class _Arrows:
    """Links of host ranges: to the device activities that they started, and flows."""

    def __init__(self, trace: Trace, kernels: I64) -> None:
        behind = len(trace.ops) + len(trace.frames)
        launch, op = trace.kernels.launch[kernels], trace.kernels.op[kernels]
        maker = np.where(launch >= 0, launch + np.int64(behind), op)
        order = np.argsort(maker, kind="stable")
        self._maker, self._kernels = maker[order], kernels[order]
        forward = call_tree.forward_of(trace)
        has_sequence = (trace.ops.sequence >= 0) & (trace.ops.forward_thread > 0)
        self._forward = np.where(has_sequence, forward, NONE)
        self._is_forward = np.zeros(len(trace.ops), np.bool_)
        self._is_forward[self._forward[self._forward >= 0]] = True

    def parts(self, source: I64) -> Iterator[EncodedPart]:
        """Yield the link fields of the events of these ranges."""
        op = np.where(source < len(self._forward), source, NONE)
        back = lookup(self._forward, op, NONE)
        for rows, flow in ((lookup(self._is_forward, op, False), op), (back >= 0, back)):
            if rows.any():
                yield only(fixed64(47, flow + np.int64(1)), rows)
        first, last = (np.searchsorted(self._maker, source, side) for side in ("left", "right"))
        arrows_per_range = min(int((last - first).max(initial=0)), _MOST_ARROWS)
        ids = []
        for i in range(arrows_per_range):
            rows = first + i < last
            kernel = self._kernels[np.where(rows, first + i, 0)]
            ids.append(only(varint(1, kernel + 1), rows))
        if ids:
            yield only(message(3000, *ids), last > first)


def _slices(trace: Trace, tracks: Tracks, host: _Host, arrows: _Arrows) -> Iterator[bytes]:
    """Yield the slices of all threads.

    A viewer orders packets of the same time by their place in the file. A range ends before its
    neighbor starts, so a track's ends come before its starts, and the starts in nesting order.
    """
    by_thread = np.argsort(host.thread, kind="stable")
    edges = np.searchsorted(host.thread[by_thread], np.arange(len(trace.threads) + 1))
    for thread in range(len(trace.threads)):
        own = by_thread[edges[thread] : edges[thread + 1]]
        for number, stack in enumerate(nesting.stacks(host.start_ns[own], host.end_ns[own])):
            uuid, descriptor = tracks.stack(thread, number)
            yield descriptor
            track, rows = constant(field(11, uuid)), own[stack]
            for chunk in _chunks(rows[host.end_ns[rows] > host.start_ns[rows]]):
                yield encode(packets.event(SLICE_END, host.end_ns[chunk], track), len(chunk))
            for chunk in _chunks(rows):
                yield encode(_begin(trace, host, arrows, track, chunk), len(chunk))


def _begin(
    trace: Trace, host: _Host, arrows: _Arrows, track: EncodedPart, rows: I64
) -> EncodedPart:
    lasts = host.end_ns[rows] > host.start_ns[rows]
    kind = varint(9, np.where(lasts, SLICE_BEGIN, INSTANT))
    name, id = host.name[rows], host.id[rows]
    parts = [
        kind,
        track,
        varint(3, host.category[rows] + 1),
        only(varint(10, name + 1), name >= 0),
        only(packets.argument(host.argument[rows], varint(3, np.maximum(id, 0))), id >= 0),
        *_shapes(trace.ops, np.where(rows < len(host.ops), rows, NONE), host.ops),
        *arrows.parts(host.source[rows]),
    ]
    return packets.timed(host.start_ns[rows], message(11, *parts))


def _shapes(ops: Ops, at: I64, chosen: I64) -> Iterator[EncodedPart]:
    """Yield the input shapes and types; ``at`` indexes ``chosen``, or is ``NONE``."""
    own = lookup(chosen, at, NONE)
    for name, column in (("Input shapes", ops.shapes), ("Input types", ops.dtypes)):
        string = lookup(column, own, NONE)
        if (string >= 0).any():
            value = varint(17, np.maximum(string, 0) + 1)
            yield only(packets.argument(name, value), string >= 0)


def _device(trace: Trace, names: Names, rows: I64) -> bytes:
    """Encode device activities, grouped by evidence: their arguments depend on it."""
    evidence = trace.kernels.evidence[rows]
    out = []
    for kind in np.unique(evidence).tolist():
        own = rows[evidence == kind]
        out.append(encode(_activity(trace, names, own, EVIDENCE[kind]), len(own)))
    return b"".join(out)


def _activity(trace: Trace, names: Names, rows: I64, evidence: str) -> EncodedPart:
    kernels = trace.kernels
    lane, moved = kernels.lane[rows], kernels.bytes[rows]
    device = trace.lanes.device[lane]
    parts = [
        varint(1, rows + 1),
        varint(2, kernels.end_ns[rows] - kernels.start_ns[rows]),
        varint(13, lane + 1),
        varint(14, names.stage_ids(kernels.name[rows])),
        only(varint(11, np.maximum(device, 0)), device >= 0),
        constant(field(5, packets.CONTEXT)),
    ]
    if (has_size := moved != MISSING).any():
        parts.append(only(_argument("bytes", decimal(np.maximum(moved, 0))), has_size))
    for name, column in work_columns.kernel_columns(trace).items():
        work = column[rows]
        if (known := work != MISSING).any():
            parts.append(only(_argument(name, decimal(np.maximum(work, 0))), known))
    if (linked := kernels.op[rows] >= 0).any():
        parts.append(only(_argument("operator", _operators(trace, kernels.op[rows])), linked))
    if evidence != EVIDENCE[MEASURED]:
        parts.append(_argument("inferred", constant(b"true")))
        parts.append(_argument("evidence", constant(evidence.encode())))
        for name in ("start_bound_ns", "shift_bound_ns", "duration_bound_ns"):
            bound = getattr(kernels, name)[rows]
            parts.append(only(_argument(name, decimal(np.maximum(bound, 0))), bound != MISSING))
    return packets.timed(kernels.start_ns[rows], message(53, *parts))


def _argument(name: str, value: EncodedPart) -> EncodedPart:
    """Build an argument of an activity."""
    return message(6, constant(field(1, name)), message(2, value))


def _operators(trace: Trace, op: NDArray[np.int32]) -> EncodedPart:
    ids, chosen = np.unique(lookup(trace.ops.name, op, NONE), return_inverse=True)
    texts = [trace.text(name)[:_LONGEST].encode("utf-8", "replace") for name in ids]
    return text(chosen, texts)


def _counter(tracks: Tracks, curve: Curve, window: Window, end_ns: int) -> Iterator[bytes]:
    """Yield a curve's changes within the window, or its values in equal parts if too many."""
    start = max(window.start_ns or 0, 0)
    at, values = curve.changes(start, window.end_ns) or curve.parts(
        start, end_ns if window.end_ns is None else min(window.end_ns, end_ns)
    )
    uuid, descriptor = tracks.counter(curve)
    yield descriptor
    track = constant(field(11, uuid))
    is_integer = values.dtype.kind == "i"
    for rows in _chunks(np.arange(len(at))):
        own = values[rows]
        value = (
            varint(30, own) if is_integer else fixed64(44, own.astype(np.float64).view(np.int64))
        )
        part = packets.event(COUNTER, at[rows], track, value)
        yield encode(part, len(rows))
