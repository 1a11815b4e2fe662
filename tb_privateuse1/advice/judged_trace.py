"""The part of a trace that rules examine: its steady steps, their classes of time, the names."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Literal

import numpy as np

from tb_privateuse1.analysis.account import classes
from tb_privateuse1.analysis.account.class_intervals import ClassIntervals, within
from tb_privateuse1.analysis.account.classes import NAMES, ClassName
from tb_privateuse1.analysis.account.classification import classify_time
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.recording.capture_notes import recorded_pages
from tb_privateuse1.analysis.recording.iterations import has_steps
from tb_privateuse1.analysis.recording.judged_part import JudgedPart, judged_part
from tb_privateuse1.i18n import Text, join_list, say
from tb_privateuse1.trace import call_tree, device_times, groupby, intervals
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.findings import TableName
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.trace.table import I32, I64, Bools
from tb_privateuse1.trace.vendor import Vendor

Need = Literal[
    "device",
    "work",
    "operators",
    "steps",
    "shapes",
    "stacks",
    "memory",
    "links",
    "collectives",
    "counters",
    "pages",
    "steady",
]
"""A kind of data that a rule needs in the trace."""

LACKS: dict[Need, str] = {
    "device": say("device times (on a PrivateUse1 device, record with tb_privateuse1.capture)"),
    "work": say("times of work: of a device, or of operators on a host alone"),
    "operators": say("operators (ProfilerActivity.CPU)"),
    "steps": say("two or more steps (a schedule and prof.step())"),
    "shapes": say("input shapes (record_shapes=True)"),
    "stacks": say("Python stacks (with_stack=True)"),
    "memory": say("memory events (profile_memory=True)"),
    "links": say("links from device activities to operators"),
    "collectives": say("collectives with their sizes"),
    "counters": say("counters of the device (clocks, power)"),
    "pages": say("page faults of the process (record with tb_privateuse1.capture on Linux)"),
    "steady": say("a steady part (a schedule with wait and warmup)"),
}
"""The words for each kind of data, and how to record it."""
RECORDABLE = (LACKS["operators"], LACKS["shapes"], LACKS["stacks"], LACKS["memory"])
"""What the profiler records of any program if it is asked to: without operators, none of the
others."""


def unasked(lacks: Sequence[tuple[str, ...]], of: int) -> str:
    """Return how many rules lack only what any recording can have, and what that is.

    ``lacks`` are those of the rules that have found nothing, of ``of`` rules in all.
    """
    silent = [one for one in lacks if one and set(one) <= set(RECORDABLE)]
    if not silent:
        return ""
    return say(
        "{count} of {all} checks could not look, or only in part: they need {names}.",
        count=len(silent),
        all=of,
        names=join_list(text for text in RECORDABLE if any(text in one for one in silent)),
    )


_BY_HOST: tuple[ClassName, ...] = tuple(
    one.name for one in classes.CLASSES if one.group in ("blocked", "host")
)
"""The classes of idle time for which the host is the reason."""


class JudgedTrace:
    """A trace and its judged steps. ``rule_context.RuleContext`` adds the selection of rows.

    ``part``: by default all steps that are complete and steady (``analysis.recording``).
    """

    is_host = False
    """Whether the activities are operators of a host without a device."""

    def __init__(self, trace: Trace, part: JudgedPart | None = None) -> None:
        self.trace = trace
        part = judged_part(trace) if part is None else part
        self.part = part
        self.steps: I64 = part.steps
        """The judged rows of ``trace.steps``."""
        self.window = part.window
        """The steady time of the judged steps: rules save nothing outside of it."""
        self.apart = part.apart
        """The other time of the judged steps."""
        self.is_steady = part.is_steady
        """Whether any part of the recording can be judged."""
        self.window_ns = intervals.length(self.window)

    @functools.cached_property
    def limits(self) -> device_bound.Limits:
        """Return when the device is busy, when its work is awaited, and the host's waits."""
        return device_bound.find_limits(self.trace, self.window)

    @functools.cached_property
    def class_intervals(self) -> ClassIntervals:
        """Return the account of the judged time: each instant in exactly one class."""
        return within(classify_time(self.trace), self.window)

    @functools.cached_property
    def _classes(self) -> dict[ClassName, intervals.Set]:
        own = self.class_intervals
        return {
            NAMES[number]: intervals.union(own.start_ns[rows], own.end_ns[rows])
            for number, rows in groupby.split_by_value(own.time_class)
        }

    def in_classes(self, *names: ClassName) -> intervals.Set:
        """Return the judged time of classes of the account; of idle and exposed ones the known."""
        found = intervals.EMPTY
        for name in names:
            time = self.class_time(name)
            if name in classes.IDLE:
                time = intervals.intersect(time, self.limits.all_idle)
            elif name != "kernel":  # exposed: no kernel runs beside it, as far as is recorded
                time = intervals.subtract(time, device_times.unknown_time(self.trace))
            found = intervals.merge(found, time)
        return found

    def share_of(self, *names: ClassName) -> float:
        """Return what the account has of some classes, as a share of the judged time."""
        return self.share(sum(intervals.length(self.class_time(name)) for name in names))

    def class_time(self, name: ClassName) -> intervals.Set:
        """Return the judged time of a class, as the account has it."""
        return self._classes.get(name, intervals.EMPTY)

    @functools.cached_property
    def idle(self) -> intervals.Set:
        """Return when the device has no work because the host works or is blocked."""
        return self.in_classes(*_BY_HOST)

    @property
    def vendor(self) -> Vendor:
        """Return the vendor of the trace's device."""
        return self.trace.vendor

    @functools.cached_property
    def judged(self) -> Bools:
        """Return a flag per row of ``trace.ops``: it began in a judged step."""
        return _in_steps(self.trace.ops.step, self.steps, len(self.trace.steps))

    @functools.cached_property
    def judged_kernels(self) -> Bools:
        """Return a flag per row of ``trace.kernels``: it belongs to a judged step."""
        return _in_steps(self.trace.kernels.step, self.steps, len(self.trace.steps))

    @functools.cached_property
    def has(self) -> frozenset[Need]:
        """Return the kinds of data that the trace has."""
        trace = self.trace
        present: dict[Need, bool] = {
            "device": len(trace.kernels) > 0,
            "work": len(trace.kernels) > 0,
            "operators": bool((trace.ops.kind == OPERATOR).any()),
            "steps": len(self.steps) > 1,
            "shapes": bool((trace.ops.shapes >= 0).any() or (trace.captured_ops.shapes >= 0).any()),
            "stacks": call_tree.has_functions(trace),
            "memory": len(trace.memory) > 0,
            "links": bool((trace.kernels.op >= 0).any()),
            "collectives": len(trace.collectives) > 0,
            "counters": len(trace.counter_samples) > 0,
            "pages": recorded_pages(trace) is not None,
            "steady": self.is_steady,
        }
        return frozenset(need for need, is_present in present.items() if is_present)

    def lacks(self, *needs: Need) -> tuple[str, ...]:
        """Return the words for each of these kinds of data that the trace does not have.

        A program on the host alone has no device whose times could be recorded.
        """
        is_alone = self.is_host or device_times.is_on_host_alone(self.trace)
        has = self.has | {"device"} if is_alone else self.has
        return tuple(LACKS[need] for need in needs if need not in has)

    @functools.cached_property
    def _names(self) -> dict[str, tuple[I64, tuple[str, ...]]]:
        """Return by table the ids of the names in it, and their texts."""
        names = {}
        for table in ("ops", "kernels", "launches", "frames"):
            column: I32 = getattr(self.trace, table).name
            ids = np.flatnonzero(np.bincount(column[column >= 0], minlength=1))
            names[table] = ids, tuple(self.trace.strings[i] for i in ids.tolist())
        return names

    @functools.cached_property
    def _named(self) -> dict[tuple[TableName, str], I64]:
        """Return by table and expression the names of the table in which it was found: few."""
        return {}

    def named(self, table: TableName, pattern: str) -> Bools:
        """Return a flag per row of a table: the regular expression is found in its name."""
        found = self._named.get((table, pattern))
        if found is None:
            ids, texts = self._names[table]
            find = re.compile(pattern).search
            found = ids[np.array([find(text) is not None for text in texts], np.bool_)]
            self._named[table, pattern] = found
        column: I32 = getattr(self.trace, table).name
        return groupby.rows_of(mask_of(found, len(self.trace.strings) + 1), column)

    @functools.cached_property
    def per_step(self) -> Text:
        """Return the words behind a count of each step, or of all that is judged."""
        return say("a step") if has_steps(self.trace) else say("in the analyzed time")

    @functools.cached_property
    def inside(self) -> Text:
        """Return the words for what happens within steps, or in all that is judged without any."""
        return say("within the steps") if has_steps(self.trace) else say("in the analyzed time")

    def share(self, ns: int) -> float:
        """Return a time as a share of the judged time; 0 if nothing is judged."""
        return ns / self.window_ns if self.window_ns else 0.0

    def of_host(self, spent: intervals.Set) -> intervals.Set | None:
        """Return the part of host time that its removal saves; None if the limits are unknown."""
        return None if self.limits.known == "none" else intervals.intersect(spent, self.idle)

    def of_device(self, spent: intervals.Set) -> intervals.Set:
        """Return the part of device time that its removal saves."""
        return self.limits.of_device(spent)

    def blocking(self, spent: intervals.Set) -> intervals.Set:
        """Return the judged part of time in which the program surely stood still."""
        return intervals.intersect(spent, self.window)


def _in_steps(step: I32, steps: I64, count: int) -> Bools:
    is_judged = np.zeros(count + 1, np.bool_)  # one more: ``NONE`` reads the last entry
    is_judged[steps] = True
    flags: Bools = is_judged[step]
    return flags
