"""Device events too coarse to time most operators, or inferred times with wide bounds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Rule, RuleFinding
from tb_privateuse1.i18n import join_sentences, say
from tb_privateuse1.i18n.units import percent, with_unit
from tb_privateuse1.trace.groupby import distinct_values
from tb_privateuse1.trace.model import MISSING, Trace

_LEAST = 0.5
"""Share of the operators: then the other half carries no advice."""
_WIDE = 0.5
"""Share of the durations that their bounds make up."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield if elapsed times are near their resolution, or bounds near the bounded times."""
    trace = case.trace
    coarse = [finding for finding in trace.meta.findings if finding.code == "elapsed_coarse"]
    if coarse:
        text = join_sentences((coarse[0].message, coarse[0].hint or ""))
        yield _found(say("The device's events are too coarse to time operators"), text, 0)
        return
    if trace.meta.timeline != "inferred":
        return
    # Operators without a launch take no device time: their 0 is correct.
    launchers = distinct_values(trace.kernels.op[trace.kernels.op >= 0])
    elapsed = trace.ops.elapsed_ns[launchers]
    elapsed = elapsed[elapsed != MISSING]
    resolution = _resolution_ns(trace)
    zero = float((elapsed <= (resolution or 0)).mean()) if len(elapsed) else 0.0
    if zero >= _LEAST and resolution:
        yield _found(
            say(
                "{share} of the device's event times are no longer than the clock can tell",
                share=percent(zero),
            ),
            say(
                "The backend's events count in {resolution}; most operators take less, so their "
                "device times are rounded to nothing or to one count.",
                resolution=with_unit("resolution_ns", resolution),
            ),
            len(elapsed),
        )
        return
    kernels = trace.kernels
    duration = kernels.end_ns - kernels.start_ns
    unknown = kernels.duration_bound_ns == MISSING
    bounds = np.where(unknown, duration, kernels.duration_bound_ns)
    if int(bounds.sum()) < _WIDE * int(duration.sum()):
        return
    yield _found(
        say("The inferred device times are uncertain: savings may be far off"),
        say(
            "Activities last {mean} on average, known to within {bound}: with bounds as wide "
            "as that, findings and savings are estimates; each saving has its interval.",
            mean=with_unit("mean_ns", round(float(duration.mean()))),
            bound=with_unit("mean_ns", round(float(bounds.mean()))),
        ),
        len(kernels),
    )


def _resolution_ns(trace: Trace) -> int | None:
    grounds = trace.meta.grounds
    constants = grounds.constants if grounds is not None else ()
    return next(
        (constant.value_ns for constant in constants if constant.name == "elapsed_resolution"), None
    )


def _found(title: str, explanation: str, events: int) -> RuleFinding:
    return RuleFinding(
        title=title,
        explanation=explanation,
        events=events,
        evidence=(),
        how=say("Saves no time: with finer times, rules can tell what a finding costs."),
        confidence="high",
        lacks=(say("device times that are measured, or finer ones"),),
    )


RULE = Rule(
    name="coarse_events",
    title=say("Event times too coarse"),
    cause="recording",
    looks_for=say(
        "Elapsed times of one clock tick or less; inferred durations with bounds of half of "
        "themselves or more."
    ),
    why=say("A timeline made of rounded times cannot show what limits the program."),
    fix=say(
        "Check the unit that the backend's ProfilerStubs return (elapsed takes microseconds) and "
        "use the finest event clock; or record with the vendor's own profiler through Kineto."
    ),
    threshold=say(
        "Half of the operators, or half of the time: then the other half carries no advice."
    ),
    reference=say("docs/internals/inference.md."),
    check=check,
    reads_all=True,
    needs=("operators",),
)
