"""Runtime calls: what the host spends in calls of the device's runtime and driver, by name."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account.class_intervals import within
from tb_privateuse1.analysis.account.classification import classify_time
from tb_privateuse1.analysis.account.host_activity import LAUNCHES
from tb_privateuse1.analysis.account.table import has_account
from tb_privateuse1.analysis.idle.blocking_calls import blocking_calls
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.trace import device_times, intervals, sum_bounds, uncertainty
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import group_rows, split_by_value, sums
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.renamed import renamed
from tb_privateuse1.trace.table import I64
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import StepOption, WindowOption, chosen_window


class RuntimeRow(Struct, frozen=True):
    """The calls of one name."""

    name: str
    calls: int
    total_ns: int
    mean_ns: int
    median_ns: int
    """The duration of the typical call."""
    max_ns: int
    share: float
    """Of ``length_ns``: more than 1 where threads call at once."""
    blocked_ns: int
    """In calls that return when the device has done its work."""
    device_idle_ns: int | None
    """The device's idle time that the account of time has for these calls; null without device
    times. In the rest of ``blocked_ns`` the device works, or has work in its queue."""
    activities: int | None
    """Kernels, copies and fills that these calls launched; null if no launch is known."""
    device_ns: int | None
    """Their time on the device; null without device times, a lower bound if some are missing."""
    device_bound_ns: int | None
    """How far off ``device_ns`` may be; 0 for measured times, null if that is not known."""
    operator: str | None
    """The operator with most of the time of these calls; null outside of operators."""
    function: str | None
    """The user's function with most of their time; null without Python stacks."""
    typical_row: int
    """The row of the median call in the trace's table of launches."""
    longest_row: int

    source = renamed("source", "function")


class Runtime(Result, frozen=True):
    """The result of the view: the most time first."""

    provenance: Provenance
    rows: tuple[RuntimeRow, ...]
    calls: int
    total_ns: int
    """Sum over threads; a call inside of another one counts once."""
    blocked_ns: int
    """The same of the calls that wait for the device."""
    device_idle_ns: int | None
    """The sum of the rows'."""
    length_ns: int
    """Length of the recording, or of the window on the host."""


def runtime(trace: Trace, *, step: StepOption = None, window: WindowOption = "steady") -> Runtime:
    """A row per name of a runtime or driver call, by the calls' time on the host.

    The calls that start in the window on the host. Raises TraceError ``unknown_step``.
    """
    time = chosen_window(trace, step, window)
    chosen = np.flatnonzero(time.starts(trace.launches.start_ns))
    length_ns = trace.end_ns if time.kind == "all" else intervals.length(time.host_time)
    table = _Calls(trace, chosen, _idle_times(time))
    rows = tuple(table.row(i, length_ns) for i in table.order.tolist())
    return Runtime(
        provenance=provenance(trace, time),
        rows=rows,
        calls=len(chosen),
        total_ns=_thread_time(trace, chosen),
        blocked_ns=_thread_time(trace, chosen[blocking_calls(trace)[chosen]]),
        device_idle_ns=_known_idle(trace, table.idle_ns),
        length_ns=length_ns,
    )


def _idle_times(window: Window) -> I64 | None:
    """Return by row of ``trace.launches`` the idle time of the window that it explains, in ns."""
    trace = window.trace
    if not len(trace.kernels) or not has_account(trace):
        return None
    own = within(classify_time(trace), window.time)
    of_calls = np.where(own.table == LAUNCHES, own.row, NONE)
    return sums(of_calls, own.end_ns - own.start_ns, len(trace.launches))


def _known_idle(trace: Trace, times_ns: I64 | None) -> int | None:
    """Return a sum of idle times; None if they are not known."""
    return None if times_ns is None else device_times.known_sum(trace, int(times_ns.sum()))


def _thread_time(trace: Trace, rows: I64) -> int:
    """Return how long threads are in any of these calls, all threads together."""
    calls = trace.launches
    return sum(
        intervals.length(intervals.union(calls.start_ns[rows[own]], calls.end_ns[rows[own]]))
        for _, own in split_by_value(calls.thread[rows])
    )


class _Calls:
    """The sums of some calls, by the group of their name."""

    def __init__(self, trace: Trace, chosen: I64, idle_ns: I64 | None) -> None:
        calls, kernels = trace.launches, trace.kernels
        self._trace, self._chosen = trace, chosen
        duration = calls.end_ns[chosen] - calls.start_ns[chosen]
        self._first, group = group_rows(calls.name[chosen])
        count = len(self._first)
        self._by_group = np.lexsort((duration, group))
        self._edges = np.searchsorted(group[self._by_group], np.arange(count + 1))
        self._duration = duration[self._by_group]
        self.total_ns = sums(group, duration, count)
        waits = blocking_calls(trace)[chosen]
        self.blocked_ns = sums(group, np.where(waits, duration, 0), count)
        self.idle_ns = None if idle_ns is None else sums(group, idle_ns[chosen], count)
        self.order = np.argsort(-self.total_ns, kind="stable")
        place = np.full(len(calls) + 1, NONE, np.int64)
        place[chosen] = group
        launched = place[kernels.launch]
        self._linked = bool((kernels.launch >= 0).any())
        self._activities = np.bincount(launched[launched >= 0], minlength=count)
        self._device_ns = sums(launched, kernels.end_ns - kernels.start_ns, count)
        bounds = sum_bounds.duration_sum_bounds(launched, kernels, count)
        self._device_bound_ns = device_times.known_bounds(trace, bounds)
        self._operator = self._operators(group, duration)

    def row(self, i: int, length_ns: int) -> RuntimeRow:
        """Return the row of a group."""
        trace = self._trace
        own = slice(int(self._edges[i]), int(self._edges[i + 1]))
        rows, duration = self._chosen[self._by_group[own]], self._duration[own]
        total, middle = int(self.total_ns[i]), (len(rows) - 1) // 2
        operator = int(self._operator[i])
        function = user_functions.of_launches(trace, rows)
        return RuntimeRow(
            name=trace.text(trace.launches.name[rows[0]]),
            calls=len(rows),
            total_ns=total,
            mean_ns=round(total / len(rows)),
            median_ns=int(duration[middle]),
            max_ns=int(duration[-1]),
            share=total / length_ns if length_ns else 0.0,
            blocked_ns=int(self.blocked_ns[i]),
            device_idle_ns=None if self.idle_ns is None else _known_idle(trace, self.idle_ns[i]),
            activities=int(self._activities[i]) if self._linked else None,
            device_ns=(
                device_times.known_sum(trace, int(self._device_ns[i])) if self._linked else None
            ),
            device_bound_ns=(
                uncertainty.known_bound(self._device_bound_ns[i]) if self._linked else None
            ),
            operator=trace.text(operator) if operator >= 0 else None,
            function=function.title if function else None,
            typical_row=int(rows[middle]),
            longest_row=int(rows[-1]),
        )

    def _operators(self, group: I64, duration: I64) -> I64:
        """Return by group the name of the operator with most of its time, or ``NONE``."""
        trace = self._trace
        around = lookup(trace.ops.name, trace.launches.op[self._chosen], NONE)
        first, pair = group_rows(group, around)
        total = sums(pair, duration, len(first))
        # The last one of each group is the one with the most time.
        order = np.lexsort((total, group[first]))
        name = np.full(len(self._first), NONE, np.int64)
        name[group[first[order]]] = around[first[order]]
        return name
