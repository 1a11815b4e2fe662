"""Several backward passes through one graph: their losses could be summed before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.repeated_gradients import repeated_nodes
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import call_tree, intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield nodes of autograd that several backward passes evaluate, but for the first time."""
    rows = repeated_nodes(case.trace)
    gone = remove(case, Needless(rows, np.ones(len(rows))))
    if case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    forward = call_tree.forward_of(case.trace)[gone.rows].astype(np.int64)
    nodes = len(np.unique(forward[forward >= 0]))
    yield RuleFinding(
        title=say(
            "Backward passes go through the same graph again: {share} of the time",
            share="",
        ),
        explanation=say(
            "{again:,} times a gradient was computed once more for an operator that a backward "
            "pass had been through: {nodes:,} operators. All of it is added up before the "
            "optimizer's step.",
            again=len(gone.rows),
            nodes=nodes,
        ),
        events=len(gone.rows),
        evidence=case.examples("ops", gone.rows),
        how=say("The time of these nodes of autograd; one pass remains."),
        claim=gone.claim,
        removes=gone.removes,
        confidence="high",
        source=case.source(np.unique(forward[forward >= 0])),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="repeated_backward",
    title=say("Backward passes through the same graph"),
    cause="device",
    looks_for=say(
        "Sequence numbers of forward operators that come again in a later backward pass, with "
        "neither a reset of gradients nor a step of the optimizer in between."
    ),
    why=say(
        "Gradients add up: one pass of the sum of the losses gives the same. A state that is kept "
        "attached makes each pass longer than the one before."
    ),
    fix=say(
        "Detach the state that is carried on (truncated backpropagation), or add up the losses and "
        "call backward() once. Drop retain_graph=True."
    ),
    threshold=say(
        "{least} of the step; a node has one number, so one repetition is proof.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("torch.Tensor.backward (retain_graph)."),
    code=Code(
        before=(
            "for window in windows:\n"
            "    loss, state = model(window, state)\n"
            "    loss.backward(retain_graph=True)"
        ),
        after=(
            "for window in windows:\n"
            "    loss, state = model(window, state.detach())\n"
            "    loss.backward()"
        ),
    ),
    check=check,
    needs=("operators",),
)
