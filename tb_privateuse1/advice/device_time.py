"""Find the device time that limits a step: what the host or the device's own launches wait for."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.analysis.idioms.slow_products import Slow
from tb_privateuse1.analysis.simulation.scopes import Scope
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import following, lookup, sums_before
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools


@memoize
def awaited(trace: Trace) -> intervals.Set:
    """Return the time of activities whose launch returns only behind them.

    Such a launch is synchronous: the host stands still, even if nobody else waits for the device.
    """
    kernels, launches = trace.kernels, trace.launches
    rows = np.flatnonzero(kernels.launch >= 0)
    launch = kernels.launch[rows]
    within = (launches.start_ns[launch] <= kernels.start_ns[rows]) & (
        launches.end_ns[launch] >= kernels.end_ns[rows]
    )
    rows = rows[within]
    return intervals.union(kernels.start_ns[rows], kernels.end_ns[rows])


def of_device(case: RuleContext, spent: intervals.Set) -> intervals.Set:
    """Return the part of device time that its removal saves."""
    own = intervals.intersect(intervals.intersect(spent, case.window), awaited(case.trace))
    return intervals.merge(case.of_device(spent), own)


def shortened(case: RuleContext, rows: I64, shares: np.ndarray) -> intervals.Set:
    """Return the first part of each activity, by its share (0 to 1)."""
    kernels = case.trace.kernels
    begin, end = kernels.start_ns[rows], kernels.end_ns[rows]
    return intervals.union(begin, begin + np.floor((end - begin) * shares).astype(np.int64))


def gaps_before(case: RuleContext, chosen: Bools) -> intervals.Set:
    """Return the device's idle time directly before some activities, a flag per row each.

    Work may be queued in it: each activity has a start-up of its own.
    """
    starts, ends = case.limits.all_idle
    kept = lookup(chosen, np.searchsorted(case.trace.kernels.start_ns, ends), False)
    return starts[kept], ends[kept]


def idle_after(case: RuleContext, ranges: intervals.Set, share: float) -> intervals.Set:
    """Return the device's idle time after host ranges that become shorter by a share.

    The host is ahead by then: of the idle time up to the next range goes as much as it saves and
    has not saved in the range itself.
    """
    idle = case.of_host(case.window)
    starts, ends = ranges
    if idle is None or not len(idle[0]) or not len(starts):
        return intervals.EMPTY
    inside = intervals.covered_length(idle, starts, ends)
    ahead = np.maximum(np.floor((ends - starts - inside) * share).astype(np.int64), 0)
    until = following(starts, max(int(idle[1][-1]), int(ends[-1])))
    # Idle time grows along the idle ranges only: where it has grown enough, the lead is used up.
    before = sums_before(idle[1] - idle[0])
    points = np.stack((idle[0], idle[1])).T.ravel()
    grown = np.stack((before[:-1], before[1:])).T.ravel()
    enough = np.interp(ends, points, grown) + ahead
    stop = np.minimum(np.interp(enough, grown, points).astype(np.int64), until)
    return intervals.intersect(idle, intervals.union(ends, np.maximum(stop, ends)))


def busy_share(case: RuleContext, spent: intervals.Set) -> float:
    """Return device time as a share of the time in which the device works."""
    busy = intervals.length(case.limits.busy)
    return intervals.length(intervals.intersect(spent, case.limits.busy)) / busy if busy else 0.0


def claim_of(case: RuleContext, slow: Slow) -> intervals.Set:
    """Return the time that goes if activities become shorter by their shares."""
    return of_device(case, shortened(case, slow.rows, slow.shares))


def removal_of(case: RuleContext, slow: Slow) -> Scope:
    """Return the removal of these shares of activities."""
    return case.without(kernels=slow.rows, share=slow.shares)
