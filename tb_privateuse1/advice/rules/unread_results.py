"""Forward work of training whose result nobody reads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.unread_results import unread_results
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the operators of forward passes without a part in the loss, and without a reader."""
    rows = unread_results(case.trace)
    if not len(rows):
        return
    gone = remove(case, Needless(rows, np.ones(len(rows))))
    if case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    yield RuleFinding(
        title=say("The forward pass computes what nobody reads: {share} of the time", share=""),
        explanation=say(
            "Autograd recorded {count:,} operators that no backward pass goes through: they have "
            "no part in a loss. No other operator reads their results.",
            count=len(gone.rows),
        ),
        events=len(gone.rows),
        evidence=case.examples("ops", gone.rows),
        how=say("The time of these operators."),
        claim=gone.claim,
        removes=gone.removes,
        confidence="medium",
        source=case.source(gone.rows),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="unread_results",
    title=say("Results that nobody reads"),
    cause="device",
    looks_for=say(
        "Operators of a training step's forward pass that autograd numbers, whose nodes no "
        "backward pass evaluates, and whose results no other operator reads before the next pass."
    ),
    why=say("A head, a branch or an output that the loss leaves out costs its whole forward pass."),
    fix=say(
        "Do not call the module whose output is left out; let the model return it on request only."
    ),
    threshold=say(
        "{least} of the step. Readers are known by the sizes of tensors: if in doubt, a result is "
        "read.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("DistributedDataParallel's find_unused_parameters."),
    code=Code(
        before="scores, boxes = model(x)\nloss = criterion(scores, labels)",
        after="scores = model.score(model.features(x))\nloss = criterion(scores, labels)",
    ),
    check=check,
    needs=("operators", "shapes"),
)
