"""Copies of tensors, where nobody writes to the tensor or to its copy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.unwritten_copies import unwritten_copies
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the copies of results where nobody writes either tensor."""
    rows = unwritten_copies(case.trace)
    if not len(rows):
        return
    gone = remove(case, Needless(rows, np.ones(len(rows))))
    if case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    yield RuleFinding(
        title=say("Tensors are copied, and nobody writes to either copy: {share}", share=""),
        explanation=say(
            "clone() copied {count:,} results of other operators, without a change of their "
            "layout. No operator of the program writes in place to a tensor of that type and size, "
            "or to a smaller one, which may be a part of it.",
            count=len(gone.rows),
        ),
        events=len(gone.rows),
        evidence=case.examples("ops", gone.rows),
        how=say("The time of these copies."),
        claim=gone.claim,
        removes=gone.removes,
        confidence="medium",
        source=case.source(gone.rows),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="unwritten_copies",
    title=say("Copies that nobody writes to"),
    cause="device",
    looks_for=say(
        "aten::clone of a dense result, where no operator outside of the backward pass and the "
        "optimizer writes in place to a tensor of its type with as many elements or fewer."
    ),
    why=say("A copy protects from writes. Without any, it reads and writes memory for nothing."),
    fix=say("Give the tensor on as it is; clone() it where something does write to it."),
    threshold=say("{least} of the step.", least=exact_percent(ONE_PLACE)),
    reference=say("torch.Tensor.clone; copy-on-write tensors (torch._lazy_clone)."),
    code=Code(before="x = layer(x.clone())", after="x = layer(x)"),
    check=check,
    needs=("operators", "shapes"),
)
