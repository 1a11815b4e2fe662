"""Step-time outliers: steps much longer than the median."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rules.base import Rule, RuleContext, RuleFinding, plural, say
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64

_FACTOR, _FEW = 1.3, 3


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the excess of complete steps over the median, by its largest part."""
    steps = case.trace.steps
    rows = case.steps
    # The judged time leaves out work from before the recording, and the profiler's end.
    first, last = _edges(case.window, steps.start_ns[rows], steps.end_ns[rows])
    duration = last - first
    if len(rows) < _FEW:
        return
    median = round(float(np.median(duration)))
    slow = np.flatnonzero(duration > _FACTOR * median)
    if not len(slow) or median <= 0:
        return
    at = rows[slow]
    claim = intervals.union(first[slow] + median, last[slow])
    ranges = _ranges(case, at)
    parts = breakdown.step_breakdown(case.trace)
    usual = {part: float(np.median(column[rows])) for part, column in parts.items()}
    excess_ns = {part: float(parts[part][at].sum()) - len(at) * usual[part] for part in parts}
    part = max(excess_ns, key=lambda name: excess_ns[name])
    early = say(" The first one is among them: it may still warm up.") if 0 in slow else ""
    longest = float(duration[slow].max()) / median
    yield RuleFinding(
        title=say(
            "Step-time outliers: {steps} of {whole}, up to {longest:.1f}× the others",
            steps=plural(len(at), "step"),
            whole=len(rows),
            longest=longest,
        ),
        explanation=say(
            "The median step takes {median:,.4g} ms. What the long ones have most of beyond "
            "that is time of the kind `{part}` ({more:,.4g} ms).{first}",
            median=median / 1e6,
            part=part,
            more=excess_ns[part] / 1e6,
            first=early,
        ),
        events=len(at),
        evidence=case.examples("ops", ranges),
        how=say("What each of these steps took beyond the median, and no other finding explains."),
        claim=claim,
        confidence="low" if early else "medium",
        lacks=case.lacks("shapes", "stacks"),
    )


def _edges(window: intervals.Set, start: I64, end: I64) -> tuple[I64, I64]:
    """Return the first and the last instant of each step that the window covers."""
    if not len(window[0]):
        return start, start
    at = np.minimum(np.searchsorted(window[1], start, side="right"), len(window[0]) - 1)
    first = np.maximum(start, window[0][at])
    at = np.maximum(np.searchsorted(window[0], end) - 1, 0)
    last = np.minimum(end, window[1][at])
    return first, np.maximum(first, last)


def _ranges(case: RuleContext, at: I64) -> I64:
    """Return the ranges ``ProfilerStep#N`` of these steps."""
    names = case.trace.steps.name[at]
    ops = case.trace.ops
    ranges: I64 = np.flatnonzero(np.isin(ops.name, names[names != NONE]))
    return ranges


RULE = Rule(
    name="uneven_steps",
    title=say("Uneven steps"),
    cause="launching",
    looks_for=say("Complete steps that take 1.3 times the median or more."),
    why=say("Averages hide them; in a job of many ranks all wait for the slowest."),
    fix=say(
        "Look at such a step beside a usual one: data that came late, a new shape that is "
        "compiled, a checkpoint, garbage collection. Leave out the first steps with the "
        "schedule's warmup."
    ),
    threshold=say("1.3 times the median of three or more steps: noise stays below."),
    reference=say("docs/reference/definitions.md, steps."),
    check=check,
    needs=("steps",),
    precedence="step",
)
