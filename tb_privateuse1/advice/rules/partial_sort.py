"""Full sorts whose order is read for a few elements only: topk would do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.partial_sorts import partial_sorts
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import LONGEST_INLINE


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield sorts of long rows where a selection of the largest elements would do."""
    work = partial_sorts(case.trace)
    gone = remove(case, Needless(work.rows, work.shares))
    if case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    sorts = np.intersect1d(work.sorts, gone.rows)
    shapes = case.trace.text(case.trace.ops.shapes[sorts[len(sorts) // 2]])
    yield RuleFinding(
        title=say(
            "{sorts} {per_step}, and a few of the elements are read: {share} of the time",
            sorts=plural(round(len(sorts) / max(len(case.steps), 1)), "sort"),
            share="",
            per_step=case.per_step,
        ),
        explanation=say(
            "A typical sort has inputs of {shapes}. Of its order, the operators behind it take a "
            "part, look up a few elements, or put a mask back.",
            shapes=shorten(shapes, LONGEST_INLINE),
        ),
        events=len(sorts),
        evidence=case.examples("ops", sorts),
        how=say(
            "The time of each sort beyond three passes over its rows, of as many as the logarithm "
            "of their length; and seven eighths of the work between it and the lookup of few."
        ),
        claim=gone.claim,
        removes=gone.removes,
        confidence="medium",
        source=case.source(sorts),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="partial_sort",
    title=say("Sort for a few elements"),
    cause="device",
    looks_for=say(
        "sort or argsort of rows of 256 elements or more whose order is cut to half or less, "
        "is read by a gather of an eighth or less, or only puts a mask of thresholds back with "
        "scatter."
    ),
    why=say(
        "A sort works on each element about as often as the logarithm of the row's length. A "
        "selection passes over the row two or three times."
    ),
    fix=say(
        "Take topk of as many elements as can matter, and sort or add up these alone (for "
        "sampling: top-k before top-p); use kthvalue for a quantile, or sampling without a sort, "
        "as FlashInfer has it."
    ),
    threshold=say(
        "{least} of the step; an order that something reads as a whole is needed.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("vLLM and FlashInfer sample without a sort of the vocabulary."),
    code=Code(
        before=(
            "values, order = scores.sort(dim=-1, descending=True)\n"
            "chosen = order.gather(-1, sample(values))"
        ),
        after=(
            "values, order = scores.topk(100, dim=-1)\nchosen = order.gather(-1, sample(values))"
        ),
    ),
    check=check,
    needs=("operators", "shapes"),
)
