"""Find what each host thread does, from its behavior: who launches, and who waits for whom."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.analysis.steps.training_phases import ENGINE
from tb_privateuse1.analysis.threads import activity
from tb_privateuse1.analysis.threads.hand_offs import (
    Turns,
    long_pauses,
    near_turns,
    takes_turns,
    turns_between,
    usual_turns,
)
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.blocking_names import blocks, polls
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I8, I64, Bools

Shares = NDArray[np.float64]

Role = Literal["main", "autograd", "launcher", "loader", "communication", "waiting", "other"]
ROLES: tuple[Role, ...] = get_args(Role)
"""``Roles.role`` is an index into this."""
MAIN, AUTOGRAD, LAUNCHER, LOADER, COMMUNICATION, WAITING, OTHER = range(len(ROLES))

_BACKWARD = re.compile(rf"^{ENGINE}|AccumulateGrad$|Backward\d*$")
"""Names of nodes of the backward pass; old torch does not name the engine around them."""

_MOSTLY = 0.8
"""A thread that runs nothing but backward passes has at least this share of them."""

_PROGRAM = (call_tree.LOADER, "Optimizer.")
"""Ranges that torch makes in the thread of the training loop."""


@dataclass(frozen=True)
class Roles:
    """The role of each host thread."""

    role: I8
    """By row of ``trace.threads``, an index into ``ROLES``; ``NONE`` for one without events."""
    main: int
    """The row of the main thread, or ``NONE``."""
    turns: tuple[Turns, ...] = ()
    """The hand-offs between the main thread and each worker that takes turns with it."""

    @property
    def driving(self) -> Bools:
        """Return by thread whether its own time can delay launches: main, autograd, launcher."""
        drives: Bools = np.isin(self.role, (MAIN, AUTOGRAD, LAUNCHER))
        return drives


@memoize
def thread_roles(trace: Trace) -> Roles:
    """Return what each host thread does."""
    counts = activity.count_events(trace)
    work = activity.work_times(trace)
    backward = _backward_shares(trace)
    waiting = _waiting_threads(trace, counts)
    main = _main_thread(trace, counts, work, backward, waiting)
    role = np.full(len(trace.threads), OTHER, np.int8)
    role[counts.copies > 0] = LOADER
    role[_loader_threads(trace)] = LOADER
    role[counts.kernels > 0] = LAUNCHER
    role[(counts.communication > 0) & (counts.kernels == 0)] = COMMUNICATION
    role[waiting] = WAITING
    launches = len(trace.kernels) > 0
    turns = []
    for worker in np.flatnonzero(counts.active & ~waiting).tolist():
        if worker == main or main == NONE:
            continue
        found = turns_between(main, work[main], worker, work[worker], trace.end_ns)
        taking = takes_turns(work[main], work[worker], found)
        if backward[worker] > 0 or (taking and role[worker] == (LAUNCHER if launches else OTHER)):
            role[worker] = AUTOGRAD
        if taking:
            turns.append(usual_turns(found))
        elif backward[worker] > 0:
            turns.append(usual_turns(near_turns(found)))
    if main != NONE:
        role[main] = MAIN
    role[~counts.active] = NONE
    return Roles(role, main, tuple(turns))


def _backward_shares(trace: Trace) -> Shares:
    """Return by thread the share of its outermost operators that belong to backward passes."""
    ops, n = trace.ops, len(trace.threads)
    named = np.array([bool(_BACKWARD.search(text)) for text in trace.strings] + [False])
    rows = named[ops.name] | ((ops.sequence >= 0) & (ops.forward_thread > 0))
    operator = (ops.kind == OPERATOR) & ~activity.step_rows(trace)
    outer = operator & ~np.append(operator, False)[ops.parent]
    known = ops.thread >= 0
    some = np.bincount(ops.thread[known & outer & rows], minlength=n)
    inner = np.bincount(ops.thread[known & rows], minlength=n) > 0
    share = some / np.maximum(np.bincount(ops.thread[known & outer], minlength=n), 1)
    return np.where(inner, np.maximum(share, np.finfo(np.float64).tiny), 0.0)


def _loader_threads(trace: Trace) -> I64:
    """Return the threads that run a data loader's ranges."""
    rows = np.append(call_tree.starts_with(trace, call_tree.LOADER), False)[trace.ops.name]
    return groupby.distinct_values(trace.ops.thread[rows & (trace.ops.thread >= 0)])


