"""What rules ask of a trace: the judged steps, names, waits, what limits, and examples."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tb_privateuse1.advice.removal_replay import Removal
from tb_privateuse1.analysis.idle import bottleneck
from tb_privateuse1.analysis.operators import source_lines
from tb_privateuse1.analysis.simulation.changes import Shares
from tb_privateuse1.analysis.simulation.submissions import Ranges
from tb_privateuse1.analysis.steps import judged_window
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import groupby, intervals, labels
from tb_privateuse1.trace.findings import Example, TableName
from tb_privateuse1.trace.model import MEMCPY, OPERATOR, Trace
from tb_privateuse1.trace.table import I32, I64, Bools
from tb_privateuse1.trace.vendor import Vendor

Need = Literal["device", "operators", "steps", "shapes", "stacks", "memory", "links", "collectives"]
"""What a rule may read."""

_RANGES = r"^(ProfilerStep#|enumerate\(DataLoader\)|Optimizer\.)"

_MOST_EXAMPLES = 5
_LONGEST_NAME = 200


class RuleContext:
    """A trace, the steps of it that are judged, and what rules often ask of them.

    ``row`` is a selected row of ``trace.steps``; without, all complete steps are judged in which
    our capture did not keep the device busy.
    """

    def __init__(self, trace: Trace, row: int | None = None) -> None:
        self.trace = trace
        steps = trace.steps
        chosen = np.arange(len(steps)) if row is None else np.array([row])
        complete = chosen[~steps.incomplete[chosen] & ~steps.primed[chosen]]
        self.steps: I64 = complete if len(complete) else chosen
        """Rows of ``trace.steps``."""
        self.window = judged_window.judged_window(trace, self.steps)
        self.window_ns = intervals.length(self.window)

    @functools.cached_property
    def limits(self) -> bottleneck.Limits:
        """What limits when."""
        return bottleneck.find_limits(self.trace, self.window)

    @property
    def vendor(self) -> Vendor:
        """The data of the trace's device."""
        return self.trace.vendor

    @functools.cached_property
    def judged(self) -> Bools:
        """Which rows of ``trace.ops`` began in the judged steps."""
        return _among(self.trace.ops.step, self.steps, len(self.trace.steps))

    @functools.cached_property
    def judged_kernels(self) -> Bools:
        """Which rows of ``trace.kernels`` belong to the judged steps."""
        return _among(self.trace.kernels.step, self.steps, len(self.trace.steps))

    @functools.cached_property
    def operators(self) -> I64:
        """Judged rows of ``trace.ops`` that are operators; old torch wrote ranges as such."""
        working = self.judged & (self.trace.ops.kind == OPERATOR)
        return np.flatnonzero(working & ~self.named("ops", _RANGES))

    @functools.cached_property
    def top(self) -> I64:
        """Those of ``operators`` that no other operator has called."""
        return self.outermost(self.operators)

    @functools.cached_property
    def _launching(self) -> tuple[I64, I32, I64]:
        """Judged activities of operators, these operators, and which of them is each one's."""
        rows = np.flatnonzero(self.judged_kernels & (self.trace.kernels.op >= 0))
        op = self.trace.kernels.op[rows]
        ops = groupby.distinct_values(op).astype(np.int32)
        place = np.zeros(len(self.trace.ops), np.int64)
        place[ops] = np.arange(len(ops))
        return rows, ops, place[op]

    @functools.cached_property
    def has(self) -> frozenset[Need]:
        """What of ``Need`` the trace has."""
        trace = self.trace
        told: dict[Need, bool] = {
            "device": len(trace.kernels) > 0,
            "operators": bool((trace.ops.kind == OPERATOR).any()),
            "steps": len(self.steps) > 1,
            "shapes": bool((trace.ops.shapes >= 0).any()),
            "stacks": len(trace.frames) > 0 or bool((trace.ops.stack >= 0).any()),
            "memory": len(trace.memory) > 0,
            "links": bool((trace.kernels.op >= 0).any()),
            "collectives": len(trace.collectives) > 0,
        }
        return frozenset(need for need, there in told.items() if there)

    @functools.cached_property
    def _names(self) -> dict[str, tuple[I64, tuple[str, ...]]]:
        used = {}
        for table in ("ops", "kernels", "launches", "frames"):
            column: I32 = getattr(self.trace, table).name
            ids = np.flatnonzero(np.bincount(column[column >= 0], minlength=1))
            used[table] = ids, tuple(self.trace.text(i) for i in ids)
        return used

    def named(self, table: TableName, pattern: str) -> Bools:
        """Which rows of a table have a name in which the regular expression is found."""
        ids, texts = self._names[table]
        find = re.compile(pattern).search
        flag = np.zeros(len(self.trace.strings) + 1, np.bool_)
        flag[ids] = [find(text) is not None for text in texts]
        column: I32 = getattr(self.trace, table).name
        found: Bools = flag[column]
        return found

    def ops(self, pattern: str) -> I64:
        """Judged rows of ``trace.ops`` with such a name."""
        return np.flatnonzero(self.named("ops", pattern) & self.judged)

    def kernels(self, pattern: str) -> I64:
        """Judged rows of ``trace.kernels`` with such a name."""
        return np.flatnonzero(self.named("kernels", pattern) & self.judged_kernels)

    def outermost(self, rows: I64) -> I64:
        """Those of these rows of ``trace.ops`` that are in none of the others."""
        wanted = np.zeros(len(self.trace.ops), np.bool_)
        wanted[rows] = True
        return rows[self.around(self.trace.ops.parent[rows], wanted) < 0]

    def around(self, rows: I32 | I64, wanted: Bools) -> I64:
        """For each row of ``trace.ops`` itself or its nearest ancestor that is wanted, or ``NONE``.

        Of few rows: climbs one level at a time.
        """
        at = rows.astype(np.int64)
        parent, wanted = self.trace.ops.parent, np.append(wanted, True)
        open_ = np.flatnonzero(~wanted[at])
        while len(open_):
            at[open_] = parent[at[open_]]
            open_ = open_[~wanted[at[open_]]]
        return at

    def time(self, rows: I64, table: TableName = "ops") -> intervals.Set:
        """When any of these rows ran."""
        columns: Any = getattr(self.trace, table)
        return intervals.union(columns.start_ns[rows], columns.end_ns[rows])

    def of_host(self, spent: intervals.Set) -> intervals.Set | None:
        """Of what the host did, the part that would be saved; None if nothing tells."""
        return None if self.limits.known == "none" else self.limits.of_host(spent)

    def of_device(self, spent: intervals.Set) -> intervals.Set:
        """Of what the device did, the part that would be saved."""
        return self.limits.of_device(spent)

    def blocking(self, spent: intervals.Set) -> intervals.Set:
        """Time in which the program surely stood still, within the judged steps."""
        return intervals.intersect(spent, self.window)

    def waits_in(self, wanted: Bools) -> I64:
        """Rows of ``limits.waits`` inside of one of the wanted operators, in the judged time."""
        waits = self.limits.waits
        rows = np.flatnonzero(
            intervals.covered_length(self.window, waits.start_ns, waits.end_ns) > 0
        )
        return rows[self.around(waits.op[rows], wanted) >= 0]

    def after_waits(self, rows: I64) -> intervals.Set:
        """How long the device then had nothing to do, at most as long as the host had waited.

        So long a wait would have been a lead of the host. Behind the last activity nothing is
        late: there the profiler waits, too.
        """
        if not len(self.trace.kernels):
            return intervals.EMPTY
        waits, (starts, ends) = self.limits.waits, self.limits.idle
        before = starts < self.trace.kernels.start_ns[-1]
        starts, ends = starts[before], ends[before]
        begin, end = waits.start_ns[rows], waits.end_ns[rows]
        at = np.searchsorted(ends, end, side="right")
        hit = at < len(ends)
        begin, end, at = begin[hit], end[hit], at[hit]
        from_ = np.maximum(starts[at], begin)
        near = from_ <= end + _NEXT_NS
        stop = np.minimum(ends[at], from_ + (end - begin))
        return intervals.union(from_[near], stop[near])

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
    ) -> Removal:
        """What a finding's mending takes away, for the replay: rows of the trace's tables.

        Of their time ``share`` (0 to 1), of all or of each row of one table; of ``waits``, rows of
        ``limits.waits``, that they wait; in ``instants``, what any launching thread does.
        """
        trace, none = self.trace, np.empty(0, np.int64)
        tables = (trace.ops, ops), (trace.frames, frames), (trace.launches, launches)
        host = Ranges.of(trace.ops, none)
        for table, rows in tables:
            if rows is not None:
                own = Ranges.of(table, rows)
                length = np.floor((own.end_ns - own.start_ns) * share).astype(np.int64)
                host = host.and_(dataclasses.replace(own, end_ns=own.start_ns + length))
        for thread in self._launchers.tolist() if len(instants[0]) else ():
            here = np.full(len(instants[0]), thread, np.int32)
            host = host.and_(Ranges(here, *instants))
        gone = none if waits is None else waits
        return Removal(
            host=host,
            kernels=none if kernels is None else kernels,
            shares=1.0 if kernels is None else share,
            wait_ops=self.limits.waits.op[gone].astype(np.int64),
            wait_launches=self.limits.waits.launch[gone].astype(np.int64),
        )

    @functools.cached_property
    def _launchers(self) -> I32:
        """The threads of operators that launch activities."""
        return groupby.distinct_values(self.trace.ops.thread[self._launching[1]]).astype(np.int32)

    def launched_by(self, wanted: Bools) -> I64:
        """Judged activities that operators inside of a wanted one launched."""
        rows, ops, of = self._launching
        return rows[(self.around(ops, wanted) >= 0)[of]]

    def copies(self) -> I64:
        """Judged copies on the device."""
        return np.flatnonzero(self.judged_kernels & (self.trace.kernels.kind == MEMCPY))

    def examples(
        self, table: TableName, rows: I64, notes: Sequence[str] = ()
    ) -> tuple[Example, ...]:
        """The longest few of some rows; with ``notes``, the first few in the order given."""
        columns: Any = getattr(self.trace, table)
        times = columns.ts_ns if table == "memory" else columns.start_ns
        if not notes and table != "memory":
            duration = columns.end_ns[rows] - columns.start_ns[rows]
            rows = rows[np.argsort(-duration, kind="stable")]
        return tuple(
            Example(
                table=table,
                row=int(row),
                name="[memory]"
                if table == "memory"
                else self.trace.text(columns.name[row])[:_LONGEST_NAME],
                thread=labels.place(self.trace, columns, row, _LONGEST_NAME),
                start_ns=int(times[row]),
                note=notes[i] if i < len(notes) else None,
            )
            for i, row in enumerate(rows[:_MOST_EXAMPLES].tolist())
        )

    def source(self, ops: I64) -> str | None:
        """The line of the user's program behind most of the time of some operators."""
        return source_lines.operator_line(self.trace, ops[ops >= 0])

    def lacks(self, *needs: Need) -> tuple[str, ...]:
        """In words, which of these the trace does not have."""
        return tuple(LACKS[need] for need in needs if need not in self.has)

    def share(self, ns: int) -> float:
        """Of the judged time."""
        return ns / self.window_ns if self.window_ns else 0.0


LACKS: dict[Need, str] = {
    "device": say("device times (on a PrivateUse1 device, record with tb_privateuse1.capture)"),
    "operators": say("operators (ProfilerActivity.CPU)"),
    "steps": say("two or more steps (a schedule and prof.step())"),
    "shapes": say("input shapes (record_shapes=True)"),
    "stacks": say("Python stacks (with_stack=True)"),
    "memory": say("memory events (profile_memory=True)"),
    "links": say("links from device activities to operators"),
    "collectives": say("collectives with their sizes"),
}

_NEXT_NS = 50_000
"""A gap belongs to a wait that ended less than this before it: clocks of host and device differ."""


def _among(step: I32, steps: I64, count: int) -> Bools:
    flag = np.zeros(count + 1, np.bool_)  # one more: ``NONE`` reads the last entry
    flag[steps] = True
    found: Bools = flag[step]
    return found
