"""Find forward work of a training pass whose result nobody reads: no gradient, no other operator.

Autograd numbers the operators that it records. One that no backward pass goes through has no part
in the loss. What is left is what others read of it: a metric, a log. Here a tensor is known by its
elements and type; the latest one of these is read.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.idioms.outermost_calls import Key, OutermostCalls, outermost_calls
from tb_privateuse1.analysis.steps.training_phases import BACKWARD, find_passes, phase_kinds
from tb_privateuse1.trace.columns import following, latest_not_after, mask_of
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools

_MOST = 50_000
"""Operators of the passes that are looked through: as many as are followed for constants."""


@memoize
def unread_results(trace: Trace) -> I64:
    """Return the rows of ``trace.ops`` whose results no gradient and no operator needs."""
    none = np.empty(0, np.int64)
    passes = find_passes(trace)
    if not len(passes.backward_ns) or not (trace.ops.shapes >= 0).any():
        return none
    calls = outermost_calls(trace)
    start_ns = trace.ops.start_ns[calls.rows]
    at = latest_not_after(passes.forward_ns, start_ns)
    forward = (at >= 0) & (start_ns < passes.backward_ns[at])
    lost = forward & _without_gradient(trace, calls)
    # The reading ends where the next pass begins.
    chosen = np.flatnonzero((at >= 0) & ~calls.ends & np.isin(at, np.unique(at[lost])))
    gone: list[int] = []
    for places in np.split(chosen, np.flatnonzero(np.diff(at[chosen])) + 1):
        if len(gone) + len(places) > _MOST:
            break
        gone += _unread(calls, lost, places)
    return calls.rows[np.array(sorted(gone), np.int64)]


def with_gradient(trace: Trace, calls: OutermostCalls) -> Bools | None:
    """Return which forward operators a backward pass goes through; None if that is not known.

    An operator has all numbers from its own up to that of the next one. With several threads that
    count on their own, nothing is known.
    """
    ops = trace.ops
    nodes = np.flatnonzero((phase_kinds(trace) == BACKWARD) & (ops.sequence >= 0))
    # Nodes on a thread of their own have the numbers of what they are gradients of.
    threads = np.unique(calls.thread[np.flatnonzero(calls.records & ~calls.ends)])
    if not len(nodes) or len(threads) != 1 or len(np.unique(ops.forward_thread[nodes])) != 1:
        return None
    numbered = np.flatnonzero((ops.sequence[calls.rows] >= 0) & (calls.thread == threads[0]))
    numbered = numbered[~calls.ends[numbered]]
    number = ops.sequence[calls.rows[numbered]]
    until = following(number, np.iinfo(np.int64).max)
    evaluated = np.sort(ops.sequence[nodes])
    low, high = (np.searchsorted(evaluated, edge) for edge in (number, until))
    return mask_of(numbered[low < high], len(calls.rows))


def _without_gradient(trace: Trace, calls: OutermostCalls) -> Bools:
    """Return which operators autograd records, and no backward pass goes through."""
    known = with_gradient(trace, calls)
    numbered = (trace.ops.sequence[calls.rows] >= 0) & ~calls.ends
    if known is None:
        return np.zeros(len(calls.rows), np.bool_)
    found: Bools = calls.records & numbered & ~known
    return found


def _unread(calls: OutermostCalls, lost: Bools, places: I64) -> list[int]:
    """Return the lost places of a pass, in order, that no other one reads."""
    latest: dict[Key, int] = {}
    inputs: dict[int, list[int]] = {}
    needed: list[int] = []
    for place in places.tolist():
        call = calls.at(place)
        own = [latest[key] for key in call.reads if key in latest]
        if lost[place]:
            inputs[place] = own
            if call.result is None or (call.writes and not set(own) & set(inputs)):
                needed.append(place)
        elif not calls.records[place]:
            # What autograd records and goes through has no input that it does not go through.
            needed += own
        if call.result is not None:
            latest[call.result] = place
    read: set[int] = set()
    while needed:
        place = needed.pop()
        if place in inputs and place not in read:
            read.add(place)
            needed += inputs[place]
    return [place for place in inputs if place not in read]
