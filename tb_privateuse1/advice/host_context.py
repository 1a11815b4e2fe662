"""The argument of rules on device work where the device is the processor of the host."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.advice.judged_trace import Need
from tb_privateuse1.advice.rule_context import Removal, RuleContext
from tb_privateuse1.analysis.account.class_intervals import ClassIntervals
from tb_privateuse1.analysis.idioms.accumulations import accumulations
from tb_privateuse1.analysis.idioms.outermost_calls import outermost_calls
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.operators.host_activities import with_host_activities
from tb_privateuse1.analysis.operators.module_of import forward_operators
from tb_privateuse1.analysis.simulation.launches_and_waits import Ranges
from tb_privateuse1.analysis.simulation.profiler_time import find_events
from tb_privateuse1.analysis.simulation.scopes import Scope, no_ranges
from tb_privateuse1.analysis.steps.training_phases import find_passes
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.analysis.work.calls import distinct_calls, share_parsed
from tb_privateuse1.analysis.work.list_types import types_by_shape
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.call_tree import linked_forward
from tb_privateuse1.trace.findings import Example, TableName
from tb_privateuse1.trace.memoize import take_over
from tb_privateuse1.trace.table import I64


class HostContext(RuleContext):
    """A context whose activities are operators of the host.

    What they take is work; the rest of the time is that of calls, as the time is in which a device
    idles. Nothing overlaps, so that all of either is saved. Claims and removals are of the recorded
    trace, which has no activities.
    """

    is_host = True

    def __init__(self, plain: RuleContext) -> None:
        trace = with_host_activities(plain.trace)
        share_parsed(plain.trace, trace)
        # What is found of the host's tables alone is that of the recorded trace.
        for function in (
            operator_work, linked_forward, forward_operators, thread_roles, outermost_calls,
            types_by_shape, find_passes, distinct_calls, accumulations,
            find_events,
        ):  # fmt: skip
            take_over(trace, function, function(plain.trace))
        super().__init__(trace, plain.part)
        self._plain = plain

    @functools.cached_property
    def limits(self) -> device_bound.Limits:
        """Return the limits: each activity is awaited by what comes behind it."""
        kernels, window = self.trace.kernels, self.window
        busy = intervals.union(kernels.start_ns, kernels.end_ns)
        return replace(
            self._plain.limits,
            all_idle=intervals.EMPTY,
            busy=intervals.intersect(busy, window),
            chain=window,
            spare=np.ones(len(window[0])),
        )

    @functools.cached_property
    def class_intervals(self) -> ClassIntervals:
        """Return the account of the recorded trace."""
        return self._plain.class_intervals

    @functools.cached_property
    def operators(self) -> I64:
        """Return the operators of the recorded trace."""
        return self._plain.operators

    @functools.cached_property
    def top(self) -> I64:
        """Return the outermost operators of the recorded trace."""
        return self._plain.top

    @functools.cached_property
    def top_in_order(self) -> I64:
        """Return these by thread and start."""
        return self._plain.top_in_order

    @functools.cached_property
    def idle(self) -> intervals.Set:
        """Return the time in which no operator works: that of calls."""
        return intervals.subtract(self.window, self.limits.busy)

    @functools.cached_property
    def has(self) -> frozenset[Need]:
        """Return the kinds of data that the trace has; it has no device beside the host."""
        return super().has - {"device"}

    def scope_of(self, gone: Removal) -> Scope:
        """Build the removal in the recorded trace: calls of operators, and shares of their work."""
        removed = self._plain.scope_of(replace(gone, kernels=None))
        calls = no_ranges()
        for thread, own in removed.ranges.by_thread():
            start, end = intervals.subtract(own, self._work_of(thread))
            calls = calls.and_(Ranges(np.full(len(start), thread, np.int32), start, end))
        if gone.kernels is None:
            return replace(removed, ranges=calls)
        table = self.trace.kernels
        start = table.start_ns[gone.kernels]
        length = np.floor((table.end_ns[gone.kernels] - start) * gone.kernel_share).astype(np.int64)
        work = Ranges(table.lane[gone.kernels].astype(np.int32), start, start + length)
        return replace(removed, ranges=calls.and_(work))

    def _work_of(self, thread: int) -> intervals.Set:
        """Return the time in which a thread works in operators."""
        table = self.trace.kernels
        rows = np.flatnonzero(table.lane == thread)
        return intervals.union(table.start_ns[rows], table.end_ns[rows])

    def examples(
        self, table: TableName, rows: I64, notes: Sequence[str] = ()
    ) -> tuple[Example, ...]:
        """Return rows of the recorded trace as examples: an activity is its operator."""
        if table == "kernels":
            table, rows = "ops", self.trace.kernels.op[rows].astype(np.int64)
        return self._plain.examples(table, rows, notes)
