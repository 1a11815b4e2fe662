"""Find memory of the previous step that fills the peak of a step, although nothing can read it.

A name in Python holds a tensor until it gets its next value: the result of one step stays until the
same operator of the next one has made its successor. Gradients stay until they are reset. A trace
has no addresses of inputs. So a block may be read if any operator reads a tensor of its size. With
an execution trace it is known who reads it.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.memory import block_storages, by_operator, categories
from tb_privateuse1.analysis.memory.allocations import RELEASED, AllocationLevel, Blocks
from tb_privateuse1.analysis.memory.categories import Split
from tb_privateuse1.analysis.steps import training_phases
from tb_privateuse1.analysis.work.arguments import ITEM_BYTES
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace.columns import latest_not_after, lookup
from tb_privateuse1.trace.groupby import distinct_values, group_rows
from tb_privateuse1.trace.model import NONE, Memory, Trace
from tb_privateuse1.trace.table import I64, Bools, StepRow64, Table

_ROUNDING = 512
"""Allocators round sizes up to this many bytes, and to an eighth of large ones."""

_ANY_ITEM = (1, 2, 4, 8)
"""Bytes of an element of an unknown type."""


class LateReleases(Table, frozen=True):
    """Blocks of the previous step that are alive at a step's peak and not read any more.

    ``block`` is a row of the blocks, ``step`` that of ``trace.steps`` with the peak. A ``gradient``
    was reset behind the peak. ``followed``: an execution trace says that nothing reads it.
    """

    block: I64
    step: StepRow64
    gradient: Bools
    followed: Bools


class _Lives(Struct, frozen=True):
    """By block: the step of its allocation and of its release (``NONE`` without), and its twin.

    ``twin_ns`` is the first allocation of as many bytes by the same operator in the latter step.
    """

    made: I64
    freed: I64
    gone_ns: I64
    twin_ns: I64


def late_releases(
    trace: Trace, events: Memory, level: AllocationLevel, blocks: Blocks, split: Split, steps: I64
) -> LateReleases:
    """Return late releases at the peaks of some ``steps`` (rows of ``trace.steps``).

    ``events`` are those of one device in order of time.
    """
    lives = _lives(trace, events, blocks)
    late = (lives.made != NONE) & (lives.made == lives.freed - 1) & np.isin(lives.freed, steps)
    rows = np.flatnonzero(late)
    begin, end = trace.steps.host_start_ns, trace.steps.host_end_ns
    found = np.zeros(len(rows), np.bool_)
    for step in distinct_values(lives.freed[rows]).tolist():
        peak = level.peak(int(begin[step]), int(end[step]))
        if peak is not None:
            at = level.rows[peak]
            own = lives.freed[rows] == step
            found |= own & (blocks.allocation[rows] <= at) & (blocks.release[rows] > at)
    rows = rows[found]
    gradient = (split.of[rows] == categories.GRADIENTS) & _resets(trace, events, blocks, rows)
    storage = block_storages.block_storages(trace, events, blocks)[rows]
    begins, gone = begin[lives.freed[rows]], lives.gone_ns[rows]
    followed = (storage >= 0) & block_storages.is_covered(trace, begins, gone)
    used = block_storages.is_used(trace, storage, begins, gone)
    read = np.where(followed, used, _is_read(trace, blocks, lives, rows))
    bound = (lives.twin_ns[rows] < gone) & ~read
    kept = gradient | (bound & (split.of[rows] != categories.GRADIENTS))
    return LateReleases(rows[kept], lives.freed[rows][kept], gradient[kept], followed[kept])


def _lives(trace: Trace, events: Memory, blocks: Blocks) -> _Lives:
    begin = trace.steps.host_start_ns
    last = np.iinfo(np.int64).max
    has = (blocks.allocation >= 0) & (blocks.fate == RELEASED)
    at = np.where(has, events.ts_ns[blocks.allocation], -1)
    gone = np.where(has, events.ts_ns[blocks.release], last)
    made = np.where(has, latest_not_after(begin, at), NONE)
    freed = np.where(has, latest_not_after(begin, gone), NONE)
    freed[has & (gone >= lookup(trace.steps.host_end_ns, freed, -1))] = NONE
    allocated = np.flatnonzero(blocks.allocation >= 0)
    owner = by_operator.owning_operators(trace, events.op[blocks.allocation[allocated]])
    name = lookup(trace.ops.name, owner, NONE)
    kind = np.full(len(blocks), NONE)
    first, kind[allocated] = group_rows(name, blocks.bytes[allocated])
    times = events.ts_ns[blocks.allocation[allocated]]
    # Kinds one after the other, each in order of time; a key for both.
    span = int(times.max(initial=0)) + 2
    keys = np.sort(kind[allocated] * span + times)
    wanted = np.flatnonzero(has & (freed != NONE) & (kind != NONE))
    since = kind[wanted] * span + np.minimum(begin[freed[wanted]], span - 1)
    place = np.searchsorted(keys, since)
    key = lookup(keys, place, len(first) * span)
    twin = np.full(len(blocks), last)
    twin[wanted] = np.where(key // span == kind[wanted], key % span, last)
    return _Lives(made, freed, gone, twin)


def _resets(trace: Trace, events: Memory, blocks: Blocks, rows: I64) -> Bools:
    """Return which blocks were released while an optimizer reset its gradients."""
    at = blocks.release[rows]
    near = training_phases.phases_around(trace, events.op[at], events.thread[at], events.ts_ns[at])
    resets: Bools = near.kind == training_phases.RESETTING
    return resets


def _is_read(trace: Trace, blocks: Blocks, lives: _Lives, rows: I64) -> Bools:
    """Return which blocks an operator may read in their last step, before their twin."""
    ops = trace.ops
    shaped = np.flatnonzero(ops.shapes >= 0)
    shaped = shaped[np.argsort(ops.start_ns[shaped], kind="stable")]
    first, signature = group_rows(ops.shapes[shaped], ops.dtypes[shaped])
    sizes = [_sizes(trace, row) for row in shaped[first].tolist()]
    begin = trace.steps.host_start_ns[lives.freed[rows]]
    read = np.zeros(len(rows), np.bool_)
    for size in distinct_values(blocks.bytes[rows]).tolist():
        least = size - max(_ROUNDING, size // 8)
        fits = np.array([bool(((own > least) & (own <= size)).any()) for own in sizes], np.bool_)
        times = ops.start_ns[shaped][fits[signature]] if len(sizes) else ops.start_ns[:0]
        own = blocks.bytes[rows] == size
        before = np.searchsorted(times, begin[own])
        until = np.searchsorted(times, lives.twin_ns[rows][own])
        # The operator that makes the twin began before it, and may read as many bytes: it counts.
        read[own] = until > before
    return read


def _sizes(trace: Trace, row: int) -> I64:
    """Return the bytes of each tensor that an operator may read.

    A tensor without a type, as in a list, may have any.
    """
    found: list[int] = []
    call = read_call(trace, row)
    for tensor in () if call is None else call.tensors():
        known = ITEM_BYTES.get(tensor.dtype, 0)
        found += [tensor.numel * size for size in ((known,) if known else _ANY_ITEM)]
    return np.array(found, np.int64)
