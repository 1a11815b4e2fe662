"""Memory that grows from step to step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import memory_peak
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.analysis.memory import allocations, by_operator
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import with_unit
from tb_privateuse1.trace.columns import containing, lookup
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import I64

_LEAST = 1 << 20
"""Bytes of growth a step: allocators round to 512 bytes (c10/cuda), but each of many tensors."""
_MOST = 0.001
"""Share of the peak a step: after a thousand steps the peak has doubled."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield per device, by the memory view's test of growth."""
    trace = case.trace
    for device in allocations.memory_devices(trace.memory):
        if device[0] == allocations.CPU:
            continue
        use = memory_peak.device_memory(case, device)
        steps = allocations.memory_steps(trace, use.events, use.level)
        growth = allocations.find_growth(steps)
        if growth is None:
            continue
        peak = int(use.level.allocated.max(initial=0))
        if growth.bytes_per_step < max(_LEAST, _MOST * peak):
            continue
        known_rows = use.rows[use.events.allocated_bytes != MISSING]
        rows, words = _makers(case, use, growth.bytes_per_step)
        yield RuleFinding(
            title=say(
                "{device} holds {growth} more with every step",
                device=allocations.device_label(trace, device),
                growth=with_unit("bytes", growth.bytes_per_step),
            ),
            explanation=say(
                "Each of {steps} complete steps ended with more allocated than the one before. If "
                "that goes on, the run ends out of memory.{makers}",
                steps=growth.steps,
                makers=words,
            ),
            events=growth.steps,
            evidence=case.examples("memory", use.rows[rows] if len(rows) else known_rows[-1:]),
            how=say("Saves no time: it endangers the run."),
            confidence="medium" if growth.steps > _SURE else "low",
            source=case.source(by_operator.owning_operators(trace, use.events.op[rows])),
            lacks=case.lacks("stacks"),
            urgent=True,
        )


def _makers(case: RuleContext, use: memory_peak.DeviceMemory, growth: int) -> tuple[I64, str]:
    """Return allocations that are never released, of operators that make such in each step.

    Also the sentence on the operators with most of the ``growth``. Both are empty without any.
    """
    trace = case.trace
    held = np.flatnonzero((use.blocks.fate == allocations.HELD) & (use.blocks.allocation >= 0))
    at = use.events.ts_ns[use.blocks.allocation[held]]
    step = containing(trace.steps.host_start_ns, trace.steps.host_end_ns, at)
    inside = np.isin(step, case.steps)
    held, step = held[inside], step[inside]
    rows = use.blocks.allocation[held]
    owner = by_operator.owning_operators(trace, use.events.op[rows])
    name = lookup(trace.ops.name, owner, NONE)
    names, group = np.unique(name, return_inverse=True)
    steps = np.array([len(np.unique(step[group == i])) for i in range(len(names))], np.int64)
    size = sums(group, use.blocks.bytes[held], len(names)) // max(len(case.steps), 1)
    grows = (steps == len(case.steps)) & (size >= _SHARE * growth) & (names != NONE)
    chosen = np.flatnonzero(grows)[np.argsort(-size[grows], kind="stable")]
    words = say(
        " In each step {operators} make what is never released.",
        operators=join_list(
            say(
                "{name} ({bytes})",
                name=trace.text(names[i]),
                bytes=with_unit("bytes", int(size[i])),
            )
            for i in chosen[:_TOP]
        ),
    )
    return rows[np.isin(group, chosen)], words if len(chosen) else ""


_SHARE, _TOP = 0.1, 3
"""An operator with a lesser share of the growth is not named, nor are more than three."""

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
        "allocations that are “held”, and who made them."
    ),
    threshold=say(
        "Three steps, and {least} MiB and {most} of the peak a step: below is rounding.",
        least=_LEAST >> 20,
        most=exact_percent(_MOST),
    ),
    reference=say("docs/reference/definitions.md, memory_grows."),
    code=Code(
        before="losses.append(loss)",
        after="losses.append(loss.detach())",
    ),
    check=check,
    reads_all=True,
    needs=("memory", "steps"),
)
