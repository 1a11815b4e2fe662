"""Small matrix products one after the other that one batched product would do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms import batchable_products
from tb_privateuse1.analysis.idioms.nodes import PRODUCT
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import LONGEST_INLINE


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield runs of equal products without other device work between them."""
    runs = batchable_products.product_series(case.trace)
    found = fusion.fuse(case, runs.graph, runs.run, runs.duration_ns, runs.fused_ns)
    if found is None or case.share(intervals.length(found.claim)) < ONE_PLACE:
        return
    ops = found.ops(found.typical)
    is_product = runs.graph.nodes.role == PRODUCT
    products = int(np.count_nonzero(is_product & np.isin(found.group, found.calls)))
    trace = case.trace
    yield RuleFinding(
        title=say(
            "Equal small products one after the other: {each:,.0f} {per_step}",
            each=products / max(len(case.steps), 1),
            per_step=case.per_step,
        ),
        explanation=say(
            "In a typical series, {name} of {shapes} runs {times:,} times and takes {now:,.3g} "
            "µs of device time. One batched product would need about {fused:,.3g} µs.",
            name=trace.text(trace.ops.name[ops[0]]),
            shapes=shorten(trace.text(trace.ops.shapes[ops[0]]), LONGEST_INLINE),
            times=int(np.count_nonzero(is_product & (found.group == found.typical))),
            now=float(found.duration_ns[found.typical]) / 1e3,
            fused=float(found.fused_ns[found.typical]) / 1e3,
        ),
        events=products,
        evidence=case.examples("ops", ops),
        how=say(
            "Their time beyond that of one batched product, while others waited for the device; "
            "and the host's time for all but one, while the device had nothing to do."
        ),
        claim=found.claim,
        removes=fusion.removal(case, found),
        confidence="medium",
        source=case.source(found.ops()),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="product_series",
    title=say("Small products in a loop"),
    cause="launching",
    looks_for=say(
        "{many} or more products of equal shapes in a row whose result has another size than their"
        " operands.",
        many=batchable_products.MANY,
    ),
    why=say("Each one is a launch, and too small to fill the device."),
    fix=say(
        "Stack the operands and call torch.bmm or einsum once, or torch.vmap; experts of "
        "different sizes take a grouped product."
    ),
    threshold=say(
        "{many} products and {least} of the step.",
        least=exact_percent(ONE_PLACE),
        many=batchable_products.MANY,
    ),
    reference=say("torch.bmm; grouped GEMM."),
    code=Code(
        before="outputs = [x @ weight for weight in weights]",
        after='outputs = torch.einsum("bi,nio->nbo", x, torch.stack(weights))',
    ),
    check=check,
    needs=("work", "operators", "links", "shapes"),
)
