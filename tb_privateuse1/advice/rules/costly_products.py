"""Products in a form that costs more than their result needs: order, zeros, windows, by hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice.removed_operators import Needless, remove, with_gradients
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.product_orders import MOST_LEFT, product_orders
from tb_privateuse1.analysis.idioms.sparse_factors import Costly, costly_products
from tb_privateuse1.i18n import Text, fill, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import LONGEST_INLINE


class _Form(Struct, frozen=True):
    """The words on one costly form."""

    title: Text
    explanation: Text
    how: Text
    fix: Text
    code: Code


_ORDER = _Form(
    title=say("Three matrices are multiplied in the costly order: {share} of the time"),
    explanation=say(
        "{count:,} products make a matrix that only the next product reads. In the other order "
        "both need half of the operations or fewer. A typical one has inputs of {shapes}."
    ),
    how=say(
        "The operations that the other order does without, of both products and their gradients."
    ),
    fix=say(
        "Set parentheses: q @ (k.transpose(-1, -2) @ v) instead of (q @ k.transpose(-1, -2)) @ v, "
        "a @ (b @ x) instead of (a @ b) @ x; or torch.linalg.multi_dot, which finds the order."
    ),
    code=Code(before="y = (q @ k.mT) @ v", after="y = q @ (k.mT @ v)"),
)
_ZEROS = _Form(
    title=say("Matrices of mostly zeros are made and multiplied: {share} of the time"),
    explanation=say(
        "{count:,} products read a matrix that was made just before, with numbers on its diagonal, "
        "in blocks or in a few places alone, or a running sum or Kronecker product as a matrix. A "
        "typical one has inputs of {shapes}."
    ),
    how=say(
        "The time of making the matrix, and the share of the product's operations that are with "
        "zeros; reading what else it reads remains."
    ),
    fix=say(
        "Do what the matrix stands for: d[:, None] * x for torch.diag(d) @ x, bmm of the blocks "
        "for block_diag, x.cumsum(0) for a triangle of ones, index_add or a sparse matrix for a "
        "few places, b @ x @ a.T for a Kronecker product."
    ),
    code=Code(before="y = torch.diag(d) @ x", after="y = d[:, None] * x"),
)
_WINDOWS = _Form(
    title=say("Windows are laid out in memory for a product: {share} of the time"),
    explanation=say(
        "unfold wrote each element of a picture once for each window that has it, and {count:,} "
        "products alone read that. A convolution reads the picture in place. A typical product has "
        "inputs of {shapes}."
    ),
    how=say("The time of unfold and its gradients; the product is taken to last as long."),
    fix=say("Use torch.nn.functional.conv2d with the weight's kernel in two dimensions."),
    code=Code(
        before="y = weight.flatten(1) @ F.unfold(x, 3, padding=1)",
        after="y = F.conv2d(x, weight, padding=1)",
    ),
)
_BY_HAND = _Form(
    title=say("Products are computed by mul and sum: {share} of the time"),
    explanation=say(
        "mul writes a number for each pair, and {count:,} sums alone read these. A product adds "
        "them up as it goes. A typical sum has an input of {shapes}."
    ),
    how=say(
        "The time of both and of their gradients, but for half of it: a product does as many "
        "operations, and no more is known of its rate."
    ),
    fix=say("Use a product: a @ b, or torch.einsum with the indices of both tensors."),
    code=Code(before="y = (a[:, :, None] * b).sum(1)", after="y = a @ b"),
)
_KEPT_BY_HAND = 1 / 2
"""Of a product by hand: its numbers are written and read, either of which a product spares."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield products by what is costly about them."""
    orders, forms = product_orders(case.trace), costly_products(case.trace)
    hand = Costly(forms.by_hand.rows, forms.by_hand.shares * (1 - _KEPT_BY_HAND),
                  forms.by_hand.readers)  # fmt: skip
    for form, work, most in (
        (_ORDER, Costly(orders.rows, orders.shares, orders.rows), 1.0),
        (_ZEROS, forms.filled, 1.0),
        (_WINDOWS, forms.windows, 1.0),
        (_BY_HAND, hand, 1 / _KEPT_BY_HAND),
    ):
        if len(work.rows):
            yield from _finding(case, form, work, most)


def _finding(case: RuleContext, form: _Form, work: Costly, most: float) -> Iterator[RuleFinding]:
    gone = remove(case, with_gradients(case.trace, Needless(work.rows, work.shares)))
    readers = work.readers[case.judged[work.readers]]
    if not len(readers) or case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    longest = readers[np.argmax((case.trace.ops.end_ns - case.trace.ops.start_ns)[readers])]
    yield RuleFinding(
        title=fill(form.title, share=""),
        explanation=fill(
            form.explanation,
            count=len(readers),
            shapes=shorten(case.trace.text(case.trace.ops.shapes[longest]), LONGEST_INLINE),
        ),
        events=len(readers),
        evidence=case.examples("ops", readers),
        how=form.how,
        claim=gone.claim,
        removes=gone.removes,
        most=most,
        confidence="medium",
        source=case.source(readers),
        lacks=case.lacks("stacks"),
        fix=form.fix,
        code=form.code,
    )


RULE = Rule(
    name="costly_products",
    title=say("Products in a costly form"),
    cause="device",
    looks_for=say(
        "A product whose result only the next product reads, and whose other order needs half of "
        "the operations; a product with a matrix made by diag, diag_embed, block_diag, eye, kron, "
        "a triangle of ones, or few numbers among zeros; unfold for a product; mul of all pairs "
        "for a sum."
    ),
    why=say(
        "The same result costs fewer operations, or less memory on its way. The shapes of the "
        "inputs tell how many."
    ),
    fix=say("Use the form that the finding names: another order, a broadcast, an operator."),
    threshold=say(
        "At most {left} of the operations in another order; {least} of the step.",
        left=exact_percent(MOST_LEFT),
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("torch.linalg.multi_dot; linear attention; opt_einsum."),
    code=_ORDER.code,
    check=check,
    needs=("operators", "shapes"),
)
