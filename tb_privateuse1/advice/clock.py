"""Kernels that a low clock slows down: what two rules claim, and the words that they share."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice.removal_replay import Removal
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.analysis.counters import clock_effect, recorded
from tb_privateuse1.analysis.counters.clock_effect import ClockEffect
from tb_privateuse1.i18n import join_sentences, plural, say
from tb_privateuse1.i18n.units import with_unit
from tb_privateuse1.trace import device_times, intervals
from tb_privateuse1.trace.findings import Example
from tb_privateuse1.trace.model import KERNEL, MEASURED, NONE
from tb_privateuse1.trace.table import I64, Bools

LEAST = 0.01
"""Share of the judged time, as for other uneven kernels."""


class Slowdown(Struct, frozen=True):
    """The calls of one device that take longer at a low clock."""

    effect: ClockEffect
    power: int | None
    """The counter of power that is at its greatest then: a row of ``trace.counter_series``."""
    late: Bools
    """Of the effect's calls: those at a low clock that take longer than usual."""
    claim: intervals.Set
    """What these take beyond the same calls at the high clock, where the device is awaited."""
    removes: Removal

    @property
    def rows(self) -> I64:
        """Return the late calls: rows of ``trace.kernels``."""
        return self.effect.rows[self.late]


def slowdowns(case: RuleContext) -> list[Slowdown]:
    """Return what low clocks cost, by device; only what is worth a finding."""
    found = []
    for effect in clock_effect.clock_effects(case.trace, _equal_calls(case)):
        kernels, usual = case.trace.kernels, effect.usual_ns
        length = kernels.end_ns[effect.rows] - kernels.start_ns[effect.rows]
        late = effect.slow & (length > usual)
        rows = effect.rows[late]
        excess = intervals.union(kernels.start_ns[rows] + usual[late], kernels.end_ns[rows])
        claim = case.of_device(excess)
        if case.share(intervals.length(claim)) >= LEAST:
            removes = case.without(kernels=rows, share=1 - usual[late] / length[late])
            power = clock_effect.power_limit(case.trace, effect)
            found.append(Slowdown(effect, power, late, claim, removes))
    return found


def _equal_calls(case: RuleContext) -> I64:
    """Return measured kernels whose shapes or launch sizes are known, in the judged steps."""
    trace = case.trace
    kernels = trace.kernels
    if not device_times.all_known(trace) or not len(trace.counter_samples):
        return np.empty(0, np.int64)
    shapes = np.append(trace.ops.shapes, NONE)[kernels.op]
    usable = (kernels.kind == KERNEL) & ~kernels.communication & (kernels.evidence == MEASURED)
    return np.flatnonzero(usable & case.judged_kernels & ((shapes >= 0) | (kernels.config >= 0)))


def evidence(case: RuleContext, slowdown: Slowdown) -> tuple[Example, ...]:
    """Return the longest call of the kernel with most excess, and a usual one at the high clock."""
    effect, kernels = slowdown.effect, case.trace.kernels
    length = kernels.end_ns[effect.rows] - kernels.start_ns[effect.rows]
    excess = np.where(slowdown.late, length - effect.usual_ns, 0)
    most = int(np.argmax(np.bincount(effect.group, excess)))
    late = int(np.argmax(np.where(effect.group == most, excess, -1)))
    away = np.abs(length - effect.usual_ns)
    usual = int(np.argmin(np.where((effect.group == most) & effect.fast, away, np.inf)))
    own = [late, usual]
    notes = [
        say(
            "{time} with the clock at {value}",
            time=with_unit("x_ns", int(length[i])),
            value=number(effect.value[i]),
        )
        for i in own
    ]
    return case.examples("kernels", effect.rows[own], notes)


def reason(case: RuleContext, slowdown: Slowdown) -> str:
    """Return what the counters show: which calls follow the clock, how well, and when."""
    effect = slowdown.effect
    return join_sentences(
        (
            say(
                "While {counter} is below {low}, {calls} of {kernels} take longer than the same "
                "calls at {high}.",
                counter=recorded.labels(case.trace)[effect.counter],
                low=number(clock_effect.LOW * effect.high),
                calls=plural(len(slowdown.rows), "call"),
                kernels=plural(effect.kernels, "kernel"),
                high=number(effect.high),
            ),
            say(
                "Durations grow as 1 / clock to the power of {slope}; the clock explains "
                "{explained} of their variation.",
                slope=f"{effect.slope:.2f}",
                explained=with_unit("share", effect.explained),
            ),
            when(case, slowdown),
        )
    )


def when(case: RuleContext, slowdown: Slowdown) -> str:
    """Return how many steps are hit, and when first."""
    kernels = case.trace.kernels
    return say(
        "It concerns {steps} of {all} steps, first {time} after the recording's start.",
        steps=len(np.unique(kernels.step[slowdown.rows])),
        all=len(case.steps),
        time=with_unit("x_ns", int(kernels.start_ns[slowdown.rows].min())),
    )


def number(value: float) -> str:
    """Return a counter's value with four digits."""
    return f"{value:,.4g}"
