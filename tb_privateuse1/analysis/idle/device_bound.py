"""Find when a program is device-bound: somebody waits for the end of device work.

If instead the host is late behind an interval of work, faster kernels only make the gap longer.
What limits while the device is idle is the account's (``analysis.account``). Inferred times count
as they are estimated; a saving has the interval that their bounds allow (docs/guide/advice.md).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.idle import blocking_calls as waiting
from tb_privateuse1.analysis.idle import launch_times
from tb_privateuse1.analysis.threads.clock_slack import clock_slack_ns
from tb_privateuse1.trace import device_times, groupby, intervals, uncertainty
from tb_privateuse1.trace.columns import following, latest_not_after, lookup, previous
from tb_privateuse1.trace.model import KERNEL, MISSING, NONE, Kernels, Trace
from tb_privateuse1.trace.table import I64, Bools, MaybeLaunchRow, MaybeOpRow, Table

BLOCKED_NS = 500_000
"""A launch takes some µs. One that takes this long while the device is busy waits for a place in
the queue."""

Shares = NDArray[np.float64]


class Waits(Table, frozen=True):
    """Calls in which the host waits for the device, by start; ``op`` is the enclosing operator."""

    start_ns: I64
    end_ns: I64
    op: MaybeOpRow
    launch: MaybeLaunchRow


class Limits(Struct, frozen=True):
    """The limits within the judged windows; all sets are subsets of ``window``."""

    known: device_times.Known
    window: intervals.Set
    all_idle: intervals.Set
    """No activity, for any cause; where one has no bounds, none is idle."""
    busy: intervals.Set
    """An activity with bounds."""
    chain: intervals.Set
    """Times in which the device works or waits for itself, up to an instant at which the host waits
    for it."""
    spare: Shares
    """By interval of ``chain``, the share of its busy time to save before the host limits."""
    waits: Waits

    def of_device(self, spent: intervals.Set) -> intervals.Set:
        """Return the device time that limits the program: while others wait for its end."""
        sure = intervals.intersect(spent, self.busy)
        if not len(sure[0]) or not len(self.chain[0]):
            return intervals.EMPTY
        starts, ends = intervals.intersect(sure, self.chain)
        of = latest_not_after(self.chain[0], starts)
        return shorten((starts, ends), self.spare[of])


def shorten(spent: intervals.Set, share: float | Shares) -> intervals.Set:
    """Return the first part of each interval; ``share`` (0 to 1) is the part that remains."""
    starts, ends = spent
    ends = starts + np.floor((ends - starts) * share).astype(np.int64)
    keep = ends > starts
    return starts[keep], ends[keep]


def find_limits(trace: Trace, window: intervals.Set) -> Limits:
    """Return the limits of a trace within some windows (a set)."""
    kernels = trace.kernels
    waits = find_waits(trace)
    busy = uncertainty.busy(kernels)
    if not len(busy[0]):  # no activity, or none that takes any time
        known = device_times.known_times(trace)
        idle = window if known == "host" else intervals.EMPTY
        return Limits(known, window, idle, intervals.EMPTY, intervals.EMPTY, np.empty(0), waits)
    submitted = launch_times.earliest_launch(trace)
    first, last = _ends(kernels, busy)
    late = submitted[first] >= previous(busy[1], busy[0][0])
    late &= submitted[first] != MISSING
    end_ns = int(window[1].max(initial=0))
    free = intervals.subtract(window, uncertainty.likely_running(kernels, end_ns))
    free = intervals.subtract(free, launch_times.unrecorded_start(trace))
    free = intervals.subtract(free, device_times.unknown_time(trace))
    bounded = uncertainty.busy(kernels.take(uncertainty.limited(kernels)))
    chain, spare = _chains(busy, late, submitted, last, waits, trace)
    return Limits(
        known="device",
        window=window,
        all_idle=free,
        busy=intervals.intersect(window, bounded),
        chain=chain,
        spare=spare,
        waits=waits,
    )


def _ends(kernels: Kernels, busy: intervals.Set) -> tuple[I64, I64]:
    """Return an activity that begins each busy interval, and one that ends it."""
    first = np.searchsorted(kernels.start_ns, busy[0])
    by_end = np.argsort(kernels.end_ns, kind="stable")
    return first, by_end[np.searchsorted(kernels.end_ns[by_end], busy[1])]


def _chains(
    busy: intervals.Set,
    late: Bools,
    submitted: I64,
    last: I64,
    waits: Waits,
    trace: Trace,
) -> tuple[intervals.Set, Shares]:
    """Return intervals without a late host inside that end in a wait, and their spare share.

    The spare share is the time that the host was ahead of the device: from the last launch to that
    activity's end, and while the host waited before.
    """
    begins = np.flatnonzero(np.append(True, late[1:]))
    ends = following(begins, len(late)) - 1
    starts, stops = busy[0][begins], busy[1][ends]
    waiting = intervals.merge(intervals.union(waits.start_ns, waits.end_ns), _blocked(trace, busy))
    waited = _holds(waiting, stops, clock_slack_ns(trace))
    waited[-1] = True  # the last activity's result is always awaited
    submitted_ns = submitted[last[ends]]
    known = waited & (submitted_ns != MISSING)
    lead = intervals.union(submitted_ns[known], stops[known])
    spare = intervals.covered_length(intervals.merge(waiting, lead), starts, stops)
    work = intervals.covered_length(busy, starts, stops)
    share = np.where(known, np.minimum(1.0, spare / np.maximum(work, 1)), 0.0)
    return (starts, stops), share


def _holds(spans: intervals.Set, instants: I64, slack_ns: int) -> Bools:
    """Return by instant whether a set contains it or an instant at most ``slack_ns`` before it."""
    at = latest_not_after(spans[0], instants)
    inside: Bools = (at >= 0) & (lookup(spans[1], at, 0) + slack_ns >= instants)
    return inside


def _blocked(trace: Trace, busy: intervals.Set) -> intervals.Set:
    """Return when a long launch waits for a place in the full queue."""
    launches = trace.launches
    long = launches.end_ns - launches.start_ns >= BLOCKED_NS
    start, end = launches.start_ns[long], launches.end_ns[long]
    whole = intervals.covered_length(busy, start, end) == end - start
    return intervals.union(start[whole], end[whole])


def find_waits(trace: Trace) -> Waits:
    """Return the waits of threads that launch kernels, or hand them to a task queue."""
    launches, kernels = trace.launches, trace.kernels
    called = waiting.blocking_calls(trace)
    # Others may wait without delaying anything: threads that pin memory or watch collectives.
    started = kernels.kind == KERNEL
    by_call = launches.thread[kernels.launch[started & (kernels.launch >= 0)]]
    by_op = trace.ops.thread[kernels.op[started & (kernels.op >= 0)]]
    threads = groupby.distinct_values(np.concatenate((by_call, by_op)))
    row = np.flatnonzero(called & np.isin(launches.thread, threads))
    op = waiting.blocking_operators(trace)
    start = np.concatenate((launches.start_ns[row], trace.ops.start_ns[op]))
    order = np.argsort(start, kind="stable")
    none = np.full(len(op), NONE, np.int32)
    return Waits(
        start_ns=start[order],
        end_ns=np.concatenate((launches.end_ns[row], trace.ops.end_ns[op]))[order],
        op=np.concatenate((launches.op[row], op)).astype(np.int32)[order],
        launch=np.concatenate((row, none)).astype(np.int32)[order],
    )
