"""Inverses of matrices that serve products alone: a solver does both."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.inverses import inverses
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent, shorten
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import LONGEST_INLINE


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield inverses that are multiplied by fewer columns than they have."""
    work = inverses(case.trace)
    if not len(work.rows):
        return
    gone = remove(case, Needless(work.rows, work.shares))
    own = np.intersect1d(work.inverses, gone.rows)
    if not len(own) or case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    shapes = case.trace.text(case.trace.ops.shapes[own[len(own) // 2]])
    yield RuleFinding(
        title=say(
            "{inverses} {per_step} for a product: {share} of the time",
            inverses=plural(round(len(own) / max(len(case.steps), 1)), "inverse"),
            share="",
            per_step=case.per_step,
        ),
        explanation=say(
            "Products alone read the inverse, with {part} of its columns or fewer. A typical "
            "matrix has the shape {shapes}.",
            part=percent(float(work.columns[np.isin(work.inverses, own)].max())),
            shapes=shorten(shapes, LONGEST_INLINE),
        ),
        events=len(own),
        evidence=case.examples("ops", own),
        how=say(
            "The time of the products, and of the inverse what solves for more columns than the "
            "products have: by the operations of both."
        ),
        claim=gone.claim,
        removes=gone.removes,
        confidence="medium",
        source=case.source(own),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="inverse_product",
    title=say("Inverse for a product"),
    cause="device",
    looks_for=say(
        "inverse or linalg.inv whose result only products read, with fewer columns than the matrix."
    ),
    why=say(
        "An inverse solves for as many columns as the matrix has. A solver needs those of the "
        "product, and is more accurate."
    ),
    fix=say(
        "Use torch.linalg.solve(a, b) instead of torch.linalg.inv(a) @ b, and solve(left=False) "
        "for b @ torch.linalg.inv(a). For one matrix and many products keep lu_factor's result."
    ),
    threshold=say("{least} of the step: one line.", least=exact_percent(ONE_PLACE)),
    reference=say("torch.linalg.inv: prefer solve where the inverse is multiplied."),
    code=Code(
        before="x = torch.linalg.inv(a) @ b",
        after="x = torch.linalg.solve(a, b)",
    ),
    check=check,
    needs=("work", "operators", "shapes"),
)
