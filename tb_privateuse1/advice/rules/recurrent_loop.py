"""A loop over a sequence whose rounds need each other, with several operators in each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import device_time
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.idioms.recurrent_loops import ROUNDS, recurrent_loops
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield loops over the items of a sequence that keep a state."""
    found = recurrent_loops(case.trace, case.top_in_order)
    ranges = found.ranges
    if not len(ranges):
        return
    order = np.argsort(ranges.start_ns, kind="stable")
    spans = ranges.start_ns[order], ranges.end_ns[order]
    looping = intervals.union(*device_bound.shorten(spans, 1 - 1 / ranges.rounds[order]))
    slow = found.slow.where(case.judged_kernels[found.slow.rows])
    claim = device_time.claim_of(case, slow)
    host = case.of_host(looping)
    claim = claim if host is None else intervals.merge(claim, host)
    if case.share(intervals.length(claim)) < MANY_PLACES:
        return
    ahead = ranges.take(np.flatnonzero(~ranges.backward))
    yield RuleFinding(
        title=say(
            "A loop over a sequence, each round on the result of the one before: {share} of the "
            "time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{loops:,} loops took {rounds:,.0f} items each, with operators of their own for each "
            "item, and again for its gradient. The rounds cannot be one batch: they need each "
            "other.",
            loops=len(ahead),
            rounds=float(ahead.rounds.mean()),
        ),
        events=int(ahead.rounds.sum()),
        evidence=case.examples("ops", ahead.place.astype(np.int64)),
        how=say(
            "The time of the loops and of their backward passes, less what a fused operator still "
            "does: the products with the state, one pass over the rest in each round, and once "
            "what all rounds have in common."
        ),
        claim=claim,
        removes=case.without(instants=looping, kernels=slow.rows, kernel_share=slow.shares),
        confidence="medium",
        source=case.source(ahead.place.astype(np.int64)),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="recurrent_loop",
    title=say("Loop over a sequence with a state"),
    cause="launching",
    looks_for=say(
        "{rounds} or more equal rounds of operators with products, each on the next item of a "
        "tensor, that read what the round before wrote. A round that writes into a cache does not "
        "count.",
        rounds=ROUNDS,
    ),
    why=say(
        "Each round calls its operators for little work, multiplies what could be multiplied for "
        "all items at once, and adds its part to each gradient alone."
    ),
    fix=say(
        "Give the whole sequence to a fused operator: torch.nn.LSTM, GRU or RNN instead of their "
        "cells. A cell of your own: multiply all items before the loop, and compile the loop "
        "(torch.compile) or capture it as a graph. A batch does not help: the rounds need each "
        "other."
    ),
    threshold=say(
        "{rounds} rounds and {least} of the step: the model changes.",
        least=exact_percent(MANY_PLACES),
        rounds=ROUNDS,
    ),
    reference=say("torch.nn.LSTM and torch.nn.LSTMCell."),
    code=Code(
        before=(
            "for i in range(x.shape[1]):\n    h, c = cell(x[:, i], (h, c))\n    outputs.append(h)"
        ),
        after="outputs, (h, c) = torch.nn.LSTM(size, width, batch_first=True)(x)",
    ),
    check=check,
    needs=("work", "operators", "links", "shapes"),
)
