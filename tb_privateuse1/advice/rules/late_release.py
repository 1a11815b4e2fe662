"""Results or gradients of the previous step that are still allocated at the peak."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import memory_peak
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.analysis.memory import by_operator
from tb_privateuse1.analysis.memory.late_releases import LateReleases, late_releases
from tb_privateuse1.i18n import fill, join_list, say
from tb_privateuse1.i18n.units import percent, with_unit
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.table import I64

_LEAST, _STEPS = 0.05, 2
"""Share of the peak: without it a batch of twenty samples gets one more, if all of the peak grows
with the batch. Steps: one may be the start."""
_TOP = 3
"""Owners that the sentence names."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield per device the bytes that are alive at the peaks and that nothing can read."""
    trace = case.trace
    for use in memory_peak.devices(case):
        found = late_releases(trace, use.events, use.level, use.blocks, use.split, case.steps)
        for is_gradient in (True, False):
            own = found.take(found.gradient == is_gradient)
            if (finding := _finding(case, use, own, is_gradient)) is not None:
                yield finding


def _finding(
    case: RuleContext, use: memory_peak.DeviceMemory, found: LateReleases, is_gradient: bool
) -> RuleFinding | None:
    trace = case.trace
    size = use.blocks.bytes[found.block]
    by_step = sums(found.step, size, len(trace.steps))
    steps = np.flatnonzero(by_step)
    # The first step has none before it.
    if len(steps) < _STEPS or 2 * len(steps) < len(case.steps) - 1:
        return None
    step = int(steps[np.argsort(by_step[steps], kind="stable")[len(steps) // 2]])
    start, end = trace.steps.host_start_ns[step], trace.steps.host_end_ns[step]
    peak = use.level.peak(int(start), int(end))
    whole = 0 if peak is None else int(use.level.allocated[peak])
    if not whole or by_step[step] < _LEAST * whole:
        return None
    blocks = found.block[found.step == step]
    blocks = blocks[np.argsort(-use.blocks.bytes[blocks], kind="stable")]
    rows = use.blocks.allocation[blocks]
    owners = by_operator.owning_operators(trace, use.events.op[rows])
    figures = {
        "bytes": with_unit("bytes", int(by_step[step])),
        "share": percent(int(by_step[step]) / whole),
    }
    return RuleFinding(
        title=say("{bytes} of gradients are reset only behind the peak, {share} of it", **figures)
        if is_gradient
        else say("{bytes} of the previous step's results are alive at the peak, {share} of it",
                 **figures),
        explanation=say(
            "Gradients of the step before stay allocated while the forward pass adds its "
            "activations to them. Nothing reads them any more."
        )
        if is_gradient
        else fill(_FOLLOWED if found.followed.all() else _BY_SIZE, operators=_names(case, owners)),
        events=len(found),
        evidence=case.examples("memory", use.rows[rows]),
        how=say("Saves memory, and time only where the device runs out of it."),
        confidence="medium",
        source=case.source(owners),
        lacks=case.lacks("stacks"),
        fix=_RESET if is_gradient else None,
    )  # fmt: skip


def _names(case: RuleContext, owners: I64) -> str:
    names = dict.fromkeys(
        case.trace.text(case.trace.ops.name[row]) for row in owners.tolist() if row >= 0
    )
    return join_list(list(names)[:_TOP])


_BY_SIZE = say(
    "A name holds its tensor until it gets the next one. So what {operators} made in the "
    "step before is released only behind its successor, although no operator reads a "
    "tensor of that size before."
)
_FOLLOWED = say(
    "A name holds its tensor until it gets the next one. So what {operators} made in the "
    "step before is released only behind its successor. By the execution trace, no operator reads "
    "it in that step."
)
_RESET = say(
    "Call optimizer.zero_grad(), which sets gradients to None, directly behind optimizer.step()."
)

RULE = Rule(
    name="late_release",
    title=say("Memory of the previous step at the peak"),
    cause="memory",
    looks_for=say(
        "Blocks of the previous step that are alive at the peak, are released behind it, and "
        "whose size no operator reads before the same operator has made the next one."
    ),
    why=say("The memory of two steps is there at once, for nothing."),
    fix=say(
        "Run the step in a function, whose names end with it; or delete the names (del logits, "
        "loss) at its end."
    ),
    threshold=say("{least} of the peak, in half of the steps.", least=exact_percent(_LEAST)),
    reference=say("PyTorch frequently asked questions: memory that names hold."),
    code=Code(
        before="for batch in loader:\n    logits = model(batch)\n    loss = criterion(logits)",
        after=(
            "for batch in loader:\n    logits = model(batch)\n    loss = criterion(logits)\n"
            "    ...\n    del logits, loss"
        ),
    ),
    check=check,
    needs=("memory", "steps", "shapes", "operators"),
)
