"""Kernels that take longer because the device's clock is low at times."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import clock
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.base import Rule, RuleFinding, exact_percent, percent
from tb_privateuse1.analysis.counters import recorded
from tb_privateuse1.analysis.counters.clock_effect import CHANCE, LOW, SLOPE
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield what equal calls take at a low clock beyond what they take at the high one."""
    for slowdown in clock.slowdowns(case):
        if slowdown.power is not None:  # the reason is known: that is a finding of its own
            continue
        effect = slowdown.effect
        low = float(np.median(effect.value[slowdown.late]))
        yield RuleFinding(
            title=say(
                "The clock falls from {high} to {low}: the same kernels take longer, {share} of "
                "the time",
                high=clock.number(effect.high),
                low=clock.number(low),
                share=percent(case.share(intervals.length(slowdown.claim))),
            ),
            explanation=clock.reason(case, slowdown),
            events=len(slowdown.rows),
            evidence=clock.evidence(case, slowdown),
            how=say(
                "What these calls take beyond the median of the same calls while {counter} is at "
                "{high}, while others waited for the device.",
                counter=recorded.labels(case.trace)[effect.counter],
                high=clock.number(effect.high),
            ),
            claim=slowdown.claim,
            removes=slowdown.removes,
            source=case.source(case.trace.kernels.op[slowdown.rows].astype(np.int64)),
        )


RULE = Rule(
    name="clock_throttling",
    title=say("Low clock"),
    cause="device",
    looks_for=say(
        "A recorded clock (its name or key has Hz, clock or freq) below {low} of its high value, "
        "and kernels with the same shapes whose durations grow with 1 / clock.",
        low=exact_percent(LOW),
    ),
    why=say("What computes runs at the speed of the clock. The device shows that it can do more."),
    fix=say(
        "Look at the device's temperature and its limits of clock and power; improve the cooling, "
        "or lock a clock that it can hold. See whether other programs use the device."
    ),
    threshold=say(
        "{least} of the step. Less than {chance} of unrelated clocks pass the test of chance, "
        "which takes about 12 falls. Two kernels follow with slopes from {least_slope} to "
        "{most_slope}, and the clock explains half of their variation: what varies as much at "
        "equal clocks does not count.",
        least=exact_percent(clock.LEAST),
        chance=exact_percent(CHANCE),
        least_slope=SLOPE[0],
        most_slope=SLOPE[1],
    ),
    reference=say("msprof-analyze frequency drop; nvidia-smi, clocks event reasons."),
    check=check,
    needs=("device", "counters"),
)
