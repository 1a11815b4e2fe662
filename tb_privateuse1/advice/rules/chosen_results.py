"""Work that a choice alone is read of: all experts, probabilities for an order, joins for sums."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.advice.removed_operators import Needless, remove, with_gradients
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.chosen_results import (
    Chosen,
    chosen_orders,
    chosen_rounds,
    joined_for_sums,
)
from tb_privateuse1.analysis.idioms.selected_rows import selected_rows
from tb_privateuse1.i18n import Text, fill, join_list, say
from tb_privateuse1.trace import groupby, intervals

_TOP = 5
"""Names in the sentence."""


class _Choice(Struct, frozen=True):
    """The words on what is chosen."""

    title: Text
    explanation: Text
    how: Text
    fix: Text
    code: Code


_ROUNDS = _Choice(
    title=say("All of several modules are computed, and part of that is read: {share} of the time"),
    explanation=say(
        "{count:,} times the results of equal rounds ({names}) are joined, and the only reader "
        "takes at most half of them. Each round works on one row after the other."
    ),
    how=say(
        "The share of the rounds' results that nobody reads, of their work and its gradients; what "
        "sorting the rows by their module takes is not known."
    ),
    fix=say(
        "Choose first: sort the rows by the module that they go to, and give each module its own "
        "(index_select and index_add, grouped products, or a library for mixtures of experts)."
    ),
    code=Code(
        before="every = torch.stack([expert(x) for expert in experts], 1)\n"
        "y = every.gather(1, chosen)",
        after="for i, expert in enumerate(experts):\n    own = (chosen == i).nonzero()[:, 0]\n"
        "    y.index_add_(0, own, expert(x[own]))",
    ),
)
_SELECTED = _Choice(
    title=say(
        "Rows are computed in several branches, and one of them is kept: {share} of the time"
    ),
    explanation=say(
        "{count:,} operators (where, or a product with a mask) keep each row of one branch, and of "
        "the others they keep none. The branches ({names}) work on one row after the other."
    ),
    how=say(
        "The rows of the branches that are not kept, with their gradients, if each branch keeps as "
        "many. What taking rows out and putting them back takes is not known."
    ),
    fix=say(
        "Choose the rows first, and give each branch its own: rows = mask.nonzero()[:, 0], then "
        "y.index_copy_(0, rows, branch(x[rows]))."
    ),
    code=Code(
        before="y = torch.where(mask[:, None], first(x), second(x))",
        after="one, other = mask.nonzero()[:, 0], (~mask).nonzero()[:, 0]\n"
        "y.index_copy_(0, one, first(x[one]))\ny.index_copy_(0, other, second(x[other]))",
    ),
)
_ORDER = _Choice(
    title=say("Values are computed whose order alone is read: {share} of the time"),
    explanation=say(
        "{count:,} choices and comparisons read the results of operators ({names}) that keep the "
        "order of their input. Nothing else reads them."
    ),
    how=say("The time of these operators: the choice takes their inputs."),
    fix=say(
        "Take argmax or topk of the scores themselves, and compare with the inverse of the limit: "
        "scores > 0 instead of scores.sigmoid() > 0.5. The chosen few can be converted behind it."
    ),
    code=Code(before="best = scores.softmax(-1).argmax(-1)", after="best = scores.argmax(-1)"),
)
_SUMS = _Choice(
    title=say("Tensors are copied into one to be added up: {share} of the time"),
    explanation=say(
        "{count:,} sums or norms read what operators ({names}) have joined, and nothing else does. "
        "Each tensor's own sum would read it where it is."
    ),
    how=say("The time of the joins."),
    fix=say(
        "Add up parts first: torch.linalg.vector_norm(torch.stack(torch._foreach_norm(tensors))), "
        "as clip_grad_norm_ does, or the sum of each tensor's sum."
    ),
    code=Code(
        before="norm = torch.cat([p.grad.flatten() for p in parameters]).norm()",
        after="norm = torch.nn.utils.get_total_norm([p.grad for p in parameters])",
    ),
)


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield work by what is read of it: a choice of rounds, an order, a sum."""
    for words, work in (
        (_ROUNDS, chosen_rounds(case.trace)),
        (_ORDER, chosen_orders(case.trace)),
        (_SUMS, joined_for_sums(case.trace)),
    ):
        if len(work.rows):
            yield from _finding(case, words, work)
    selected = selected_rows(case.trace)
    for found in _finding(
        case, _SELECTED, Chosen(selected.rows, selected.shares, selected.readers)
    ):
        yield replace(
            found,
            most=selected.most,
            may_vanish=not selected.is_even,
            confidence="medium" if selected.is_even else "low",
        )


def _finding(case: RuleContext, words: _Choice, work: Chosen) -> Iterator[RuleFinding]:
    gone = remove(case, with_gradients(case.trace, Needless(work.rows, work.shares)))
    readers = work.readers[case.judged[work.readers]]
    if not len(readers) or case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    own = work.rows[case.judged[work.rows]]
    names = groupby.distinct_values(case.trace.ops.name[own]).tolist()
    yield RuleFinding(
        title=fill(words.title, share=""),
        explanation=fill(
            words.explanation,
            count=len(readers),
            names=join_list([case.trace.text(name) for name in names[:_TOP]]),
        ),
        events=len(readers),
        evidence=case.examples("ops", own),
        how=words.how,
        claim=gone.claim,
        removes=gone.removes,
        confidence="medium",
        source=case.source(own),
        lacks=case.lacks("stacks"),
        fix=words.fix,
        code=words.code,
    )


RULE = Rule(
    name="chosen_results",
    title=say("Results that a choice is read of"),
    cause="device",
    looks_for=say(
        "Equal rounds of operators on rows, directly ahead of stack or cat, whose only reader "
        "takes half or less; branches on rows, one kept for each row by where, masked_fill or a "
        "product with a mask; softmax, sigmoid and others that keep an order, read by "
        "argmax, topk, argsort or a comparison with a number alone; cat whose only reader is one "
        "sum or norm of all elements."
    ),
    why=say("What the reader does not take, or would take from the input as well, is for nothing."),
    fix=say("Choose before the work, or take the input: as the finding says."),
    threshold=say(
        "{least} of the step. Tensors are known by their sizes: if in doubt, a result is read.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("MegaBlocks: sparse training of mixtures of experts."),
    code=_ORDER.code,
    check=check,
    needs=("operators", "shapes"),
)
