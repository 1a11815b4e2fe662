"""The argument of a rule: the trace's steady steps, lookups by name, waits, savings of fixes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.advice.judged_trace import JudgedTrace
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.analysis.operators.function_names import ProgramFunction
from tb_privateuse1.analysis.simulation import changes
from tb_privateuse1.analysis.simulation.changes import Change
from tb_privateuse1.analysis.simulation.launches_and_waits import Ranges
from tb_privateuse1.analysis.simulation.profiler_time import Shares
from tb_privateuse1.analysis.simulation.scopes import Scope, Waiters, no_ranges
from tb_privateuse1.analysis.threads.clock_slack import clock_slack_ns
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace import call_tree, groupby, intervals, labels
from tb_privateuse1.trace.findings import LONGEST_NAME, Example, TableName
from tb_privateuse1.trace.model import MEMCPY, OPERATOR
from tb_privateuse1.trace.table import I32, I64, Bools

_RANGES = r"^(enumerate\(DataLoader\)|Optimizer\.)"

_FEW, _ALIKE = 3, 2.0
"""Steps of equal work, whose median is the usual one: of two, either may be. Up to twice as much is
the same cause, as ``uneven_steps`` has it."""

_MOST_EXAMPLES = 5
"""A finding shows one typical event and a few of the longest."""


class Removal(Struct, frozen=True, eq=False):
    """Work that a fix removes, as the arguments of ``RuleContext.without`` say."""

    ops: I64 | None
    frames: I64 | None
    launches: I64 | None
    kernels: I64 | None
    waits: I64 | None
    instants: intervals.Set
    share: Shares | float
    """Of the time of the rows."""
    kernel_share: Shares | float
    """Of the time of the kernels."""


class RuleContext(JudgedTrace):
    """The argument of every rule: the judged trace, and the selections that rules share.

    Stable for users' rules: ``trace``, ``steps``, ``window``, ``window_ns``, ``idle``, ``vendor``,
    ``judged``, ``judged_kernels``, ``has``, ``lacks``, ``named``, ``share``, ``of_host``,
    ``of_device``, ``blocking``, ``operators``, ``top``, ``ops``, ``kernels``, ``copies``,
    ``outermost``, ``around``, ``launched_by``, ``time``, ``without``, ``change``, ``examples``,
    ``source``.
    The other members serve the built-in rules and may change in any version.
    """

    @functools.cached_property
    def operators(self) -> I64:
        """Return the judged rows of ``trace.ops`` that are operators.

        Old torch recorded ranges as operators: their names exclude them.
        """
        is_operator = self.judged & (self.trace.ops.kind == OPERATOR)
        return np.flatnonzero(is_operator & ~self.named("ops", _RANGES))

    @functools.cached_property
    def top(self) -> I64:
        """Return the rows of ``operators`` that no other operator called."""
        return self.outermost(self.operators)

    @functools.cached_property
    def top_in_order(self) -> I64:
        """Return the rows of ``top`` by thread and start."""
        ops, top = self.trace.ops, self.top
        return top[np.lexsort((ops.start_ns[top], ops.thread[top]))]

    def ops(self, pattern: str) -> I64:
        """Return the judged rows of ``trace.ops`` with such a name."""
        return np.flatnonzero(self.named("ops", pattern) & self.judged)

    def kernels(self, pattern: str) -> I64:
        """Return the judged rows of ``trace.kernels`` with such a name."""
        return np.flatnonzero(self.named("kernels", pattern) & self.judged_kernels)

    def copies(self) -> I64:
        """Return the judged rows of ``trace.kernels`` that are copies."""
        return np.flatnonzero(self.judged_kernels & (self.trace.kernels.kind == MEMCPY))

    def outermost(self, rows: I64) -> I64:
        """Return those rows of ``trace.ops`` that lie inside no other of these rows."""
        wanted = np.zeros(len(self.trace.ops), np.bool_)
        wanted[rows] = True
        return rows[self.around(self.trace.ops.parent[rows], wanted) < 0]

    def around(self, rows: I32 | I64, wanted: Bools) -> I64:
        """Return for each row of ``trace.ops`` its nearest wanted ancestor or itself, or ``NONE``.

        Climbs one level at a time: for few rows, this is faster than to number the whole tree.
        """
        return call_tree.around(self.trace.ops.parent, rows, wanted)

    def launched_by(self, wanted: Bools) -> I64:
        """Return the judged activities that operators inside of a wanted operator launched."""
        rows, ops, index = self._launching
        return rows[(self.around(ops, wanted) >= 0)[index]]

    @functools.cached_property
    def _launching(self) -> tuple[I64, I32, I64]:
        """Return judged activities with an operator, the distinct operators, and indices into them.

        The third array has an index per activity.
        """
        rows = np.flatnonzero(self.judged_kernels & (self.trace.kernels.op >= 0))
        op = self.trace.kernels.op[rows]
        ops = groupby.distinct_values(op).astype(np.int32)
        index = np.zeros(len(self.trace.ops), np.int64)
        index[ops] = np.arange(len(ops))
        return rows, ops, index[op]

    def time(self, rows: I64, table: TableName = "ops") -> intervals.Set:
        """Return the union of the rows' ranges."""
        columns: Any = getattr(self.trace, table)
        return intervals.union(columns.start_ns[rows], columns.end_ns[rows])

    def waits_in(self, wanted: Bools) -> I64:
        """Return the rows of ``limits.waits`` in judged time inside of a wanted operator."""
        waits = self.limits.waits
        rows = np.flatnonzero(
            intervals.covered_length(self.window, waits.start_ns, waits.end_ns) > 0
        )
        return rows[self.around(waits.op[rows], wanted) >= 0]

    def idle_by_waits(self, rows: I64) -> intervals.Set:
        """Return the idle time in waits of the host and after them, at most as long as each wait.

        ``rows`` are those of ``limits.waits``. Idle time in a wait is of the account's blocked
        classes.
        """
        waits = self.limits.waits
        inside = intervals.union(waits.start_ns[rows], waits.end_ns[rows])
        blocked = self.in_classes("synchronization", "blocking_copy")
        return intervals.merge(intervals.intersect(inside, blocked), self._after_waits(rows))

    def _after_waits(self, rows: I64) -> intervals.Set:
        """Return the device's idle time after waits of the host, at most as long as each wait.

        Without the wait, the host would have been ahead by its length. By the recorded times, the
        device may end later than the wait: by the slack of the clocks, and by the bounds of the
        last activity. Idle time after the last activity of all does not count: there the profiler
        waits, too.
        """
        if not len(self.trace.kernels):
            return intervals.EMPTY
        waits, (starts, ends) = self.limits.waits, self.idle
        before = starts < self.trace.kernels.start_ns[-1]
        starts, ends = starts[before], ends[before]
        begin, end = waits.start_ns[rows], waits.end_ns[rows]
        at = np.searchsorted(ends, end, side="right")
        exists = at < len(ends)
        begin, end, at = begin[exists], end[exists], at[exists]
        first = np.maximum(starts[at], begin)
        kernels = self.trace.kernels
        last = np.searchsorted(kernels.start_ns, first) - 1
        bound = np.maximum(kernels.start_bound_ns, 0) + np.maximum(kernels.duration_bound_ns, 0)
        near = first <= end + clock_slack_ns(self.trace) + np.where(last >= 0, bound[last], 0)
        # The profiler's own time may lie in between: it ends no wait's aftermath.
        following = np.searchsorted(kernels.start_ns, first, side="right")
        stop = np.minimum(kernels.start_ns[following], first + (end - begin))
        return intervals.intersect(intervals.union(first[near], stop[near]), self.idle)

    def usual(self, time: intervals.Set) -> intervals.Set:
        """Return some time without what a step has far beyond others of the same work.

        What a host takes too long for comes again in each step. What one step has beyond the others
        was held up by the machine, or begins with an empty device as the recording does.
        """
        first, last = self.trace.steps.start_ns[self.steps], self.trace.steps.end_ns[self.steps]
        spent = intervals.covered_length(time, first, last)
        activities = self.trace.kernels.step[self.judged_kernels]
        work = np.bincount(activities, minlength=len(self.trace.steps))[self.steps]
        share = np.ones(len(spent))
        for _, alike in groupby.split_by_value(work):
            if len(alike) >= _FEW:
                part = np.median(spent[alike]) / np.maximum(spent[alike], 1)
                share[alike] = np.where(part * _ALIKE < 1, part, 1)
        pieces, step = intervals.overlaps(time, (first, last))
        inside = np.maximum(time[0][pieces], first[step]), np.minimum(time[1][pieces], last[step])
        outside = intervals.subtract(time, intervals.union(first, last))
        return intervals.merge(outside, device_bound.shorten(inside, share[step]))

    def change(self, text: str) -> Change:
        """Return the change of the what-if with this text, as ``aten::nonzero=0``.

        Raises TraceError ``bad_change`` if nothing of that name is recorded.
        """
        (found,) = changes.parse_changes(self.trace, text)
        return found

    def without(
        self,
        *,
        ops: I64 | None = None,
        frames: I64 | None = None,
        launches: I64 | None = None,
        kernels: I64 | None = None,
        waits: I64 | None = None,
        instants: intervals.Set = intervals.EMPTY,
        share: Shares | float = 1.0,
        kernel_share: Shares | float | None = None,
    ) -> Scope:
        """Build the set of work that a fix removes: rows of the trace's tables.

        ``share`` (0 to 1) of their time goes: one number for all, or one per row of one table; of
        the kernels ``kernel_share``, if it is given. ``waits`` are rows of ``limits.waits`` that no
        longer wait. ``instants`` are removed from every thread that drives the device.
        """
        if kernel_share is None:
            kernel_share = share
        return self.scope_of(
            Removal(ops, frames, launches, kernels, waits, instants, share, kernel_share)
        )

    def scope_of(self, gone: Removal) -> Scope:
        """Build what ``without`` returns."""
        trace = self.trace
        tables = (
            (trace.ops, gone.ops), (trace.frames, gone.frames), (trace.launches, gone.launches)
        )  # fmt: skip
        host = no_ranges()
        for table, rows in tables:
            if rows is not None:
                own = Ranges.of(table, rows)
                length = np.floor((own.end_ns - own.start_ns) * gone.share).astype(np.int64)
                host = host.and_(replace(own, end_ns=own.start_ns + length))
        for thread in self._drivers.tolist() if len(gone.instants[0]) else ():
            threads = np.full(len(gone.instants[0]), thread, np.int32)
            host = host.and_(Ranges(threads, *gone.instants))
        shares = np.zeros(len(trace.kernels))
        if gone.kernels is not None:
            shares[gone.kernels] = gone.kernel_share
        if gone.waits is None:
            return Scope(host, shares)
        op, launch = (column[gone.waits].astype(np.int64)
                      for column in (self.limits.waits.op, self.limits.waits.launch))  # fmt: skip
        return Scope(host, shares, waiters=Waiters(op[op >= 0], launch[launch >= 0]))

    @functools.cached_property
    def _drivers(self) -> I32:
        """Return the threads that launch activities: those of the operators and of the calls.

        They differ where a backend hands launches to a thread of its own, its task queue. Where
        no launch is known, as without a device, it is those whose time the steps are made of.
        """
        trace = self.trace
        launch = trace.kernels.launch[self.judged_kernels & (trace.kernels.launch >= 0)]
        threads = np.concatenate((
            trace.ops.thread[self._launching[1]], trace.launches.thread[launch],
        ))  # fmt: skip
        if not len(threads):
            threads = np.flatnonzero(thread_roles(trace).driving).astype(np.int32)
        return groupby.distinct_values(threads).astype(np.int32)

    def examples(
        self, table: TableName, rows: I64, notes: Sequence[str] = ()
    ) -> tuple[Example, ...]:
        """Return a few rows as examples: one of median length, then the longest.

        With ``notes``, the first few as ordered.
        """
        columns: Any = getattr(self.trace, table)
        times = columns.ts_ns if table == "memory" else columns.start_ns
        if not notes and table != "memory":
            duration = columns.end_ns[rows] - columns.start_ns[rows]
            rows = rows[np.argsort(-duration, kind="stable")]
            # The first one is linked: the longest of many is often the odd one.
            middle = len(rows) // 2
            rows = np.concatenate((rows[middle : middle + 1], rows[:middle], rows[middle + 1 :]))
        return tuple(
            Example(
                table=table,
                row=int(row),
                name="[memory]"
                if table == "memory"
                else self.trace.text(columns.name[row])[:LONGEST_NAME],
                thread=labels.place(self.trace, columns, row, LONGEST_NAME),
                start_ns=int(times[row]),
                note=notes[i] if i < len(notes) else None,
            )
            for i, row in enumerate(rows[:_MOST_EXAMPLES].tolist())
        )

    def source(self, ops: I64) -> ProgramFunction | None:
        """Return the user's function with most of the operators' time; None without stacks."""
        return user_functions.of_operators(self.trace, ops[ops >= 0])

    def source_of_waits(self, rows: I64, claim: intervals.Set) -> ProgramFunction | None:
        """Return the user's function whose waits have most of a claim in and behind them.

        ``rows`` are those of ``limits.waits``, all in operators or all outside. A long wait for a
        busy device costs nothing.
        """
        waits = self.limits.waits
        start, end = waits.start_ns[rows], waits.end_ns[rows]
        # Idle time behind a wait is that of the last one before it.
        until = np.minimum(2 * end - start, np.append(start[1:], np.iinfo(np.int64).max))
        weight_ns = intervals.covered_length(claim, start, np.maximum(until, end))
        known = waits.op[rows] >= 0
        if not known.any():
            launches = waits.launch[rows].astype(np.int64)
            return user_functions.of_launches(self.trace, launches, weight_ns)
        ops = waits.op[rows][known].astype(np.int64)
        return user_functions.of_operators(self.trace, ops, weight_ns[known])
