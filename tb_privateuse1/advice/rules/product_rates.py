"""Large products far below the best rate of products in the same recording."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tb_privateuse1.advice import device_time, fusion
from tb_privateuse1.advice.rules.base import Code, Rule, RuleContext, RuleFinding, plural, say
from tb_privateuse1.analysis.idioms import products
from tb_privateuse1.analysis.idioms.nodes import graph
from tb_privateuse1.analysis.idioms.rates import reachable
from tb_privateuse1.analysis.roofs.rate_types import RATE_TYPES
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.analysis.work import arguments
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.groupby import group_rows, sums
from tb_privateuse1.trace.table import I64

_LEAST = 0.03
_LONG = 16
"""Times that the inner size exceeds both outer ones: few tiles, each with a long sum."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield products of a shape whose siblings of the same type are much faster."""
    slow = products.slow_shapes(case.trace)
    other = np.zeros(len(case.trace.kernels), np.bool_)
    for already in (products.full_precision(case.trace), products.without_units(case.trace)):
        other[already.rows] = True
    judged = case.judged_kernels & ~other & ~fusion.in_chains(case)
    found = slow.where(judged[slow.rows])
    if not len(found.rows):
        return
    kernels = case.trace.kernels
    claim = device_time.claim_of(case, found)
    if case.share(intervals.length(claim)) < _LEAST:
        return
    node = graph(case.trace).kernel_node[found.rows]
    first, group = group_rows(graph(case.trace).nodes.call[node])
    lost = np.floor((kernels.end_ns - kernels.start_ns)[found.rows] * found.shares)
    at_stake = sums(group, lost.astype(np.int64), len(first))
    worst = int(np.argmax(at_stake))
    rows = found.rows[group == worst]
    ops = kernels.op[found.rows].astype(np.int64)
    yield RuleFinding(
        title=say(
            "Products far below the best rate here: {shapes}",
            shapes=plural(len(first), "shape"),
        ),
        explanation=_explanation(case, rows),
        events=len(found.rows),
        evidence=case.examples("kernels", rows),
        how=say(
            "Their time beyond that at 90 % of the best rate of products of their type in this "
            "recording, while others waited for the device."
        ),
        claim=claim,
        removes=device_time.removal_of(case, found),
        confidence="medium",
        source=case.source(ops),
        lacks=case.lacks("stacks"),
    )


def _explanation(case: RuleContext, rows: I64) -> str:
    """Return the sentences on the shape with most time at stake; ``rows`` are its kernels."""
    trace, work = case.trace, device_rates(case.trace).rows
    op = int(trace.kernels.op[rows[0]])
    rate = float(work.flops[rows].sum()) / max(float(work.duration_ns[rows].sum()), 1.0) / 1e3
    best = reachable(trace).products[RATE_TYPES[int(work.type[rows[0]])]] / 1e12
    return say(
        "`{name}` of {shapes} reaches {rate:,.4g} TFLOP/s, while products of the same type reach "
        "{best:,.4g} TFLOP/s in this recording. {reason}",
        name=trace.text(trace.ops.name[op]),
        shapes=trace.text(trace.ops.shapes[op])[:80],
        rate=rate,
        best=best,
        reason=_reason(case, op),
    )


def _reason(case: RuleContext, op: int) -> str:
    ops, trace = case.trace.ops, case.trace
    call = arguments.parse_arguments(
        trace.text(ops.name[op]), trace.text(ops.shapes[op]), trace.text(ops.dtypes[op])
    )
    matrices = [one.shape for one in call.tensors() if len(one.shape) >= 2][:2]
    if len(matrices) < 2:
        return say("The reason does not show in its shape.")
    (*batch, m, k), (*_, n) = matrices
    multiple = case.vendor.product_multiple
    if multiple and any(size % multiple for size in (k, n)):
        return say(
            "Its sizes are no multiples of {multiple}, which the matrix units need: pad them.",
            multiple=multiple,
        )
    if k >= _LONG * max(m, n):
        return say("Its inner size is long and its result small: let the library split the sum.")
    units: Any = (trace.meta.devices[0] if trace.meta.devices else {}).get("numSms")
    tiles = int(np.prod(batch or [1])) * -(-m // products.TILE) * -(-n // products.TILE)
    if isinstance(units, int) and tiles < units:
        return say(
            "Its result has {tiles} tiles for {units} units of the device: use larger batches, or "
            "combine products that share an input.",
            tiles=tiles,
            units=units,
        )
    return say("The reason does not show in its shape: let the library tune it, or try a layout.")


RULE = Rule(
    name="product_rates",
    title=say("Products below the best rate"),
    cause="device",
    looks_for=say(
        "Products of more than 20 µs below 80 % of the best sustained rate of products of their "
        "type, that do not wait for memory."
    ),
    why=say("The device has shown in this recording that it can do better."),
    fix=say(
        "Pad odd sizes; combine products that share an input; let the library choose (TunableOp "
        "on ROCm, cuBLASLt heuristics, torch.compile(mode='max-autotune')); check transposes."
    ),
    threshold=say("3 % of the step."),
    reference=say("TraceLens GEMM analysis; roofline model."),
    code=Code(
        before="model = torch.compile(model)",
        after='model = torch.compile(model, mode="max-autotune")',
    ),
    check=check,
    needs=("device", "operators", "links", "shapes"),
)
