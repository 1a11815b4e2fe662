"""Find what each host thread does, from its behavior: who launches, and who waits for whom."""

from __future__ import annotations

import re
from typing import Literal, get_args

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from tb_privateuse1.analysis.steps.training_phases import ENGINE
from tb_privateuse1.analysis.threads import activity
from tb_privateuse1.analysis.threads.hand_offs import (
    Turns,
    join_turns,
    long_pauses,
    near_turns,
    takes_turns,
    turns_between,
    usual_turns,
)
from tb_privateuse1.analysis.threads.result_waits import Results, find_results
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.blocking_names import blocks, polls, sleeps
from tb_privateuse1.trace.columns import lookup, mask_of
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

_LOADER_CODE = "torch/utils/data/"

_MOSTLY = 0.8
"""A thread that does nothing else spends at least this share of its work or time so."""

_MOST_THREADS = 32
"""Of more threads, those with the most events are compared with each other."""

_MOST_COMPARED = 1_000
"""Of more threads, those with the most events are compared with the main thread, as on the
timeline. The others keep the role that their own events give."""

_PROGRAM = (call_tree.LOADER, "Optimizer.")
"""Ranges that torch makes in the thread of the training loop."""


class Roles(Struct, frozen=True):
    """The role of each host thread."""

    role: I8
    """By row of ``trace.threads``, an index into ``ROLES``; ``NONE`` for one without events."""
    main: int
    """The row of the main thread, or ``NONE``."""
    turns: tuple[Turns, ...] = ()
    """The hand-offs between the main thread and each worker that takes turns with it."""
    results: Results = field(default_factory=Results.empty)
    """The results of other threads that a thread waits for."""

    @property
    def driving(self) -> Bools:
        """Return by thread whether its own time can delay launches: main, autograd, launcher."""
        drives: Bools = np.isin(self.role, (MAIN, AUTOGRAD, LAUNCHER))
        return drives


@memoize
def thread_roles(trace: Trace) -> Roles:
    """Return what each host thread does."""
    counts = activity.count_events(trace)
    backward = _backward_shares(trace)
    waiting = _waiting_threads(trace, counts)
    working = np.flatnonzero(counts.active & ~waiting)
    work = activity.Work(trace)
    main = _main_thread(trace, work, counts, backward, waiting)
    role = np.full(len(trace.threads), OTHER, np.int8)
    role[counts.copies > 0] = LOADER
    role[_loader_threads(trace)] = LOADER
    role[counts.kernels > 0] = LAUNCHER
    role[(counts.communication > 0) & (counts.kernels == 0)] = COMMUNICATION
    role[waiting] = WAITING
    if main != NONE:
        role[main] = MAIN
    role[~counts.active] = NONE
    workers = working[working != main] if main != NONE else working[:0]
    role[workers[backward[workers] > 0]] = AUTOGRAD
    turns = _turns(trace, work, main, _fullest(workers, counts).tolist(), role, backward)
    found = _results(trace, work, counts, role, turns)
    _name_loaders(role, found, main)
    return Roles(role, main, turns, found)


@memoize
def find_turns(trace: Trace) -> Turns:
    """Return the hand-offs between the main thread and the workers that take turns with it."""
    return join_turns(thread_roles(trace).turns)


def _fullest(threads: I64, counts: activity.Counts) -> I64:
    """Return those of some threads that are compared with another one, in their order."""
    if len(threads) <= _MOST_COMPARED:
        return threads
    events = counts.operators + counts.annotations + counts.calls + counts.frames
    most = np.argsort(-events[threads], kind="stable")[:_MOST_COMPARED]
    return threads[np.sort(most)]


def _results(
    trace: Trace,
    work: activity.Work,
    counts: activity.Counts,
    role: I8,
    turns: tuple[Turns, ...],
) -> Results:
    """Return the results that threads wait for, of those with the most events."""
    threads = np.flatnonzero((role != NONE) & (role != WAITING))
    most = np.argsort(-(counts.operators + counts.annotations + counts.calls)[threads])
    chosen = threads[most[:_MOST_THREADS]].tolist()
    apart = {(int(one.thread[0]), int(one.worker[0])) for one in turns if len(one)}
    return find_results(trace, work, chosen, role == COMMUNICATION, apart)


def _name_loaders(role: I8, results: Results, main: int) -> None:
    """Set the role of threads that prepare data: their results go to the main thread, or on."""
    worker, thread = results.worker, results.thread
    while True:
        waits = (thread == main) | (role[thread] == LOADER)
        new = worker[waits & (role[worker] == OTHER)]
        if not len(new):
            return
        role[new] = LOADER


def _turns(
    trace: Trace, does: activity.Work, main: int, workers: list[int], role: I8, backward: Shares
) -> tuple[Turns, ...]:
    """Return the turns of the main thread with workers; set the role of those of autograd."""
    if not workers:
        return ()
    turns, own = [], does.sure(main)
    launching = LAUNCHER if len(trace.kernels) else OTHER
    for worker in workers:
        work = does.full(worker)
        found = turns_between(main, own, worker, work, trace.end_ns)
        taking = takes_turns(own, work, found, len(workers))
        if taking and role[worker] == launching:
            role[worker] = AUTOGRAD
        elif taking and role[worker] == OTHER:
            # The main thread waits for its results, and it launches nothing.
            role[worker] = LOADER
        if taking:
            turns.append(usual_turns(found))
        elif backward[worker] > 0:
            turns.append(usual_turns(near_turns(found)))
    return tuple(turns)


