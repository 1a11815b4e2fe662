"""Half-precision products with sizes that do not fit the matrix units."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.base import Code, Rule, RuleFinding, exact_percent, percent
from tb_privateuse1.analysis.idioms.far_calls import far_kernels
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.table import I64, Bools

_NAMES = r"^aten::(mm|addmm|bmm|baddbmm)$"
_HALF = ("c10::Half", "c10::BFloat16", "Half", "BFloat16")
_LEAST = 0.02
_FAST = 0.6
"""The share of the peak that products reach with good sizes."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield by K and N, the last two sizes of each product's second matrix."""
    multiple = case.vendor.product_multiple
    if multiple is None:
        return
    rows = case.ops(_NAMES)
    odd = rows[_odd(case, rows, multiple)]
    is_odd_product = np.zeros(len(case.trace.ops), np.bool_)
    is_odd_product[odd] = True
    activities = case.launched_by(is_odd_product)
    # Attention is not a matter of sizes, and some products are fast in spite of theirs.
    other = fusion.in_chains(case)
    other[far_kernels(case.trace, "products", "batches").rows] = True
    activities = activities[~(other | _fast(case))[activities]]
    claim = case.of_device(case.time(activities, "kernels"))
    if case.share(intervals.length(claim)) < _LEAST:
        return
    odd = np.unique(case.around(case.trace.kernels.op[activities], is_odd_product))
    shapes = sorted({case.trace.text(text_id) for text_id in case.trace.ops.shapes[odd]})
    yield RuleFinding(
        title=say(
            "GEMM dimensions not multiples of {multiple}: {share} of the time",
            multiple=multiple,
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{products:,} products in half precision have a size that the matrix units cannot "
            "use fully, such as {shape}.",
            products=len(odd),
            shape=shapes[0][:80],
        ),
        events=len(odd),
        evidence=case.examples("ops", odd),
        how=say(
            "Not known: how much faster padded ones are depends on the kernels. The time that "
            "goes to them is an upper limit."
        ),
        confidence="low",
        source=case.source(odd),
        lacks=(say("a measurement with padded sizes"),),
    )


def _fast(case: RuleContext) -> Bools:
    """Return which activities reach most of the matrix unit's rate."""
    rates = device_rates(case.trace)
    rows = rates.rows
    roof = np.append(rates.given.matrix, np.inf)[rows.type]
    least_ns = np.maximum(rows.flops, 0) * 1e9 / roof
    fast: Bools = least_ns > _FAST * rows.duration_ns
    return fast


def _odd(case: RuleContext, rows: I64, multiple: int) -> I64:
    """Return the products in half precision with K or N off the multiple.

    Parses each distinct text once.
    """
    ops = case.trace.ops
    columns = ops.shapes[rows], ops.dtypes[rows], ops.name[rows]
    first, group = group_rows(*columns)
    texts = [[case.trace.text(column[i]) for column in columns] for i in first]
    verdicts = [_is_odd(shapes, types, name, multiple) for shapes, types, name in texts]
    odd_rows: I64 = np.flatnonzero(np.array(verdicts, np.bool_)[group])
    return odd_rows


def _is_odd(shapes: str, dtypes: str, name: str, multiple: int) -> bool:
    try:
        sizes, types = json.loads(shapes), json.loads(dtypes)
        at = 2 if "add" in name else 1
        inner, outer = sizes[at][-2:]
        return types[at] in _HALF and bool(inner % multiple or outer % multiple)
    except (ValueError, TypeError, LookupError):
        return False


RULE = Rule(
    name="product_sizes",
    title=say("Sizes off the units' multiple"),
    cause="device",
    looks_for=say(
        "`mm`, `addmm`, `bmm` in half precision with K or N off the multiple of the vendor's data."
    ),
    why=say("Such products take slower kernels, or pad each tile."),
    fix=say("Pad vocabularies, hidden sizes and heads to multiples (64 is good everywhere)."),
    threshold=say("{least} of the step goes to such products.", least=exact_percent(_LEAST)),
    reference=say("torch's MatMulDimInFP16Pattern."),
    code=Code(
        before="head = nn.Linear(1027, 50257)",
        after="head = nn.Linear(1088, 50304)  # multiples of 64",
    ),
    check=check,
    needs=("device", "shapes", "links"),
)
