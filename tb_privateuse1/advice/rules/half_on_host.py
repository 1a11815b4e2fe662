"""Matrix products in float16 or bfloat16 on a CPU without units for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.idioms.number_types import FAR, half_products
from tb_privateuse1.analysis.work.arguments import DTYPES
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield products in float16 or bfloat16 that are slower than float32 is."""
    slow = half_products(case.trace)
    gone = remove(case, Needless(slow.rows, slow.shares))
    if case.share(intervals.length(gone.claim)) < MANY_PLACES:
        return
    whole = case.of_host(case.time(gone.rows)) or gone.claim
    kinds = np.unique(operator_work(case.trace).dtype[gone.rows]).tolist()
    yield RuleFinding(
        title=say(
            "Products in {types} are slower than in float32: {share} of the time",
            types=join_list([DTYPES[kind] for kind in kinds]),
            share="",
        ),
        explanation=say(
            "{products:,} products reach {rate:,.3g} GFLOP/s on the host's processor.",
            products=len(gone.rows),
            rate=slow.rate,
        ),
        events=len(gone.rows),
        evidence=case.examples("ops", gone.rows),
        how=say(
            "Their time beyond that of float32 at {rate:,.3g} GFLOP/s, as its products reach in "
            "this recording.",
            rate=slow.full_rate,
        )
        if slow.is_measured
        else say(
            "Their time beyond that of float32 at {rate:,.3g} GFLOP/s, as a single core of a "
            "server reaches at least.",
            rate=slow.full_rate,
        ),
        claim=gone.claim,
        removes=gone.removes,
        # A core may be faster than the rate that all reach.
        most=1.0 if slow.is_measured else intervals.length(whole) / intervals.length(gone.claim),
        confidence="high" if slow.is_measured else "medium",
        source=case.source(gone.rows),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="half_on_host",
    title=say("Half precision on a processor without units for it"),
    cause="device",
    looks_for=say(
        "Products of a megaflop or more in float16 or bfloat16, in a recording without a device, "
        "below {far} of the rate of float32: that of this recording, or of one core.",
        far=exact_percent(FAR),
    ),
    why=say(
        "A processor without instructions for a type converts each number, or computes them one by "
        "one. The type saves memory, and costs time."
    ),
    fix=say(
        "Compute in float32 on this host, or in bfloat16 where the processor has AVX512_BF16 or "
        "AMX, as lscpu says."
    ),
    threshold=say(
        "{least} of the step; products that wait for memory do not count.",
        least=exact_percent(MANY_PLACES),
    ),
    reference=say("oneDNN: data types and the instruction sets that they need."),
    code=Code(
        before="model = model.half()  # on a CPU",
        after="model = model.float()",
    ),
    remedy="float32_on_host",
    check=check,
    needs=("operators", "shapes"),
)
