"""Matrix products that read the same input one after another: one product would do.

Query, key and value of attention, gate and up of a gated network. One product of the joined weights
reads the input once, and is large enough to fill a device that each of them leaves half empty.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.nodes import PRODUCT
from tb_privateuse1.analysis.idioms.shared_inputs import shared_inputs
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield groups of two to four products of one input."""
    groups = shared_inputs(case.trace)
    found = fusion.fuse(case, groups.graph, groups.run, groups.duration_ns, groups.fused_ns)
    if found is None or case.share(intervals.length(found.claim)) < ONE_PLACE:
        return
    trace, ops = case.trace, found.ops(found.typical)
    is_product = groups.graph.nodes.role == PRODUCT
    products = int(np.count_nonzero(is_product & np.isin(found.group, found.calls)))
    shapes = [trace.text(shape)[:60] for shape in trace.ops.shapes[ops].tolist()]
    yield RuleFinding(
        title=say(
            "Products of one input are computed apart: {each:,.0f} groups {per_step}",
            each=fusion.per_step(case, found),
            per_step=case.per_step,
        ),
        explanation=say(
            "A typical group has {times} products, of {shapes}, and takes {now:,.3g} us of device "
            "time. One product of the joined weights would need about {fused:,.3g} us.",
            times=len(ops),
            shapes=join_list(dict.fromkeys(shapes)),
            now=float(found.duration_ns[found.typical]) / 1e3,
            fused=float(found.fused_ns[found.typical]) / 1e3,
        ),
        events=products,
        evidence=case.examples("ops", ops),
        how=say(
            "Their time beyond that of one product at the rates of this recording, while others "
            "waited for the device; and the host's time for all but one, while the device had "
            "nothing to do."
        ),
        claim=found.claim,
        removes=fusion.removal(case, found),
        confidence="medium",
        source=case.source(found.ops()),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="shared_inputs",
    title=say("Products of one input apart"),
    cause="device",
    looks_for=say(
        "Two to four products in a row whose first operand has the same shape and type, also past "
        "the activation of the first."
    ),
    why=say("Each reads the input again, and leaves units of the device without work."),
    fix=say(
        "Join the weights of query, key and value, and of gate and up, into one product, and split "
        "its result (fused_qkv in most engines, MergedColumnParallelLinear in vLLM)."
    ),
    threshold=say(
        "{least} of the step: one module of the model changes.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("Megatron-LM and vLLM join these weights; TraceLens GEMM analysis."),
    code=Code(
        before="q, k, v = self.q(x), self.k(x), self.v(x)",
        after="q, k, v = self.qkv(x).split(sizes, dim=-1)",
    ),
    check=check,
    needs=("work", "operators", "links", "shapes"),
)