def _backward_shares(trace: Trace) -> Shares:
    """Return by thread the share of its outermost operators that belong to backward passes."""
    ops, n = trace.ops, len(trace.threads)
    named = groupby.named_rows(trace.strings, ops.name, _BACKWARD.search)
    rows = named | ((ops.sequence >= 0) & (ops.forward_thread > 0))
    operator = (ops.kind == OPERATOR) & ~activity.step_rows(trace)
    outer = operator & ~lookup(operator, ops.parent, False)
    known = ops.thread >= 0
    some = np.bincount(ops.thread[known & outer & rows], minlength=n)
    inner = np.bincount(ops.thread[known & rows], minlength=n) > 0
    share = some / np.maximum(np.bincount(ops.thread[known & outer], minlength=n), 1)
    return np.where(inner, np.maximum(share, np.finfo(np.float64).tiny), 0.0)


def _loader_threads(trace: Trace) -> I64:
    """Return the threads that run a data loader's ranges or code."""
    ops, frames = trace.ops, trace.frames
    row = call_tree.starts_with(trace, call_tree.LOADER)[ops.name]
    code = call_tree.starts_with(trace, _LOADER_CODE)[frames.name]
    threads = np.concatenate((ops.thread[row], frames.thread[code]))
    return groupby.distinct_values(threads[threads >= 0])


def _waiting_threads(trace: Trace, counts: activity.Counts) -> Bools:
    """Return by thread whether it only waits: it launches nothing and runs no operator.

    Its calls wait or ask whether something is done. Its Python time is almost all in one frame
    that spans the recording, or in frames that wait by their names.
    """
    n, calls, frames = len(trace.threads), trace.launches, trace.frames
    idle = groupby.named_rows(trace.strings, calls.name, lambda name: blocks(name) or polls(name))
    other_calls = np.bincount(calls.thread[~idle], minlength=n)
    launched = counts.kernels + counts.communication + counts.copies
    ranges = counts.operators + counts.annotations + counts.steps
    still: Bools = counts.active & (ranges + launched + other_calls == 0)
    own = np.flatnonzero(lookup(still, frames.thread, False))
    thread, self_ns = frames.thread[own], frames.self_ns[own]
    sleeping = groupby.named_rows(trace.strings, frames.name[own], sleeps)
    total = groupby.sums(thread, self_ns, n)
    asleep = groupby.sums(thread, np.where(sleeping, self_ns, 0), n)
    longest = groupby.maxima(thread, self_ns, n)
    return still & (np.maximum(longest, asleep) >= _MOSTLY * total)


def _main_thread(
    trace: Trace,
    does: activity.Work,
    counts: activity.Counts,
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
    loop = call_tree.starts_with(trace, *_PROGRAM)[ops.name]
    loops = np.bincount(ops.thread[loop & (ops.thread >= 0)], minlength=n)
    outer = frames.parent < 0
    python = groupby.sums(frames.thread[outer], frames.end_ns[outer] - frames.start_ns[outer], n)
    handed = _handed_kernels(trace)
    # The second number decides only between equal first ones.
    amount = counts.operators * (int(counts.calls.max()) + 1) + counts.calls
    launches = counts.kernels + handed > 0
    # Python beside the launches may prepare data.
    if (able & launches).any():
        python[~launches] = 0
    for evidence in (counts.steps, loops, python, handed):
        if (evidence[able] > 0).any():
            return int(np.argmax(np.where(able, evidence, NONE)))
    loading = mask_of(_loader_threads(trace), n)
    for unlikely in (loading & ~launches, backward >= _MOSTLY):
        if (able & ~unlikely).any():
            able &= ~unlikely
    most = int(np.argmax(np.where(able, amount, NONE)))
    for other in _fullest(np.flatnonzero(able), counts).tolist():
        if other == most:
            continue
        one, work = does.sure(other), does.full(most)
        taken = turns_between(other, one, most, work, trace.end_ns)
        apart = takes_turns(one, work, taken, int(able.sum()) - 1)
        if apart and _drives(does.full(other), work):
            most = other
    return most


def _drives(one: intervals.Set, other: intervals.Set) -> bool:
    """Return whether the first of two threads that take turns is the one that calls the other.

    It has the longer pauses: after a pause of both, it goes on by itself. Without any pause, it is
    the one that begins.
    """
    own, others = long_pauses(one, other)
    return own > others if own != others else bool(one[0][0] < other[0][0])


def _handed_kernels(trace: Trace) -> I64:
    """Return by thread how many activities of its operators another thread launched."""
    kernels = trace.kernels
    rows = np.flatnonzero((kernels.op >= 0) & (kernels.launch >= 0))
    operator = trace.ops.thread[kernels.op[rows]]
    handed = operator != trace.launches.thread[kernels.launch[rows]]
    found: I64 = np.bincount(operator[handed], minlength=len(trace.threads)).astype(np.int64)
    return found
