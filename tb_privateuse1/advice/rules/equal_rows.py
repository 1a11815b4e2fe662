"""Layers that work on equal rows: lookups, repeats and larger pictures that could come later."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, remove, with_gradients
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.equal_rows import MOST_DISTINCT, equal_rows
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent, shorten
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import LONGEST_INLINE


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield what works on rows that an operator before it has repeated."""
    work = equal_rows(case.trace)
    if not len(work.rows):
        return
    gone = remove(case, with_gradients(case.trace, Needless(work.rows, work.shares)))
    layers = np.intersect1d(work.rows, gone.rows)
    if not len(layers) or case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    sources = work.sources[case.judged[work.sources]]
    longest = sources[np.argmax((case.trace.ops.end_ns - case.trace.ops.start_ns)[sources])]
    yield RuleFinding(
        title=say(
            "{operators} {per_step} on rows that are there several times: {share} of the time",
            operators=plural(round(len(layers) / max(len(case.steps), 1)), "operator"),
            share="",
            per_step=case.per_step,
        ),
        explanation=say(
            "{name} with inputs of {shapes} gives rows, and few are distinct. What follows "
            "works on one row after the other, so that equal rows give equal results: {part} of "
            "this work is done before.",
            name=case.trace.text(case.trace.ops.name[longest]),
            shapes=shorten(case.trace.text(case.trace.ops.shapes[longest]), LONGEST_INLINE),
            part=percent(float(np.median(work.shares[np.isin(work.rows, layers)]))),
        ),
        events=len(layers),
        evidence=case.examples("ops", layers),
        how=say("The share of rows that are not distinct, of these operators and their gradients."),
        claim=gone.claim,
        removes=gone.removes,
        confidence="medium",
        source=case.source(layers),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="equal_rows",
    title=say("Work on equal rows"),
    cause="device",
    looks_for=say(
        "A lookup of more rows than its table has, a copy of an expanded tensor, or a picture made "
        "larger, whose only reader works on one row (or pixel) after the other, and so on from "
        "there; a layer of joined columns, if some are expanded, or come from such lookups. "
        "No other tensors but weights enter."
    ),
    why=say(
        "Equal rows give equal results. With 4,096 rows of 96 categories, a layer does the same "
        "work more than 40 times."
    ),
    fix=say(
        "Run the layers on the distinct rows, and look the results up or broadcast them: "
        "F.embedding(chosen, layers(table.weight)), layer(context).unsqueeze(1), upsample(conv(x)) "
        "for a kernel of one pixel. Of a layer of joined columns, multiply each part by its own "
        "columns of the weight, look the results up, and add them."
    ),
    threshold=say(
        "At most {distinct} of the rows are distinct; {least} of the step.",
        distinct=exact_percent(MOST_DISTINCT),
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("Precomputed embeddings in models of recommendation; classifier-free guidance."),
    code=Code(
        before="y = layers(table(chosen))", after="y = F.embedding(chosen, layers(table.weight))"
    ),
    check=check,
    needs=("operators", "shapes"),
)
