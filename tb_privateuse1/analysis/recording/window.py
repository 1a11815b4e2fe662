"""The window of a result: the part of a recording that all of its figures are about.

A request names it once (``views.base.chosen_window``), and every view, rule and export takes its
rows and its time from here.
"""

from __future__ import annotations

import functools
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.recording.durations import write_duration
from tb_privateuse1.analysis.recording.iterations import has_steps
from tb_privateuse1.analysis.recording.judged_part import (
    JudgedPart,
    judged_part,
    phase_part,
    whole_part,
)
from tb_privateuse1.analysis.recording.phases import FIRST_TIME, phases, time_of
from tb_privateuse1.analysis.steps import bounds as steps_bounds
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.step_names import PHASES
from tb_privateuse1.trace.table import I32, I64, Bools

WindowKind = Literal["steady", "all", "step", "prefill", "decode", "mixed"]
"""The last three are phases of serving: the steps of their trace are iterations
(``analysis.serving.phase_steps``)."""


class WindowFacts(Struct, frozen=True):
    """The window of an answer in words and figures."""

    kind: WindowKind
    text: str
    """Such as ``steady: 35.2 ms of 49.8 ms``."""
    time_ns: int
    """The length of its time."""
    recording_ns: int
    """The length of the recording."""
    recorded_steps: int
    """How many recorded steps are in it; 0 if the recording has none."""


class Window:
    """The rows and the time of a part of a trace.

    ``steady``: whole steps that repeat, without start-up and without the edges of the recording;
    all of it where nothing is steady. ``step``: one row of ``trace.steps``, without such time.
    ``all``: every row, and the time of all steps. A phase: the steps named by it,
    without the time of work from before the recording.
    """

    def __init__(self, trace: Trace, kind: WindowKind, row: int | None = None) -> None:
        self.trace = trace
        self._row = row
        self.asked = kind

    @functools.cached_property
    def part(self) -> JudgedPart:
        """Return what rules and the replay judge; nothing where nothing is steady."""
        if self.asked in PHASES:
            return phase_part(self.trace, self.steps)
        return whole_part(self.trace) if self.asked == "all" else judged_part(self.trace, self._row)

    @functools.cached_property
    def _is_cut(self) -> bool:
        """Return whether its time is that of the judged part."""
        return self.asked != "all" and intervals.length(self.part.window) > 0

    @property
    def kind(self) -> WindowKind:
        """Return what it is: all of the recording where nothing is steady."""
        return "all" if self.asked == "steady" and not self._is_cut else self.asked

    @functools.cached_property
    def steps(self) -> I64:
        """Return its rows of ``trace.steps``."""
        if self.kind == "steady":
            return self.part.steps
        if self.asked in PHASES:
            names = (self.trace.text(name) for name in self.trace.steps.name.tolist())
            own = [i for i, name in enumerate(names) if name.startswith(f"{self.asked}#")]
            return np.array(own, np.int64)
        return np.arange(len(self.trace.steps)) if self._row is None else np.array([self._row])

    @property
    def key(self) -> tuple[WindowKind, int | None]:
        """Return what tells it from other windows of the trace."""
        return self.kind, self._row

    @functools.cached_property
    def time(self) -> intervals.Set:
        """Return its instants on the device's clock."""
        if self._is_cut:
            return self.part.window
        steps = self.trace.steps
        return intervals.union(steps.start_ns[self.steps], steps.end_ns[self.steps])

    @functools.cached_property
    def complete_steps(self) -> I64:
        """Return those of its steps that averages are of: complete, and not primed; or the step."""
        steps = self.trace.steps
        if self.kind == "step":
            return self.steps
        whole: I64 = self.steps[~steps.incomplete[self.steps] & ~steps.primed[self.steps]]
        return whole

    @property
    def compared_steps(self) -> I64:
        """Return the complete steps; if none is complete, all."""
        return self.complete_steps if len(self.complete_steps) else self.steps

    @property
    def is_cut(self) -> bool:
        """Return whether time of its steps is left out."""
        return self._is_cut and intervals.length(self.part.apart) > 0

    @property
    def ns(self) -> int:
        """Return the length of its time."""
        return intervals.length(self.time)

    @property
    def bound_ns(self) -> int | None:
        """Return how far off the length may be; None if that is not known."""
        return steps_bounds.total_bound(self.trace, self.steps)

    @functools.cached_property
    def host_time(self) -> intervals.Set:
        """Return when the host works for it: it launches ahead of the device."""
        steps = self.trace.steps
        start, end = steps.host_start_ns[self.steps], steps.host_end_ns[self.steps]
        return intervals.subtract(intervals.union(start, end), self._left_out)

    @functools.cached_property
    def _left_out(self) -> intervals.Set:
        """Return the host's time that is left out: first-time work, or all but the iterations.

        Drains and the profiler's end are the device's.
        """
        if not self._is_cut:
            return intervals.EMPTY
        if self.part.of_iterations:
            return self.part.apart
        return intervals.intersect(self.part.apart, time_of(phases(self.trace), FIRST_TIME))

    @functools.cached_property
    def kernels(self) -> Bools:
        """Return a flag per device activity: its step is in the window, and some of its time."""
        kernels = self.trace.kernels
        return self._chosen(kernels.step, kernels.start_ns, kernels.end_ns, self.part.apart)

    @functools.cached_property
    def ops(self) -> Bools:
        """Return a flag per operator or annotation: it began in a step of the window."""
        ops = self.trace.ops
        return self._chosen(ops.step, ops.start_ns, ops.end_ns, self._left_out)

    def _chosen(self, step: I32, start_ns: I64, end_ns: I64, apart: intervals.Set) -> Bools:
        flags = np.ones(len(step), np.bool_)
        if self.kind == "all":
            return flags
        if has_steps(self.trace):
            # One more: ``NONE`` reads the last.
            chosen = np.zeros(len(self.trace.steps) + 1, np.bool_)
            chosen[self.steps] = True
            flags = chosen[step]
        if self._is_cut and len(apart[0]):
            outside = intervals.covered_length(apart, start_ns, end_ns)
            flags = flags & ((outside < end_ns - start_ns) | (end_ns == start_ns))
        return flags

    def starts(self, start_ns: I64) -> Bools:
        """Return which host ranges begin in it."""
        if self.kind == "all":
            return np.ones(len(start_ns), np.bool_)
        if not has_steps(self.trace):
            left_out: Bools = intervals.covered_length(self._left_out, start_ns, start_ns + 1) > 0
            return ~left_out
        begun: Bools = intervals.covered_length(self.host_time, start_ns, start_ns + 1) > 0
        return begun

    @functools.cached_property
    def facts(self) -> WindowFacts:
        """Return it in words and figures."""
        trace, steps = self.trace, self.trace.steps
        time, whole = write_duration(self.ns), write_duration(trace.end_ns)
        if self.kind == "step":
            name = trace.text(steps.name[self.steps[0]])
            text = say("{name}: {time} of {whole}", name=name, time=time, whole=whole)
        elif self.kind == "steady":
            text = say("steady: {time} of {whole}", time=time, whole=whole)
        elif self.kind in PHASES:
            text = say(
                "{phase}: {time} of {whole}",
                phase=_phase_words()[self.kind],
                time=time,
                whole=whole,
            )
        else:
            text = say("all: {whole}", whole=whole) if trace.end_ns else say("no events")
        count = len(self.steps) if has_steps(trace) else 0
        return WindowFacts(self.kind, text, self.ns, trace.end_ns, count)


def _phase_words() -> dict[str, str]:
    return {"prefill": say("prefill"), "decode": say("decode"), "mixed": say("mixed phase")}
