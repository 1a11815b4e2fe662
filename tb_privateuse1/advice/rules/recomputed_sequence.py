"""A sequence that is computed anew for each new element."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.recomputed_prefixes import FEWER, ROUNDS, recomputed_prefixes
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield rounds of a model whose input grows by the same amount each time."""
    found = recomputed_prefixes(case.trace)
    gone = remove(case, Needless(found.rows, found.shares))
    if case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    rounds = found.rounds
    is_judged = intervals.covered_length(case.window, rounds.start_ns, rounds.end_ns) > 0
    yield RuleFinding(
        title=say(
            "The whole sequence is computed again for each new element: {share} of the time",
            share="",
        ),
        explanation=say(
            "{rounds:,} rounds have {most:,} rows at most, each as many more than the one before: "
            "on average {old:.0f} % of the rows were there already.",
            rounds=int(np.count_nonzero(is_judged)),
            most=int(rounds.rows[is_judged].max(initial=0)),
            old=100 * float((1 - rounds.new / rounds.rows)[is_judged].mean()),
        ),
        events=int(np.count_nonzero(is_judged)),
        evidence=case.examples("ops", gone.rows),
        how=say(
            "Of each round's work the share of its old rows, as far as rounds take longer with "
            "more rows: reading the weights remains."
        ),
        claim=gone.claim,
        removes=gone.removes,
        confidence="medium",
        source=case.source(gone.rows),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="recomputed_sequence",
    title=say("Sequence computed again for each element"),
    cause="device",
    looks_for=say(
        "Products of one weight without a backward pass, whose rows grow by the same number in "
        "each round, and rounds that take longer for it."
    ),
    why=say(
        "Attention needs keys and values of earlier elements, and a recurrent network its last "
        "state: both can be kept. Work that is done again grows with the square of the length."
    ),
    fix=say(
        "Keep keys and values (use_cache=True, a static cache) or the recurrent state, and give "
        "the model the new elements alone. If later elements change earlier results, as without "
        "a causal mask, this cannot be saved."
    ),
    threshold=say(
        "{rounds} rounds, or {fewer} if the series comes again; and {least} of the step.",
        least=exact_percent(ONE_PLACE),
        rounds=ROUNDS,
        fewer=FEWER,
    ),
    reference=say("Key-value caches of transformers and vLLM."),
    code=Code(
        before=(
            "for _ in range(length):\n"
            "    scores = model(tokens)\n"
            "    tokens = torch.cat((tokens, choose(scores[:, -1:])), dim=1)"
        ),
        after=(
            "scores, cache = model(tokens)\n"
            "for _ in range(length):\n"
            "    token = choose(scores[:, -1:])\n"
            "    scores, cache = model(token, cache)"
        ),
    ),
    check=check,
    needs=("operators", "shapes"),
)
