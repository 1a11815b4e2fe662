"""What limits a program at each instant: the device, or the host that feeds it.

An idle device that was handed nothing limits nobody: the host does. While the device is busy,
its work only counts where somebody waits for it: in a stretch of work behind which the device
stands idle because the host is late, faster kernels only make the gap longer. All of it is
cautious: where times are inferred, only what is idle or busy at any of the times that the bounds
allow is taken for idle or busy (docs/guide/advice.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.analysis.idle import blocking_calls as waiting
from tb_privateuse1.analysis.idle import launch_times
from tb_privateuse1.trace import intervals, uncertainty
from tb_privateuse1.trace.model import KERNEL, MISSING, NONE, Kernels, Trace
from tb_privateuse1.trace.table import I32, I64, Bools, Table

_BLOCKED_NS = 500_000
"""A launch takes some microseconds. One that takes this long, with the device busy all the time,
waits for a place in the queue."""

Shares = NDArray[np.float64]

Known = Literal["device", "host", "none"]
"""``device``: there is a device timeline; ``host``: the program used the host alone, so that its
time is all there is; ``none``: a device was used, but when is not known."""


@dataclass(frozen=True)
class Waits(Table):
    """Calls in which the host waits for the device, by start. ``op`` is the operator around."""

    start_ns: I64
    end_ns: I64
    op: I32
    launch: I32


@dataclass(frozen=True)
class Limits:
    """The limits within the judged windows; all sets are parts of ``window``."""

    known: Known
    window: intervals.Set
    idle: intervals.Set
    """Surely no activity on any device, because the host has handed in none."""
    all_idle: intervals.Set
    """Surely no activity, whatever the cause."""
    busy: intervals.Set
    """Surely an activity."""
    chain: intervals.Set
    """Times in which the device works or waits for itself, up to where someone waits for it."""
    spare: Shares
    """By how much of its busy time each of them could be shorter before the host limits."""
    waits: Waits

    def of_host(self, spent: intervals.Set) -> intervals.Set:
        """What of the host's time was time of the program: while the device had nothing to do."""
        return intervals.intersect(spent, self.idle)

    def of_device(self, spent: intervals.Set) -> intervals.Set:
        """What of the device's time was time of the program: others waited for it to end."""
        sure = intervals.intersect(spent, self.busy)
        if not len(sure[0]) or not len(self.chain[0]):
            return intervals.EMPTY
        starts, ends = intervals.intersect(sure, self.chain)
        of = np.searchsorted(self.chain[0], starts, side="right") - 1
        return shorten((starts, ends), self.spare[of])


def shorten(spent: intervals.Set, share: float | Shares) -> intervals.Set:
    """The first part of each interval, by the share (0 to 1) that is left of it."""
    starts, ends = spent
    ends = starts + np.floor((ends - starts) * share).astype(np.int64)
    keep = ends > starts
    return starts[keep], ends[keep]


def find_limits(trace: Trace, window: intervals.Set) -> Limits:
    """The limits of a trace within some windows (a set)."""
    kernels = trace.kernels
    waits = find_waits(trace)
    busy = uncertainty.busy(kernels)
    if not len(busy[0]):  # no activity, or none that takes any time
        codes = {finding.code for finding in trace.meta.findings}
        host = "host_only" in codes and trace.meta.backend is None and not len(kernels)
        idle = window if host else intervals.EMPTY
        known: Known = "host" if host else "none"
        return Limits(
            known, window, idle, idle, intervals.EMPTY, intervals.EMPTY, np.empty(0), waits
        )
    submitted = launch_times.earliest_launch(trace)
    first, last = _ends(kernels, busy)
    late = submitted[first] >= np.append(busy[0][0], busy[1][:-1])
    late &= submitted[first] != MISSING
    end_ns = int(window[1].max(initial=0))
    free = intervals.subtract(window, uncertainty.possibly_running(kernels, end_ns))
    free = intervals.subtract(free, launch_times.unrecorded_start(trace))
    surely = uncertainty.certainly_running(kernels.take(uncertainty.limited(kernels)))
    queued = (busy[1][:-1][~late[1:]], busy[0][1:][~late[1:]])
    chain, spare = _chains(busy, late, submitted, last, waits, trace)
    return Limits(
        known="device",
        window=window,
        idle=intervals.subtract(free, queued),
        all_idle=free,
        busy=intervals.intersect(window, surely),
        chain=chain,
        spare=spare,
        waits=waits,
    )


def _ends(kernels: Kernels, busy: intervals.Set) -> tuple[I64, I64]:
    """An activity that begins each stretch of work, and the one that ends it."""
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
    """Stretches without a late host between them, behind which somebody waits for the device.

    The share by which one could be shorter: the host was ahead of the device for the time between
    handing in the last activity and its end, and for the time in which it waited before that.
    """
    begins = np.flatnonzero(np.append(True, late[1:]))
    ends = np.append(begins[1:], len(late)) - 1
    starts, stops = busy[0][begins], busy[1][ends]
    held = intervals.merge(intervals.union(waits.start_ns, waits.end_ns), _blocked(trace, busy))
    waited = _holds(held, stops)
    waited[-1] = True  # behind the recording's last activity, somebody waits for the result
    handed = submitted[last[ends]]
    known = waited & (handed != MISSING)
    lead = intervals.union(handed[known], stops[known])
    spare = intervals.covered_length(intervals.merge(held, lead), starts, stops)
    work = intervals.covered_length(busy, starts, stops)
    share = np.where(known, np.minimum(1.0, spare / np.maximum(work, 1)), 0.0)
    return (starts, stops), share


def _holds(held: intervals.Set, instants: I64) -> Bools:
    """Whether some set holds the last nanosecond before each instant, or the instant itself."""
    if not len(held[0]):
        return np.zeros(len(instants), np.bool_)
    at = np.searchsorted(held[0], instants, side="right") - 1
    inside: Bools = (at >= 0) & (held[1][np.maximum(at, 0)] >= instants)
    return inside


def _blocked(trace: Trace, busy: intervals.Set) -> intervals.Set:
    launches = trace.launches
    long = launches.end_ns - launches.start_ns >= _BLOCKED_NS
    start, end = launches.start_ns[long], launches.end_ns[long]
    whole = intervals.covered_length(busy, start, end) == end - start
    return intervals.union(start[whole], end[whole])


def find_waits(trace: Trace) -> Waits:
    """The waits of threads that launch kernels."""
    launches, kernels = trace.launches, trace.kernels
    called = waiting.blocking_calls(trace)
    # A thread that pins memory or watches collectives stops nobody by waiting.
    started = kernels.launch[(kernels.kind == KERNEL) & (kernels.launch >= 0)]
    row = np.flatnonzero(called & np.isin(launches.thread, np.unique(launches.thread[started])))
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
