"""Gradients that are computed and that no optimizer reads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.unread_gradients import unread_gradients
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import call_tree, intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the part of backward passes that computes gradients which nobody reads."""
    found, known = unread_gradients(case.trace), "shapes" in case.has
    gone = remove(case, Needless(found.work, np.ones(len(found.work))))
    if case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    accumulated = found.accumulated[case.judged[found.accumulated]]
    shapes = [case.trace.text(at) for at in np.unique(case.trace.ops.shapes[accumulated])]
    forward = call_tree.forward_of(case.trace)[gone.rows].astype(np.int64)
    yield RuleFinding(
        title=say(
            "Gradients that no optimizer reads: {each:,.0f} {per_step}, {share} of the time",
            each=len(accumulated) / max(len(case.steps), 1),
            share="",
            per_step=case.per_step,
        ),
        explanation=say(
            "{count:,} gradients of {shapes:,} shapes are computed, and reset or never used by an "
            "optimizer's step. Their parameters still require gradients.",
            count=len(accumulated),
            shapes=len(shapes),
        )
        if known
        else say(
            "{count:,} gradients are added to those of earlier passes, though the optimizer has "
            "stepped since, and reset its own; or they are more than it steps with. Which "
            "parameters these are was not recorded: it may be the last ones of the pass.",
            count=len(accumulated),
        ),
        events=len(accumulated),
        evidence=case.examples("ops", gone.rows),
        how=say(
            "The time of autograd's nodes behind the last gradient that is read, and of products "
            "before it whose result is such a gradient."
        ),
        claim=gone.claim,
        removes=gone.removes,
        may_vanish=not known,
        least=1.0 if known else 0.0,
        confidence="medium" if known else "low",
        source=case.source(np.unique(forward[forward >= 0])),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="unread_gradients",
    title=say("Gradients that nobody reads"),
    cause="device",
    looks_for=say(
        "Gradients that a backward pass accumulates for parameters of a shape that no optimizer's "
        "step has before they are reset, or in the whole recording, and that no other operator "
        "reads behind the pass. Without shapes: gradients that a pass adds to those of the pass "
        "before, while its others are new since the step between; or more than the optimizers "
        "count steps of."
    ),
    why=say(
        "The backward pass takes twice as long as the forward pass. Of a frozen part, of another "
        "network or of a discriminator it is not needed."
    ),
    fix=say(
        "Call requires_grad_(False) on parameters that this loss does not train, and run what "
        "comes before the first trained layer under torch.no_grad(); detach() what another network "
        "made before its judge is trained with it."
    ),
    threshold=say(
        "{least} of the step; parameters are known by their shapes alone.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("torch's notes on autograd: locally disabling gradient computation."),
    code=Code(
        before="optimizer = SGD(model.head.parameters())  # the rest is frozen",
        after=("model.backbone.requires_grad_(False)\noptimizer = SGD(model.head.parameters())"),
    ),
    check=check,
    needs=("operators",),
    partly=("shapes",),
)
