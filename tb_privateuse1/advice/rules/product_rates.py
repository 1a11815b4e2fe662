"""Large products far below the best rate of products in the same recording."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.distance import LEAST, TILE, CallContext, Words, check_family
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.base import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.analysis.idioms.far_calls import FAR, FAR_APART
from tb_privateuse1.i18n import say

_LONG = 16
"""Times that the inner size exceeds both outer ones: few tiles, each with a long sum."""
_NARROW = 32
"""Rows or columns of the result below which a tile of a matrix unit is mostly empty."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield products of a shape whose siblings of the same type are much faster."""
    yield from check_family(case, ("products",), _PRODUCTS, _reason)
    yield from check_family(case, ("batches",), _BATCHES, _reason)


def _reason(context: CallContext) -> str:
    matrices = [one.shape for one in context.call.tensors() if len(one.shape) >= 2][:2]
    if len(matrices) < 2:
        return ""
    (*batch, m, k), (*_, n) = matrices
    multiple = context.case.vendor.product_multiple
    if multiple and any(size % multiple for size in (k, n)):
        return say(
            "Its sizes are no multiples of {multiple}, which the matrix units need: pad them.",
            multiple=multiple,
        )
    if k >= _LONG * max(m, n):
        return say("Its inner size is long and its result small: let the library split the sum.")
    if min(m, n) < _NARROW:
        return say(
            "Its result is {rows:,} by {columns:,}, which leaves most of a tile empty: join "
            "several of them along the short side.",
            rows=m,
            columns=n,
        )
    tiles = int(np.prod(batch or [1])) * -(-m // TILE) * -(-n // TILE)
    if context.units is not None and tiles < context.units:
        return say(
            "Its result has {tiles} tiles for {units} units of the device: use larger batches, or "
            "combine products that share an input.",
            tiles=tiles,
            units=context.units,
        )
    return ""


_ON_HOST = say("On the host, oneDNN packs weights once with torch.compile and freezing.")
_PRODUCTS = Words(
    title=lambda shapes: say("Products far below the best rate here: {shapes}", shapes=shapes),
    fix=say(
        "Pad odd sizes; combine products that share an input; let the library choose its kernel; "
        "check transposes."
    ),
    tuning="tune_products",
    on_host=_ON_HOST,
)
_BATCHES = Words(
    title=lambda shapes: say(
        "Products of batches far below the best rate here: {shapes}", shapes=shapes
    ),
    fix=say(
        "Pad odd sizes; put the longer dimension into the matrices and the shorter one into the "
        "batch; let torch.compile fuse products with few rows into their neighbors."
    ),
    tuning="tune_products",
    on_host=_ON_HOST,
)

RULE = Rule(
    name="product_rates",
    title=say("Products below the best rate"),
    cause="device",
    looks_for=say(
        "Products of more than 20 µs below {far} of the best sustained rate of their kind and type"
        " ({far_apart} for products of batches, and on the host), if a faster one has no more "
        "work, and no more for each byte.",
        far=exact_percent(FAR),
        far_apart=exact_percent(FAR_APART),
    ),
    why=say("The device, or the host, has shown in this recording that it can do better."),
    fix=_PRODUCTS.fix,
    threshold=say("{least} of the step.", least=exact_percent(LEAST)),
    reference=say("TraceLens GEMM analysis; roofline model."),
    code=Code(
        before="model = torch.compile(model)",
        after='model = torch.compile(model, mode="max-autotune")',
    ),
    check=check,
    needs=("operators", "shapes"),
)
