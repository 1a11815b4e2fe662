"""Guess the purpose of memory: parameters, gradients, optimizer state, activations, …

A saved trace does not record which tensor lies at an address. So the rules use the place of the
allocation and its lifetime (docs/reference/definitions.md). torch's own answer needs the live
profiler (torch/profiler/_memory_profiler.py). A block without a rule is unknown. As in
``allocations``, events are those of one device in order of time.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.memory import allocations, parameter_sizes
from tb_privateuse1.analysis.memory.allocations import (
    EARLIER,
    HELD,
    RELEASED,
    UNKNOWN,
    UNSEEN,
    AllocationLevel,
    Blocks,
)
from tb_privateuse1.analysis.steps import training_phases
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import Memory, Trace
from tb_privateuse1.trace.table import I8, I64

Category = Literal[
    "parameters",
    "optimizer_state",
    "gradients",
    "activations",
    "inputs",
    "temporaries",
    "unknown",
]
"""``parameters`` with the buffers of modules; ``temporaries`` with the gradients of activations."""

CATEGORIES: tuple[Category, ...] = get_args(Category)
PARAMETERS, STATE, GRADIENTS, ACTIVATIONS, INPUTS, TEMPORARIES, UNTOLD = range(len(CATEGORIES))

_MOST_GRANULARITY = 512
"""In bytes: the smallest block of torch's caching allocators (``kMinBlockSize``)."""


class MemoryCategory(Struct, frozen=True):
    """One category of a device's memory in the selected part of the recording."""

    category: Category
    at_peak_bytes: int
    """Alive at the peak of the total; the rows sum to that peak."""
    share: float
    """Of that peak."""
    peak_bytes: int
    """The category's own peak; ``peak_at_ns`` is when it was first reached, null if it is 0."""
    peak_at_ns: int | None
    at_start_bytes: int
    at_end_bytes: int
    allocations: int
    """Allocated in the selected part, like ``allocated_bytes``."""
    allocated_bytes: int


class CategoryPoint(Struct, frozen=True):
    """Bytes of each category from this time to the next point; they sum to the total.

    ``unknown_bytes`` is the rest: negative if releases were not reported.
    """

    time_ns: int
    parameters_bytes: int
    optimizer_state_bytes: int
    gradients_bytes: int
    activations_bytes: int
    inputs_bytes: int
    temporaries_bytes: int
    unknown_bytes: int


class Split(Struct, frozen=True):
    """The category of each block, and the categories of memory from before the recording."""

    of: I8
    before: I64
    """Bytes per category that were allocated before the recording and are not in blocks."""


def categorize(trace: Trace, events: Memory, level: AllocationLevel, blocks: Blocks) -> Split:
    """Return the category of each block."""
    row = np.where(blocks.allocation >= 0, blocks.allocation, blocks.release)
    near = training_phases.phases_around(
        trace, events.op[row], events.thread[row], events.ts_ns[row]
    )
    passes = training_phases.find_passes(trace)
    of = _allocated(trace, events, blocks, near, passes)
    earlier = blocks.fate == EARLIER
    of[earlier] = UNTOLD
    of[earlier & np.isin(near.kind, (training_phases.RESETTING, training_phases.STEPPING))] = (
        GRADIENTS
    )
    of[earlier & (near.kind == training_phases.BACKWARD)] = ACTIVATIONS
    of[np.isin(blocks.fate, (UNSEEN, UNKNOWN))] = UNTOLD
    return Split(of, _before(trace, level, blocks, of, passes))


def _allocated(
    trace: Trace,
    events: Memory,
    blocks: Blocks,
    near: training_phases.Around,
    passes: training_phases.Passes,
) -> I8:
    """Return categories by the place of the allocation and the time of the release."""
    ops, never = trace.ops, np.iinfo(np.int64).max
    at = lookup(events.ts_ns, blocks.allocation, never)
    gone = lookup(events.ts_ns, blocks.gone, never)
    known = np.isin(blocks.fate, (RELEASED, HELD))
    short = gone <= lookup(ops.end_ns, near.outermost, np.iinfo(np.int64).min)
    outlives = gone > lookup(ops.end_ns, near.row, never)

    count = len(passes.end_ns)
    k = np.searchsorted(passes.end_ns, at, side="right")
    pad = [np.append(c, never) for c in (passes.forward_ns, passes.backward_ns, passes.end_ns)]
    forward = (k < count) & (at >= pad[0][k]) & (at < pad[1][k])
    # If the recording stops within a backward pass, lifetimes in it are not known.
    last = int(ops.end_ns.max(initial=0))
    whole = (blocks.fate == RELEASED) | (pad[2][k] < last)

    began = np.sort(np.concatenate((passes.forward_ns, _module_starts(trace))))
    following = lookup(began, np.searchsorted(began, at), never)
    steps = np.sort(ops.end_ns[training_phases.phase_kinds(trace) == training_phases.STEPPING])
    stepped = lookup(steps, np.searchsorted(steps, at), never) <= following
    lasting = (blocks.fate == HELD) & ((count < 2) | (k < count - 1))
    fed = (gone > following) & (following < never) & ~(stepped & (len(steps) > 0)) & ~lasting

    rules = (
        (~known, UNTOLD),
        ((near.kind == training_phases.BACKWARD) & (gone <= pad[2][k]), TEMPORARIES),
        ((near.kind == training_phases.BACKWARD) & whole, GRADIENTS),
        (near.kind == training_phases.BACKWARD, UNTOLD),
        ((near.kind == training_phases.STEPPING) & outlives, STATE),
        ((near.kind == training_phases.LOADING) & outlives, INPUTS),
        (near.kind != -1, TEMPORARIES),
        (short, TEMPORARIES),
        (near.makes_module, PARAMETERS),
        (forward | near.in_module, ACTIVATIONS),
        (fed, INPUTS),
    )
    return np.select([c for c, _ in rules], [v for _, v in rules], UNTOLD).astype(np.int8)


