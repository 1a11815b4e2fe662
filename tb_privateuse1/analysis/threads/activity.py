"""Find what host threads do: when they work, what they launch, and what runs around it."""

from __future__ import annotations

import functools

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import KERNEL, NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I32, I64, Bools


class Counts(Struct, frozen=True):
    """Numbers of events of each thread, by row of ``trace.threads``."""

    operators: I64
    """Operators, without steps."""
    annotations: I64
    """``record_function`` ranges, without steps."""
    calls: I64
    """Calls of the device's runtime."""
    frames: I64
    """Python frames."""
    steps: I64
    """``ProfilerStep`` ranges."""
    kernels: I64
    """Kernels that the thread launched, without communication."""
    communication: I64
    """Communication kernels that it launched, and operators that communicate."""
    copies: I64
    """Copies and fills that it launched."""

    @property
    def active(self) -> Bools:
        """Return by thread whether it has any event."""
        host = self.operators + self.annotations + self.calls + self.frames + self.steps
        some: Bools = host > 0
        return some


def count_events(trace: Trace) -> Counts:
    """Return what each thread does, in numbers of events."""
    ops, kernels, n = trace.ops, trace.kernels, len(trace.threads)

    def per_thread(threads: I64) -> I64:
        return np.bincount(threads[threads >= 0], minlength=n).astype(np.int64)

    step = step_rows(trace)
    launching = launching_threads(trace)
    kernel = (kernels.kind == KERNEL) & ~kernels.communication
    collectives = trace.collectives.op[trace.collectives.op >= 0]
    return Counts(
        operators=per_thread(ops.thread[(ops.kind == OPERATOR) & ~step].astype(np.int64)),
        annotations=per_thread(ops.thread[(ops.kind != OPERATOR) & ~step].astype(np.int64)),
        calls=per_thread(trace.launches.thread.astype(np.int64)),
        frames=per_thread(trace.frames.thread.astype(np.int64)),
        steps=per_thread(ops.thread[step].astype(np.int64)),
        kernels=per_thread(launching[kernel]),
        communication=per_thread(launching[kernels.communication])
        + per_thread(ops.thread[collectives].astype(np.int64)),
        copies=per_thread(launching[kernels.kind != KERNEL]),
    )


@memoize
def step_rows(trace: Trace) -> Bools:
    """Return a mask of the rows of ``trace.ops`` that are profiler steps."""
    numbered = [name for name in trace.steps.name.tolist() if "#" in trace.text(name)]
    return mask_of(np.array(numbered, np.int64), len(trace.strings) + 1)[trace.ops.name]


def launching_threads(trace: Trace) -> I64:
    """Return the thread that launched each device activity, by call or operator, or ``NONE``."""
    kernels = trace.kernels
    by_call = lookup(trace.launches.thread, kernels.launch, NONE)
    by_op = lookup(trace.ops.thread, kernels.op, NONE)
    return np.where(kernels.launch >= 0, by_call, by_op).astype(np.int64)


class _ByThread(Struct, frozen=True):
    """The rows of a table by thread, so that looking at every thread reads each row once."""

    order: I64
    first: I64

    def rows(self, thread: int) -> I64:
        """Return the rows of a thread, in their order."""
        return self.order[self.first[thread] : self.first[thread + 1]]


def _by_thread(threads: I32, count: int) -> _ByThread:
    order = np.argsort(threads, kind="stable")
    return _ByThread(order, np.searchsorted(threads[order], np.arange(count + 1)))


class _Rows(Struct, frozen=True):
    """The rows of each thread."""

    ops: _ByThread
    innermost: Bools
    """By row of ``trace.ops``, whether it is an operator that calls no others."""
    frames: _ByThread
    calls: _ByThread


@memoize
def _rows(trace: Trace) -> _Rows:
    ops, count = trace.ops, len(trace.threads)
    calls_others = np.zeros(len(ops) + 1, np.bool_)
    calls_others[ops.parent] = True
    return _Rows(
        ops=_by_thread(ops.thread, count),
        innermost=(ops.kind == OPERATOR) & ~calls_others[:-1] & ~step_rows(trace),
        frames=_by_thread(trace.frames.thread, count),
        calls=_by_thread(trace.launches.thread, count),
    )


class Work:
    """When threads work: of each once, as it is compared with several others."""

    def __init__(self, trace: Trace) -> None:
        self.sure = functools.cache(functools.partial(sure_work, trace))
        self.full = functools.cache(lambda thread: full_work(trace, thread, self.sure(thread)))


def sure_work(trace: Trace, thread: int) -> intervals.Set:
    """Return when a thread surely works: in runtime calls, and at the edges of its ranges.

    Between the edges of an operator, an annotation or a Python frame it may wait for another
    thread. An edge counts as 1 ns.
    """
    ops, frames, calls, rows = trace.ops, trace.frames, trace.launches, _rows(trace)
    op, frame = rows.ops.rows(thread), rows.frames.rows(thread)
    edges = intervals.union_of_points(
        np.concatenate(
            (ops.start_ns[op], frames.start_ns[frame], ops.end_ns[op] - 1, frames.end_ns[frame] - 1)
        )
    )
    call = rows.calls.rows(thread)
    if not len(call):
        return edges
    return intervals.merge(edges, (calls.start_ns[call], calls.end_ns[call]))


def full_work(trace: Trace, thread: int, sure: intervals.Set) -> intervals.Set:
    """Return when a thread works if it never waits: also in operators that call no others.

    ``sure`` is its work besides these.
    """
    ops, rows = trace.ops, _rows(trace)
    own = rows.ops.rows(thread)
    innermost = own[rows.innermost[own]]
    return intervals.union(
        np.concatenate((sure[0], ops.start_ns[innermost])),
        np.concatenate((sure[1], ops.end_ns[innermost])),
    )
