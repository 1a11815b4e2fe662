"""Results that are read in part only: the logits of a whole prompt, a product's diagonal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.partly_read_products import unread_rows
from tb_privateuse1.analysis.idioms.result_tensors import is_random
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent, shorten
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import LONGEST_INLINE


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield operators whose result is cut to a part before anything else reads it."""
    work = unread_rows(case.trace)
    if not len(work.rows):
        return
    gone = remove(case, Needless(work.rows, work.shares))
    makers = np.intersect1d(work.makers, gone.rows)
    if not len(makers) or case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    longest = makers[np.argmax((case.trace.ops.end_ns - case.trace.ops.start_ns)[makers])]
    judged = np.isin(work.makers, makers)
    yield RuleFinding(
        title=say(
            "Only a part of the results of {operators} {per_step} is read: {share} of the time",
            operators=plural(round(len(makers) / max(len(case.steps), 1)), "operator"),
            share="",
            per_step=case.per_step,
        ),
        explanation=say(
            "The readers of each result take at most {part} of it together, and nothing else reads "
            "the rest. A typical operator, {name}, has inputs of {shapes}.",
            part=percent(1 - float(work.shares[np.isin(work.rows, makers)].max())),
            name=case.trace.text(case.trace.ops.name[longest]),
            shapes=shorten(case.trace.text(case.trace.ops.shapes[longest]), LONGEST_INLINE),
        ),
        events=len(makers),
        evidence=case.examples("ops", makers),
        how=say(
            "The part of these operators, of their gradients, and of element-wise work between "
            "them and the cut, that nobody reads; reading what all rows need remains."
        ),
        claim=gone.claim,
        removes=gone.removes,
        confidence="medium",
        source=case.source(makers),
        lacks=case.lacks("stacks"),
        fix=_fix(case, longest, scattered=bool(work.scattered[judged].all())),
        code=_ELEMENTS if work.scattered[judged].all() else None,
    )


def _fix(case: RuleContext, longest: int, scattered: bool) -> str | None:
    """Return the fix of elements or of random numbers; None: that of rows."""
    if is_random(reduced_name(case.trace.text(case.trace.ops.name[longest]))):
        return _OF_NUMBERS
    return _OF_ELEMENTS if scattered else None


_OF_NUMBERS = say(
    "Draw as many numbers as are read: torch.randint(count, (size,)), or "
    "random.sample(range(count), size) where none may come twice."
)


_OF_ELEMENTS = say(
    "Compute the elements that are read, and no others: (a * b).sum(-1) instead of the diagonal "
    "of a @ b.T, pairwise_distance for that of cdist, rows of the weight by their index instead "
    "of a gather behind the layer."
)
_ELEMENTS = Code(
    before="scores = (a @ b.T).diagonal()",
    after="scores = (a * b).sum(-1)",
)


RULE = Rule(
    name="unread_rows",
    title=say("Rows that nobody reads"),
    cause="device",
    looks_for=say(
        "A product, convolution, distance or other pairing of all with all whose result passes "
        "through views and element-wise work to views or indices, which together take half of it "
        "or less; no other operator reads as many elements before the next such result. From there "
        "back, operators whose rows need these rows of an input that is not read as a whole. "
        "Random numbers that are cut."
    ),
    why=say(
        "Each element of such a result is computed apart: what is cut off behind it was computed "
        "for nothing, and so are its gradients. Scores of a vocabulary are the widest product of a "
        "language model."
    ),
    fix=say(
        "Cut before the product, not behind it: score(hidden[:, -1]) instead of "
        "score(hidden)[:, -1] (num_logits_to_keep, logits_to_keep in transformers). Rows of a "
        "product are those of its left factor: graph[:n] @ hidden, cut once if the graph stays. In "
        "a layer whose first token is read, compute that token's query and what follows from it."
    ),
    threshold=say("Half of a result, and {least} of the step.", least=exact_percent(ONE_PLACE)),
    reference=say("logits_to_keep of transformers; vLLM computes scores of sampled rows alone."),
    code=Code(
        before="scores = self.score(hidden)[:, -1]",
        after="scores = self.score(hidden[:, -1])",
    ),
    check=check,
    needs=("operators", "shapes"),
)
