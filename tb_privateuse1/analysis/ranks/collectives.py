"""Reduce each rank's trace to its steps and collectives, and match collectives across ranks.

The last rank to arrive at a collective does not wait: its duration is the transfer, and the others'
additional time is waiting. That needs no common clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tb_privateuse1.analysis.ranks import host_causes
from tb_privateuse1.analysis.ranks.group_parts import GroupParts, reduce_groups
from tb_privateuse1.analysis.ranks.host_causes import HostParts
from tb_privateuse1.analysis.ranks.recorder_entries import RankEntries, reduce_entries
from tb_privateuse1.analysis.ranks.step_parts import (
    StepParts,
    StepTime,
    rank_activity,
    step_parts,
)
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.trace import device_times
from tb_privateuse1.trace.columns import lookup, starts_run
from tb_privateuse1.trace.groupby import group_rows, maxima, minima
from tb_privateuse1.trace.model import MISSING, NONE, Timeline, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

SYMMETRIC = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")
"""Collectives that no rank can leave before all have arrived; a broadcast's root may."""


class Calls(Struct, frozen=True):
    """Communications as columns; ``step`` and ``shape`` are indices into the part's tuples."""

    step: I32
    shape: I32
    duration_ns: I64
    end_ns: I64
    """On the trace's own clock, since its start."""


class Label(Struct, frozen=True):
    """Kind, process group and place of a communication, equal on every rank."""

    kind: str
    group: str
    purpose: str
    on_host: bool


class Shape(Struct, frozen=True):
    """Label and sizes of a communication; bytes may differ between ranks. None is unknown."""

    label: Label
    group_size: int | None
    bytes: int | None


class WindowParts(Struct, frozen=True):
    """The columns of a rank that differ between windows."""

    steps: StepParts
    host: HostParts
    by_group: GroupParts


class RankPart(Struct, frozen=True):
    """The reduced trace of one rank; the figures by step are those of its steady window."""

    timeline: Timeline
    base_ns: int
    """Absolute time of the trace's 0, by its own clock."""
    files: tuple[str, ...]
    hostname: str | None
    world_size: int | None
    on_host: bool
    """Without a device, operators are the computation."""
    steps: StepParts
    shapes: tuple[Shape, ...]
    calls: Calls
    host: HostParts
    missing: tuple[str, ...] = ()
    """The streams whose work has no times: figures of the device are lower bounds."""
    entries: RankEntries | None = None
    """Of its flight recorder, where there is one."""
    by_group: GroupParts = field(default_factory=GroupParts)
    """What figures by process group need beside the calls."""
    whole: WindowParts | None = None
    """The figures of the whole recording; null where its steady window is all of it."""


def of_whole_recording(part: RankPart) -> RankPart:
    """Return the part with the figures of the whole recording."""
    if part.whole is None:
        return part
    whole = part.whole
    return replace(part, steps=whole.steps, host=whole.host, by_group=whole.by_group, whole=None)


def reduce_trace(trace: Trace) -> RankPart:
    """Return the part of one rank's trace that views of all ranks need."""
    shapes, calls = _calls(trace)
    meta = trace.meta
    spans = calls.end_ns - calls.duration_ns, calls.end_ns
    activity = rank_activity(trace)
    steady, everything = StepTime.of(Window(trace, "steady")), StepTime.of(Window(trace, "all"))

    def parts(time: StepTime) -> WindowParts:
        return WindowParts(
            step_parts(trace, activity, time),
            host_causes.find_host_causes(trace, activity, time),
            reduce_groups(trace, spans, calls.step, calls.shape, activity, time),
        )

    own = parts(steady)
    return RankPart(
        timeline=meta.timeline,
        base_ns=trace.base_ns,
        files=meta.files,
        hostname=meta.hostname,
        world_size=meta.world_size,
        on_host=device_times.known_times(trace) == "host",
        steps=own.steps,
        shapes=shapes,
        calls=calls,
        host=own.host,
        missing=device_times.missing_streams(trace),
        entries=reduce_entries(trace),
        by_group=own.by_group,
        whole=None if steady.equals(everything) else parts(everything),
    )


