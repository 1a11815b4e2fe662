"""Kernels that take longer because a limit of power lowers the device's clock."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import clock
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.base import Rule, RuleFinding, exact_percent, percent
from tb_privateuse1.analysis.counters import recorded
from tb_privateuse1.analysis.counters.clock_effect import AT_TOP, SLOW_AT_TOP
from tb_privateuse1.i18n import join_sentences, say
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield what calls lose to a clock that is low only while the power is at its greatest."""
    for slowdown in clock.slowdowns(case):
        if slowdown.power is None:
            continue
        effect, labels = slowdown.effect, recorded.labels(case.trace)
        top = float(recorded.recorded_samples(case.trace)[slowdown.power].value.max())
        yield RuleFinding(
            title=say(
                "A power limit lowers the clock: the same kernels take longer, {share} of the time",
                share=percent(case.share(intervals.length(slowdown.claim))),
            ),
            explanation=join_sentences(
                (
                    clock.reason(case, slowdown),
                    say(
                        "{power} is at its greatest, {top}, while the clock is low, and below it "
                        "while the clock is high.",
                        power=labels[slowdown.power],
                        top=clock.number(top),
                    ),
                )
            ),
            events=len(slowdown.rows),
            evidence=clock.evidence(case, slowdown),
            how=say(
                "What these calls take beyond the median of the same calls while {counter} is at "
                "{high}, while others waited for the device.",
                counter=labels[effect.counter],
                high=clock.number(effect.high),
            ),
            claim=slowdown.claim,
            removes=slowdown.removes,
            source=case.source(case.trace.kernels.op[slowdown.rows].astype(np.int64)),
        )


RULE = Rule(
    name="power_cap",
    title=say("Power limit"),
    cause="device",
    looks_for=say(
        "A low clock that slows kernels down while a counter of power (W) is at its greatest."
    ),
    why=say("At its limit of power the device lowers its clock, and what computes takes longer."),
    fix=say(
        "Raise the device's power limit if its cooling permits. Half precision and fused kernels "
        "need less power for the same work."
    ),
    threshold=say(
        "That of a low clock; the power is within {near} of its greatest value for {slow} of the "
        "slow calls' time, and for at most half as much of the fast ones'.",
        near=exact_percent(1 - AT_TOP),
        slow=exact_percent(SLOW_AT_TOP),
    ),
    reference=say("nvidia-smi, clocks event reasons: SW power cap."),
    check=check,
    needs=("device", "counters"),
)
