"""Gradients whose norm is limited behind each part of a batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.repeated_gradients import repeated_clipping
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the scaling of gradients that the next backward pass adds to."""
    rows = repeated_clipping(case.trace)
    if not len(rows):
        return
    gone = remove(case, Needless(rows, np.ones(len(rows))))
    if case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    yield RuleFinding(
        title=say(
            "Gradients are scaled by their norm before all are there: {share} of the time", share=""
        ),
        explanation=say(
            "{count:,} operators scale gradients which the next backward pass adds to, before the "
            "sum is scaled again. The update reads the last one alone.",
            count=len(gone.rows),
        ),
        events=len(gone.rows),
        evidence=case.examples("ops", gone.rows),
        how=say("The time of these operators: all but the last time ahead of an update."),
        claim=gone.claim,
        removes=gone.removes,
        confidence="medium",
        source=case.source(gone.rows),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="repeated_clipping",
    title=say("Gradients scaled too often"),
    cause="device",
    looks_for=say(
        "_foreach_norm and _foreach_mul_ of the same tensors, as clip_grad_norm_ calls them, twice "
        "or more in a step, with a backward pass in between that adds to gradients."
    ),
    why=say(
        "Each time reads all gradients twice and writes them once. The parts that are added first "
        "are scaled several times, so that they count for less than the last ones."
    ),
    fix=say(
        "Call clip_grad_norm_ once, behind the last part of the batch and ahead of the update."
    ),
    threshold=say(
        "{least} of the step. Gradients that are reset between passes do not count.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("torch.nn.utils.clip_grad_norm_; PyTorch's recipe for gradient accumulation."),
    code=Code(
        before="for part in parts:\n    loss(part).backward()\n"
        "    clip_grad_norm_(parameters, 1.0)",
        after="for part in parts:\n    loss(part).backward()\nclip_grad_norm_(parameters, 1.0)",
    ),
    check=check,
    needs=("operators", "shapes"),
)
