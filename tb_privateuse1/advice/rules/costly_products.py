"""Products and layers in a form that costs more than their result needs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import costly_forms
from tb_privateuse1.advice.costly_forms import Form
from tb_privateuse1.advice.removed_operators import Needless, remove, with_gradients
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.compared_numbers import compared_numbers
from tb_privateuse1.analysis.idioms.counted_rows import counted_rows
from tb_privateuse1.analysis.idioms.fused_kernel_rates import product_rate
from tb_privateuse1.analysis.idioms.movable_steps import MOST_ROWS, movable_steps
from tb_privateuse1.analysis.idioms.partly_read_products import gradients_of
from tb_privateuse1.analysis.idioms.partly_read_spectra import MOST_READ, partly_read_spectra
from tb_privateuse1.analysis.idioms.picked_scores import picked_scores
from tb_privateuse1.analysis.idioms.product_orders import MOST_LEFT, product_orders
from tb_privateuse1.analysis.idioms.products_by_hand import products_by_hand
from tb_privateuse1.analysis.idioms.sparse_factors import Costly, costly_products
from tb_privateuse1.i18n import fill, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import LONGEST_INLINE
from tb_privateuse1.trace.model import Trace

_TWICE = 2.0
"""Without products to compare with, half of a product by hand is claimed, and it may be all."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield products and layers by what is costly about them."""
    trace = case.trace
    orders, forms, steps = product_orders(trace), costly_products(trace), movable_steps(trace)
    hand = products_by_hand(trace)
    for form, work, most in (
        (costly_forms.ORDER, Costly(orders.rows, orders.shares, orders.rows), 1.0),
        (costly_forms.ZEROS, forms.filled, 1.0),
        (costly_forms.WINDOWS, forms.windows, 1.0),
        (costly_forms.BY_HAND, hand, 1.0 if hand.is_priced else _TWICE),
        (costly_forms.COUNTED, counted_rows(trace), 1.0),
        (costly_forms.PICKED, picked_scores(trace), 1.0),
        (costly_forms.COMPARED, compared_numbers(trace), 1.0),
        (costly_forms.SPECTRUM, partly_read_spectra(trace), 1.0),
        (costly_forms.SUMMED, steps.summed_layers, 1.0),
        (costly_forms.LOOKED_UP, steps.summed_lookups, 1.0),
        (costly_forms.PADDED, steps.padded, 1.0),
        (costly_forms.SCALED, _without_gradients(trace, steps.scaled), 1.0),
    ):
        if len(work.rows):
            yield from _finding(case, form, work, most)


def _without_gradients(trace: Trace, work: Costly) -> Costly:
    """Return the norms of weights that are not trained."""
    _, of = gradients_of(trace, work.rows)
    kept = ~np.isin(np.arange(len(work.rows)), of)
    return Costly(work.rows[kept], work.shares[kept], work.rows[kept])


def _finding(case: RuleContext, form: Form, work: Costly, most: float) -> Iterator[RuleFinding]:
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
        may_vanish=form is costly_forms.SPECTRUM and product_rate(case.trace) is None,
        confidence="low" if form is costly_forms.SPECTRUM else "medium",
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
        "a triangle of ones, or few numbers among zeros; unfold for a product; all pairs of two "
        "tensors written for a sum; one-hot rows or comparisons for a sum, or one comparison "
        "after the other; decompositions and running sums cut to a few numbers; a layer or a "
        "lookup whose only reader adds up its rows; pad with zeros for a convolution; batch_norm "
        "in eval mode behind a layer, without gradients."
    ),
    why=say(
        "The same result costs fewer operations, or less memory on its way. The shapes of the "
        "inputs tell how many."
    ),
    fix=say("Use the form that the finding names: another order, a broadcast, another operator."),
    threshold=say(
        "At most {left} of the operations in another order, {rows} of the rows behind a sum, "
        "{few} of a decomposition's numbers; {least} of the step.",
        left=exact_percent(MOST_LEFT),
        rows=exact_percent(MOST_ROWS),
        few=exact_percent(MOST_READ),
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("torch.linalg.multi_dot; linear attention; opt_einsum."),
    code=costly_forms.ORDER.code,
    check=check,
    needs=("operators", "shapes"),
)