def _waiting_threads(trace: Trace, counts: activity.Counts) -> Bools:
    """Return by thread whether it only waits: no operators, no launches, and no work of its own.

    Its calls wait or ask whether something is done. Its Python time is almost all in long frames.
    """
    n, calls, frames = len(trace.threads), trace.launches, trace.frames
    idle_name = np.array([blocks(text) or polls(text) for text in trace.strings] + [False])
    busy_calls = np.bincount(calls.thread[~idle_name[calls.name]], minlength=n)
    total = groupby.sums(frames.thread, frames.self_ns, n)
    longest = np.zeros(n, np.int64)
    np.maximum.at(longest, frames.thread, frames.self_ns)
    launched = counts.kernels + counts.communication + counts.copies + counts.annotations
    still: Bools = (counts.operators + counts.steps + launched + busy_calls) == 0
    return still & counts.active & (2 * longest >= total)


def _main_thread(
    trace: Trace,
    counts: activity.Counts,
    work: dict[int, intervals.Set],
    backward: Shares,
    waiting: Bools,
) -> int:
    """Return the thread that drives the program, or ``NONE``.

    It has the steps, else the ranges of the training loop, else the Python frames around
    operators, else operators whose kernels another thread launches, else the most operators. Of two
    that take turns, one has the pauses: it goes on by itself.
    """
    ops, frames, n = trace.ops, trace.frames, len(trace.threads)
    able = counts.active & ~waiting & (counts.operators + counts.calls + counts.steps > 0)
    if not able.any():
        return NONE
    loop = np.append(call_tree.starts_with(trace, *_PROGRAM), False)[ops.name]
    loops = np.bincount(ops.thread[loop & (ops.thread >= 0)], minlength=n)
    outer = frames.parent < 0
    python = groupby.sums(frames.thread[outer], frames.end_ns[outer] - frames.start_ns[outer], n)
    handed = _handed_kernels(trace)
    # The second number decides only between equal first ones.
    amount = counts.operators * (int(counts.calls.max()) + 1) + counts.calls
    for evidence in (counts.steps, loops, python, handed):
        if (evidence[able] > 0).any():
            return int(np.argmax(np.where(able, evidence, NONE)))
    if (able & (backward < _MOSTLY)).any():
        able &= backward < _MOSTLY
    most = int(np.argmax(np.where(able, amount, NONE)))
    for other in np.flatnonzero(able).tolist():
        if other == most:
            continue
        taken = turns_between(other, work[other], most, work[most], trace.end_ns)
        if takes_turns(work[other], work[most], taken) and _drives(work[other], work[most]):
            most = other
    return most


def _drives(one: intervals.Set, other: intervals.Set) -> bool:
    """Return whether the first of two threads that take turns is the one that calls the other.

    A recording of whole iterations begins and ends with it. Else it has the longer pauses: after
    a pause of both, it goes on by itself.
    """
    first, last = one[0][0] < other[0][0], one[1][-1] > other[1][-1]
    if first == last:
        return bool(first)
    own, others = long_pauses(one, other)
    return own > others


def _handed_kernels(trace: Trace) -> I64:
    """Return by thread how many activities of its operators another thread launched."""
    kernels = trace.kernels
    rows = np.flatnonzero((kernels.op >= 0) & (kernels.launch >= 0))
    operator = trace.ops.thread[kernels.op[rows]]
    handed = operator != trace.launches.thread[kernels.launch[rows]]
    found: I64 = np.bincount(operator[handed], minlength=len(trace.threads)).astype(np.int64)
    return found
