"""All ranks of a run together: what is kept of each, and the same collective matched across them.

The one that arrives last at a collective waits for nobody: its duration is the transfer, and what
the others take longer they have waited for it. That needs no common clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tb_privateuse1 import breakdown, intervals, stepbounds
from tb_privateuse1.trace import (
    I32,
    I64,
    NONE,
    OPERATOR,
    Bools,
    Timeline,
    Trace,
)

SYMMETRIC = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")
"""Collectives that no rank can leave before all have come; a broadcast's root may."""


@dataclass(frozen=True)
class StepParts:
    """The steps of one rank as columns: ``computation_ns`` and what follows but ``overlap_ns`` and
    ``communication_ns``, with what of the latter is no overlap, sum to ``duration_ns``.
    """

    names: tuple[str, ...]
    duration_ns: I64
    computation_ns: I64
    communication_ns: I64
    overlap_ns: I64
    copy_ns: I64
    idle_ns: I64
    incomplete: Bools
    bounds: Mapping[str, I64]
    """How far off each of ``stepbounds.RANK`` may be; ``MISSING`` where that is not known."""


@dataclass(frozen=True)
class Calls:
    """Communications as columns; ``step`` and ``label`` are indices into the part's tuples."""

    step: I32
    label: I32
    group_size: I64
    bytes: I64
    duration_ns: I64


@dataclass(frozen=True)
class Label:
    """What a communication is called on every rank."""

    kind: str
    group: str
    purpose: str
    on_host: bool


@dataclass(frozen=True)
class Part:
    """What is kept of one rank's trace."""

    timeline: Timeline
    files: tuple[str, ...]
    hostname: str | None
    world_size: int | None
    on_host: bool
    """Without a device, what the operators take is the computation."""
    steps: StepParts
    labels: tuple[Label, ...]
    calls: Calls


def reduce(trace: Trace) -> Part:
    """What a view of all ranks needs of one."""
    labels, calls = _calls(trace)
    meta = trace.meta
    return Part(
        timeline=meta.timeline,
        files=meta.files,
        hostname=meta.hostname,
        world_size=meta.world_size,
        on_host=not len(trace.kernels),
        steps=_steps(trace),
        labels=labels,
        calls=calls,
    )


def _steps(trace: Trace) -> StepParts:
    kernels, ops, steps = trace.kernels, trace.ops, trace.steps
    talk = breakdown.communication(trace)
    if len(kernels):
        work = breakdown.busy(breakdown.compute(kernels))
        copies = breakdown.busy(kernels)
    else:
        hosted = np.zeros(len(ops), np.bool_)
        hosted[trace.collectives.op[trace.collectives.op >= 0]] = True
        own = (ops.kind == OPERATOR) & ~hosted
        work = copies = intervals.union(ops.start_ns[own], ops.end_ns[own])
    either = intervals.merge(work, talk)

    def inside(one: intervals.Set) -> I64:
        return intervals.covered(one, steps.start_ns, steps.end_ns)

    duration, busy = steps.end_ns - steps.start_ns, inside(intervals.merge(either, copies))
    return StepParts(
        names=tuple(map(trace.text, steps.name)),
        duration_ns=duration,
        computation_ns=inside(work),
        communication_ns=inside(talk),
        overlap_ns=inside(intervals.intersect(work, talk)),
        copy_ns=busy - inside(either),
        idle_ns=duration - busy,
        incomplete=steps.incomplete.copy(),
        bounds=stepbounds.of_rank(trace),
    )


def _calls(trace: Trace) -> tuple[tuple[Label, ...], Calls]:
    """By start. Of several kernels of one operator each is a call."""
    c, kernels, ops = trace.collectives, trace.kernels, trace.ops
    device = c.kernel >= 0
    duration = np.zeros(len(c), np.int64)
    step = np.full(len(c), NONE, np.int32)
    for table, row, mine in ((kernels, c.kernel, device), (ops, c.op, ~device)):
        chosen = row[mine]
        duration[mine] = table.end_ns[chosen] - table.start_ns[chosen]
        step[mine] = table.step[chosen]
    columns = np.stack((c.kind, c.group, c.purpose, ~device)).astype(np.int64)
    found, label = np.unique(columns, axis=1, return_inverse=True)
    labels = tuple(
        Label(trace.text(int(k)), trace.text(int(g)), trace.text(int(p)), bool(h))
        for k, g, p, h in found.T
    )
    numbers = np.asarray(label.reshape(-1), np.int32)
    return labels, Calls(step, numbers, c.group_size.copy(), c.bytes.copy(), duration)