def _calls(trace: Trace) -> tuple[tuple[Shape, ...], Calls]:
    """Return the calls by start; each kernel of an operator is a call."""
    c, kernels, ops = trace.collectives, trace.kernels, trace.ops
    device = c.kernel >= 0
    duration, end = np.zeros(len(c), np.int64), np.zeros(len(c), np.int64)
    step = np.full(len(c), NONE, np.int32)
    for table, row, here in ((kernels, c.kernel, device), (ops, c.op, ~device)):
        chosen = row[here]
        end[here] = table.end_ns[chosen]
        duration[here] = end[here] - table.start_ns[chosen]
        step[here] = table.step[chosen]
    first, shape = group_rows(c.kind, c.group, c.purpose, device, c.group_size, c.bytes)
    columns = (c.kind, c.group, c.purpose, device, c.group_size, c.bytes)
    shapes = tuple(
        Shape(
            Label(trace.text(kind), trace.text(group), trace.text(purpose), not on_device),
            None if size == MISSING else size,
            None if count == MISSING else count,
        )
        for kind, group, purpose, on_device, size, count in zip(
            *(column[first].tolist() for column in columns), strict=True
        )
    )
    return shapes, Calls(step, shape.astype(np.int32), duration, end)


class MatchedCalls(Struct, frozen=True):
    """The calls of all ranks as columns; calls of the same collective have one ``match``."""

    rank: I32
    """The index of the part."""
    step: I32
    """Index into ``step_names``, ``NONE`` outside of all steps."""
    row: I32
    """The step's row in the concatenated steps of all parts; ``NONE`` outside."""
    shape: I32
    duration_ns: I64
    end_ns: I64
    match: I32
    """``NONE`` if the call is on one rank only, or is ambiguous."""
    transfer_ns: I64
    """The least duration among the ranks; without a match its own."""
    last: Bools
    """Whether it is the rank that the others waited for."""
    shapes: tuple[Shape, ...]
    step_names: tuple[str, ...]
    uneven: int
    """Kinds of calls in a step whose number differs between ranks: not matched."""


def match_calls(parts: Sequence[RankPart]) -> MatchedCalls:
    """Match the calls of several ranks.

    The same collective is the n-th of its kind and process group within a step. If ranks have
    different numbers of calls, or more ranks take part than the group has members, these calls are
    not matched.
    """
    shapes = tuple(dict.fromkeys(shape for part in parts for shape in part.shapes))
    names = tuple(dict.fromkeys(name for part in parts for name in part.steps.names))
    shape_of = {shape: i for i, shape in enumerate(shapes)}
    name_of = {name: i for i, name in enumerate(names)}
    # The numbers of each part's own steps and shapes, one part after the other.
    own_steps = _joined([[name_of[name] for name in part.steps.names] for part in parts])
    own_shapes = _joined([[shape_of[shape] for shape in part.shapes] for part in parts])
    counts = [len(part.calls.step) for part in parts]
    rank = np.repeat(np.arange(len(parts), dtype=np.int32), counts)
    first_step = np.cumsum([0, *(len(part.steps.names) for part in parts)])
    first_shape = np.cumsum([0, *(len(part.shapes) for part in parts)])
    empty = np.empty(0, np.int32)
    at = np.concatenate([empty, *(part.calls.step for part in parts)])
    row = np.where(at >= 0, at + first_step[rank], NONE).astype(np.int32)
    step = own_steps[row]
    at = np.concatenate([empty, *(part.calls.shape for part in parts)])
    shape = own_shapes[np.where(at >= 0, at + first_shape[rank], NONE)]
    none = np.empty(0, np.int64)
    duration = np.concatenate([none, *(part.calls.duration_ns for part in parts)])
    end = np.concatenate([none, *(part.calls.end_ns for part in parts)])
    match, uneven = _all_matches(rank, step, shape, shapes)
    transfer, last = _shortest(match, duration)
    return MatchedCalls(
        rank, step, row, shape, duration, end, match, transfer, last, shapes, names, uneven
    )  # fmt: skip


