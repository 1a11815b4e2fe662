"""Memory that grows from step to step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rules.base import Code, Rule, RuleContext, RuleFinding, say
from tb_privateuse1.analysis.memory import allocations
from tb_privateuse1.i18n.units import with_unit
from tb_privateuse1.trace.model import MISSING

_LEAST = 1 << 20
_MOST = 0.001


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield per device, by the memory view's test of growth."""
    trace = case.trace
    for device in allocations.memory_devices(trace.memory):
        if device[0] == allocations.CPU:
            continue
        events = allocations.device_events(trace.memory, device)
        level = allocations.memory_level(events)
        steps = allocations.memory_steps(trace, events, level)
        growth = allocations.find_growth(steps)
        if growth is None:
            continue
        peak = int(level.allocated.max(initial=0))
        if growth.bytes_per_step < max(_LEAST, _MOST * peak):
            continue
        on_device = (trace.memory.device_type == device[0]) & (trace.memory.device == device[1])
        known_rows = np.flatnonzero(on_device & (trace.memory.allocated_bytes != MISSING))
        yield RuleFinding(
            title=say(
                "{device} holds {growth} more with every step",
                device=allocations.device_label(trace, device),
                growth=with_unit("bytes", growth.bytes_per_step),
            ),
            explanation=say(
                "Each of {steps} complete steps ended with more allocated than the one before. If "
                "that goes on, the run ends for want of memory.",
                steps=growth.steps,
            ),
            events=growth.steps,
            evidence=case.examples("memory", known_rows[-1:]),
            how=say("Saves no time: it endangers the run."),
            confidence="medium" if growth.steps > _SURE else "low",
            lacks=case.lacks("stacks"),
            urgent=True,
        )


_SURE = 4
"""In the first steps, caches and optimizer states fill up."""

RULE = Rule(
    name="memory_growth",
    title=say("Memory grows with each step"),
    cause="memory",
    looks_for=say("Complete steps that each end with more allocated than the one before."),
    why=say("Something keeps what should be let go: a list of losses with their graphs, a cache."),
    fix=say(
        "Store loss.item() or loss.detach(), not the loss; look in the memory view for "
        "allocations that are `held`, and who made them."
    ),
    threshold=say("Three steps, and 1 MiB and 0.1 % of the peak a step: below is rounding."),
    reference=say("docs/reference/definitions.md, `memory_grows`."),
    code=Code(
        before="losses.append(loss)",
        after="losses.append(loss.detach())",
    ),
    check=check,
    needs=("memory", "steps"),
)