@dataclass(frozen=True)
class Together:
    """The calls of all ranks as columns; what several ranks share has one ``match``."""

    rank: I32
    """The index of the part."""
    step: I32
    """Index into ``step_names``, ``NONE`` outside of all steps."""
    row: I32
    """The step's row where the steps of all parts stand one after the other; ``NONE`` outside."""
    label: I32
    group_size: I64
    bytes: I64
    duration_ns: I64
    match: I32
    """``NONE`` where the call is on one rank only, or cannot be told from another."""
    transfer_ns: I64
    """The least duration among the ranks; its own one without a match."""
    last: Bools
    """The rank that the others have waited for."""
    labels: tuple[Label, ...]
    step_names: tuple[str, ...]
    uneven: int
    """Kinds of calls of a step of which ranks have different numbers: not matched."""


def together(parts: Sequence[Part]) -> Together:
    """Match the calls of several ranks.

    The same collective is the n-th of its kind and process group within a step. Where ranks have
    different numbers of these, or more ranks than the group has members, nothing is matched.
    """
    labels = tuple(dict.fromkeys(label for part in parts for label in part.labels))
    names = tuple(dict.fromkeys(name for part in parts for name in part.steps.names))
    label_of = {label: i for i, label in enumerate(labels)}
    name_of = {name: i for i, name in enumerate(names)}
    empty = np.empty(0, np.int64)
    ranks, steps, rows, which = [empty], [empty], [empty], [empty]
    before = 0
    for i, part in enumerate(parts):
        at = part.calls.step
        own = np.array([name_of[name] for name in part.steps.names] + [NONE], np.int64)
        told = np.array([label_of[label] for label in part.labels] + [NONE], np.int64)
        ranks.append(np.full(len(at), i))
        steps.append(own[at])
        rows.append(np.where(at >= 0, at + before, NONE))
        before += len(part.steps.names)
        which.append(told[part.calls.label])

    def joined(name: str) -> I64:
        return np.concatenate([empty, *(getattr(part.calls, name) for part in parts)])

    rank, step, row, label = (
        np.concatenate(columns).astype(np.int32) for columns in (ranks, steps, rows, which)
    )
    duration, size = joined("duration_ns"), joined("group_size")
    comparable = np.array([one.kind in SYMMETRIC for one in labels] + [False], np.bool_)
    chosen = np.flatnonzero(comparable[label] & (step >= 0))
    match, uneven = _matches(rank[chosen], step[chosen], label[chosen], size[chosen])
    whole = np.full(len(rank), NONE, np.int32)
    whole[chosen] = match
    transfer, last = _shortest(whole, duration)
    return Together(
        rank,
        step,
        row,
        label,
        size,
        joined("bytes"),
        duration,
        whole,
        transfer,
        last,
        labels,
        names,
        uneven,
    )


def _matches(rank: I32, step: I32, label: I32, size: I64) -> tuple[I32, int]:
    """The match of each call, and how many (step, label) were not matched for their numbers."""
    if not len(rank):
        return np.empty(0, np.int32), 0
    key = step.astype(np.int64) * (int(label.max()) + 1) + label
    order = np.lexsort((np.arange(len(key)), rank, key))
    k, r = key[order], rank[order]
    first = np.concatenate(([True], (k[1:] != k[:-1]) | (r[1:] != r[:-1])))
    start = np.maximum.accumulate(np.where(first, np.arange(len(k)), 0))
    nth = np.arange(len(k)) - start
    runs = np.flatnonzero(first)
    counts = np.diff(np.append(runs, len(k)))
    keys, member = np.unique(k[runs], return_inverse=True)
    most, least = np.zeros(len(keys), np.int64), np.full(len(keys), len(k))
    np.maximum.at(most, member, counts)
    np.minimum.at(least, member, counts)
    ranks = np.bincount(member)
    room = np.full(len(keys), np.iinfo(np.int64).max)
    at = np.searchsorted(keys, k)
    known = size[order] > 0
    np.minimum.at(room, at[known], size[order][known])
    even = most == least
    fine = even & (ranks > 1) & (ranks <= room)
    offsets = np.cumsum(np.where(fine, most, 0)) - np.where(fine, most, 0)
    match = np.full(len(k), NONE, np.int32)
    match[order] = np.where(fine[at], offsets[at] + nth, NONE)
    return match, int((~even & (ranks > 1)).sum())


def _shortest(match: I32, duration: I64) -> tuple[I64, Bools]:
    """The least duration of each match, and which call has it."""
    transfer, last = duration.copy(), np.zeros(len(match), np.bool_)
    rows = np.flatnonzero(match >= 0)
    if len(rows):
        order = rows[np.lexsort((duration[rows], match[rows]))]
        first = np.concatenate(([True], match[order][1:] != match[order][:-1]))
        least = order[first]
        last[least] = True
        transfer[order] = duration[least][np.cumsum(first) - 1]
    return transfer, last