def _joined(numbers: Sequence[Sequence[int]]) -> I32:
    """Return all numbers in one column, with ``NONE`` at its end."""
    return np.array([*chain.from_iterable(numbers), NONE], np.int32)


def drop_matches(calls: MatchedCalls, apart: Bools) -> MatchedCalls:
    """Return the calls without the matches that are ``apart``."""
    if not apart.any():
        return calls
    match = np.where(lookup(apart, calls.match, False), NONE, calls.match).astype(np.int32)
    _, number = np.unique(match[match >= 0], return_inverse=True)
    match[match >= 0] = number
    transfer, last = _shortest(match, calls.duration_ns)
    return replace(calls, match=match, transfer_ns=transfer, last=last)


def _all_matches(rank: I32, step: I32, shape: I32, shapes: tuple[Shape, ...]) -> tuple[I32, int]:
    labels = {one: i for i, one in enumerate(dict.fromkeys(one.label for one in shapes))}
    label = np.array([labels[one.label] for one in shapes] + [NONE], np.int32)[shape]
    size = np.array([one.group_size or 0 for one in shapes] + [0], np.int64)[shape]
    comparable = np.array([one.label.kind in SYMMETRIC for one in shapes] + [False], np.bool_)
    chosen = np.flatnonzero(comparable[shape] & (step >= 0))
    match, uneven = _matches(rank[chosen], step[chosen], label[chosen], size[chosen])
    whole = np.full(len(rank), NONE, np.int32)
    whole[chosen] = match
    return whole, uneven


def _matches(rank: I32, step: I32, label: I32, size: I64) -> tuple[I32, int]:
    """Return the match of each call, and how many (step, label) have different numbers of calls."""
    if not len(rank):
        return np.empty(0, np.int32), 0
    key = step.astype(np.int64) * (int(label.max()) + 1) + label
    order = np.lexsort((np.arange(len(key)), rank, key))
    k, r = key[order], rank[order]
    first = starts_run(k, r)
    start = np.maximum.accumulate(np.where(first, np.arange(len(k)), 0))
    nth = np.arange(len(k)) - start
    runs = np.flatnonzero(first)
    counts = np.diff(runs, append=len(k))
    keys, member = np.unique(k[runs], return_inverse=True)
    most, least = maxima(member, counts, len(keys)), minima(member, counts, len(keys))
    ranks = np.bincount(member)
    at = np.searchsorted(keys, k)
    known = size[order] > 0
    room = minima(at[known], size[order][known], len(keys))
    even = most == least
    fine = even & (ranks > 1) & (ranks <= room)
    offsets = np.cumsum(np.where(fine, most, 0)) - np.where(fine, most, 0)
    match = np.full(len(k), NONE, np.int32)
    match[order] = np.where(fine[at], offsets[at] + nth, NONE)
    return match, int((~even & (ranks > 1)).sum())


def _shortest(match: I32, duration: I64) -> tuple[I64, Bools]:
    """Return the least duration of each match, and the first call that has it."""
    transfer, last = duration.copy(), np.zeros(len(match), np.bool_)
    rows = np.flatnonzero(match >= 0)
    least = minima(match, duration, int(match.max(initial=NONE)) + 1)
    transfer[rows] = least[match[rows]]
    had = rows[duration[rows] == transfer[rows]][::-1]
    who = np.zeros(len(least), np.int64)
    who[match[had]] = had  # reversed, so that the first of equal ones is written last
    last[who] = True
    return transfer, last
