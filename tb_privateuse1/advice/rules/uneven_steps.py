"""Step-time outliers: steps much longer than the median."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rules.base import Rule, RuleContext, RuleFinding, plural, say
from tb_privateuse1.analysis.idle import launch_times
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64

_FACTOR, _FEW = 1.3, 3


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the excess of complete steps over the median, by its largest part."""
    steps = case.trace.steps
    rows = case.steps
    # The first step waits for work from before the recording.
    hidden = intervals.covered_length(
        launch_times.unrecorded_start(case.trace), steps.start_ns, steps.end_ns
    )
    start = steps.start_ns + hidden
    duration = steps.end_ns[rows] - start[rows]
    if len(rows) < _FEW:
        return
    median = round(float(np.median(duration)))
    slow = np.flatnonzero(duration > _FACTOR * median)
    if not len(slow) or median <= 0:
        return
    at = rows[slow]
    claim = intervals.union(start[at] + median, steps.end_ns[at])
    ranges = _ranges(case, at)
    parts = breakdown.step_breakdown(case.trace)
    usual = {part: float(np.median(column[rows])) for part, column in parts.items()}
    excess_ns = {part: float(parts[part][at].sum()) - len(at) * usual[part] for part in parts}
    part = max(excess_ns, key=lambda name: excess_ns[name])
    first = say(" The first one is among them: it may still warm up.") if 0 in slow else ""
    longest = float(duration[slow].max()) / median
    yield RuleFinding(
        title=say(
            "{steps} of {whole} took up to {longest:.1f} times as long as the others",
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
            first=first,
        ),
        events=len(at),
        evidence=case.examples("ops", ranges),
        how=say("What each of these steps took beyond the median, and no other finding explains."),
        claim=claim,
        confidence="low" if first else "medium",
        lacks=case.lacks("shapes", "stacks"),
    )


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