def _module_starts(trace: Trace) -> I64:
    """Return where calls of outermost modules start."""
    frames, module = trace.frames, call_tree.is_module(trace)
    if not module.any():
        return np.empty(0, np.int64)
    return intervals.union(frames.start_ns[module], frames.end_ns[module])[0]


def _before(
    trace: Trace, level: AllocationLevel, blocks: Blocks, of: I8, passes: training_phases.Passes
) -> I64:
    """Return by category the bytes from before the recording that stay allocated.

    Each parameter with a gradient is as large as that gradient, whose accumulation records its
    shape. Optimizers hold a known number of tensors of that size. All are 0 if several devices
    could hold them.
    """
    known = np.zeros(len(CATEGORIES), np.int64)
    rest = level.before - int(blocks.bytes[blocks.fate == EARLIER].sum())
    devices = [d for d in allocations.memory_devices(trace.memory) if d[0] != allocations.CPU]
    if rest <= 0 or not level.has_totals or len(devices) > 1:
        return known
    made = [int(blocks.bytes[of == c].sum()) for c in range(len(CATEGORIES))]
    grain = math.gcd(int(np.gcd.reduce(blocks.bytes)) if len(blocks) else 1, _MOST_GRANULARITY)
    whole, existing = parameter_sizes.gradient_bytes(trace, passes, grain)
    released = int(blocks.bytes[(of == GRADIENTS) & (blocks.fate == EARLIER)].sum())
    for category, size in (
        (PARAMETERS, whole - made[PARAMETERS]),
        (STATE, whole * parameter_sizes.optimizer_states(trace) - made[STATE]),
        (GRADIENTS, existing - released),
    ):
        known[category] = min(max(size, 0), rest)
        rest -= int(known[category])
    return known


def category_curves(events: Memory, level: AllocationLevel, blocks: Blocks, split: Split) -> I64:
    """Return bytes by category (rows): before the first entry of ``level``, then from each on."""
    n = len(events)
    change = np.zeros((len(CATEGORIES), n + 1), np.int64)
    start = split.before.copy()
    for category in range(UNTOLD):
        members = split.of == category
        made = members & (blocks.allocation >= 0)
        np.add.at(change[category], blocks.allocation[made], blocks.bytes[made])
        np.subtract.at(change[category], blocks.gone[members], blocks.bytes[members])
        start[category] += int(blocks.bytes[members & (blocks.fate == EARLIER)].sum())
    after = np.cumsum(change[:, :n], axis=1)[:, level.rows] + start[:, None]
    total: I64 = np.concatenate((start[:, None], after), axis=1)
    whole = np.concatenate(([level.before], level.allocated))
    total[UNTOLD] = whole - total[:UNTOLD].sum(axis=0)
    return total


def category_rows(
    level: AllocationLevel,
    events: Memory,
    blocks: Blocks,
    split: Split,
    start: int,
    end: int,
    points: int,
) -> tuple[tuple[MemoryCategory, ...], tuple[CategoryPoint, ...]]:
    """Return a row per category, and at most ``points`` points of the curve in [start, end).

    Empty without totals or addresses.
    """
    if not level.has_totals or not len(level.rows) or (blocks.fate == UNKNOWN).all():
        return (), ()
    total = category_curves(events, level, blocks, split)
    low, high = np.searchsorted(level.at_ns, (start, end)).tolist()
    part = total[:, low : high + 1]
    times = np.concatenate(([start], level.at_ns[low:high]))
    peak = int(part.sum(axis=0).argmax())
    whole = int(part[:, peak].sum())
    made = np.where(blocks.allocation >= 0, blocks.allocation, 0)
    at = events.ts_ns[made]
    inside = (blocks.allocation >= 0) & (at >= start) & (at < end)
    rows = []
    for i, name in enumerate(CATEGORIES):
        most = int(part[i].argmax())
        members = inside & (split.of == i)
        rows.append(
            MemoryCategory(
                category=name,
                at_peak_bytes=int(part[i, peak]),
                share=int(part[i, peak]) / whole if whole else 0.0,
                peak_bytes=int(part[i, most]),
                peak_at_ns=int(times[most]) if part[i, most] else None,
                at_start_bytes=int(part[i, 0]),
                at_end_bytes=int(part[i, -1]),
                allocations=int(members.sum()),
                allocated_bytes=int(blocks.bytes[members].sum()),
            )
        )
    return tuple(rows), _curve(level, total, low, high, start, end, points)


def _curve(
    level: AllocationLevel, total: I64, low: int, high: int, start: int, end: int, points: int
) -> tuple[CategoryPoint, ...]:
    at, part = level.at_ns[low:high], total[:, low + 1 : high + 1]
    chosen = allocations.thin_out(at, (*part, part.sum(axis=0)), points - 2)
    columns = np.concatenate(([low], low + 1 + chosen, [high]))
    times = np.concatenate(([start], at[chosen], [end]))
    return tuple(
        CategoryPoint(time, *sizes)
        for time, sizes in zip(times.tolist(), total[:, columns].T.tolist(), strict=True)
    )
