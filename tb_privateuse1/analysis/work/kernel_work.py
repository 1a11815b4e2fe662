"""Share the work of operators among their device activities."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.analysis.work.replays import with_replays, working_operators
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import KERNEL, MISSING, NONE, Trace
from tb_privateuse1.trace.table import I8, I32, I64, Bools, MaybeOpRow, Table


class KernelWork(Table, frozen=True):
    """The work of each row of ``trace.kernels``; ``MISSING`` is unknown.

    ``op`` is the operator whose work it does a part of, or ``NONE``. The parts of an operator's
    activities are by their duration, and add up to its work exactly. Copies and fills have no part
    in the work of an operator that computes; if it has no other activity, its kernel was lost.
    Activities of a graph's replay do the work of the operators of its capture; ``op`` is ``NONE``.
    """

    op: MaybeOpRow
    flops: I64
    read_bytes: I64
    written_bytes: I64
    matrix: Bools
    dtype: I8
    at_most: Bools


@memoize
def kernel_work(trace: Trace) -> KernelWork:
    """Return the work of each device activity; communication has none (``collectives``)."""
    work, kernels = operator_work(trace), trace.kernels
    launcher = np.where(kernels.communication, NONE, kernels.op).astype(np.int32)
    own = working_operators(trace.ops.parent, work.known, launcher)
    op, work = with_replays(trace, own, work)
    works = (kernels.kind == KERNEL) | ~lookup(work.flops > 0, op, False)
    op = np.where(_has_worker(op, works), op, NONE).astype(np.int32)
    weight = np.where(works, np.maximum(kernels.end_ns - kernels.start_ns, 1), 0)
    order, shares = _shares(op, weight)

    def share(column: I64) -> I64:
        result = np.full(len(kernels), MISSING, np.int64)
        total = column[op[order]]
        there = total != MISSING
        before, after = shares
        first, last = _part(total, before), _part(total, after)
        result[order[there]] = (last - first)[there]
        return result

    return KernelWork(
        op=np.where(op < len(trace.ops), op, NONE).astype(np.int32),
        flops=share(work.flops),
        read_bytes=share(work.read_bytes),
        written_bytes=share(work.written_bytes),
        matrix=lookup(work.matrix, op, False),
        dtype=lookup(work.dtype, op, 0),
        at_most=lookup(work.at_most, op, False),
    )


def _has_worker(op: I32, works: Bools) -> Bools:
    """Return which activities belong to an operator with one that works."""
    worked = np.zeros(int(op.max(initial=-1)) + 2, np.bool_)
    worked[op[works]] = True
    worked[-1] = False
    found: Bools = worked[op]
    return found


def _shares(op: I32, weights: I64) -> tuple[I64, tuple[I64, I64]]:
    """Return the activities of operators in order, and their shares as (before, after).

    They are in units of 2^-30 of the operator's work: cumulated durations, so that the last one of
    an operator ends at 2^30.
    """
    rows = np.flatnonzero(op >= 0)
    order = rows[np.argsort(op[rows], kind="stable")]
    owner = op[order]
    weight = weights[order]
    total = sums(owner, weight, int(owner.max(initial=-1)) + 1)[owner]
    running = np.cumsum(weight)
    new = np.diff(owner, prepend=-1) != 0
    start = np.maximum.accumulate(np.where(new, np.arange(len(owner)), 0))
    after = running - (running[start] - weight[start])
    before = after - weight
    return order, (_scaled(before, total), _scaled(after, total))


_UNIT_BITS = 30
"""Work is below 2^62: its bits above these, times a share, remain below 2^62 as well."""


def _scaled(part: I64, total: I64) -> I64:
    """Return the part of a total in units of 2^-30, 2^30 for the whole."""
    scaled = np.floor(part / np.maximum(total, 1) * (1 << _UNIT_BITS)).astype(np.int64)
    return np.where(part == total, 1 << _UNIT_BITS, scaled)


def _part(work: I64, share: I64) -> I64:
    """Return work times a share of 2^30 without overflow: high and low bits apart."""
    high, low = work >> _UNIT_BITS, work & ((1 << _UNIT_BITS) - 1)
    return high * share + ((low * share) >> _UNIT_BITS)
