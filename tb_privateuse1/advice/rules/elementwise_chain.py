"""Chains of elementwise kernels: each one reads and writes memory."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.i18n import join_sentences, say
from tb_privateuse1.trace import intervals

_IDIOMS = ("elementwise", "bias_activation_dropout", "copies", "quantization")
_LEAST_UNSIZED = 0.05
"""Share of the step. Without shapes the chain's bytes are a guess, so the threshold is higher."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the chains that no rule for a more specific idiom covers."""
    found = fusion.fuse_chains(case, *_IDIOMS)
    sized = "shapes" in case.has
    least = MANY_PLACES if sized else _LEAST_UNSIZED
    if found is None or case.share(intervals.length(found.claim)) < least:
        return
    compiles = fusion.may_be_compiled(case)
    yield RuleFinding(
        title=say(
            "Unfused elementwise operators: {each:,.0f} chains {per_step}",
            each=fusion.per_step(case, found),
            per_step=case.per_step,
        ),
        explanation=join_sentences(
            [
                say(
                    "{kernels:,} kernels only combine, convert or reduce tensors. Each reads from "
                    "memory what the one before has just written.",
                    kernels=len(found.kernels),
                ),
                fusion.describe(case, found),
            ]
        ),
        events=len(found.kernels),
        evidence=fusion.evidence(case, found),
        how=(
            fusion.how()
            if sized
            else say(
                "All but the longest kernel of each chain, while others waited for the device: "
                "fused, a chain is one way through memory. Sizes were not recorded."
            )
        ),
        claim=found.claim,
        removes=fusion.removal(case, found),
        least=1.0 if compiles else 0.0,
        confidence="medium" if compiles else "low",
        source=case.source(found.ops()),
        lacks=case.lacks("shapes", "stacks"),
        fix=None if compiles else _WITHOUT_COMPILER,
    )


_WITHOUT_COMPILER = say(
    "Use a fused operator that the backend has (F.silu, torch.addcmul, torch.lerp, fused "
    "normalization), or write a kernel for the hottest chain. torch.compile fuses them only if it "
    "has a backend for this device; the recording has nothing compiled. Without any of these "
    "nothing is saved."
)


RULE = Rule(
    name="elementwise_chain",
    title=say("Unfused elementwise operators"),
    cause="device",
    looks_for=say(
        "Elementwise operators, casts, copies and reductions that read each other's results, "
        "outside of the optimizer; without shapes, three or more in a row."
    ),
    why=say("Such kernels wait for memory; one that does all of it needs a single pass."),
    fix=say(
        "torch.compile fuses them; else use fused operators (F.silu, torch.addcmul, fused "
        "normalization), or write a kernel for the hottest chain."
    ),
    threshold=say(
        "{least} of the step, {least_unsized} without shapes: torch.compile has a price, too.",
        least=exact_percent(MANY_PLACES),
        least_unsized=exact_percent(_LEAST_UNSIZED),
    ),
    reference=say("TraceLens fusion opportunities; msprof-analyze fusible sequences."),
    code=Code(
        before=(
            "def activate(x, bias):\n"
            "    return 0.5 * (x + bias) * (1 + torch.tanh(0.8 * (x + bias)))"
        ),
        after=(
            "@torch.compile\n"
            "def activate(x, bias):\n"
            "    return 0.5 * (x + bias) * (1 + torch.tanh(0.8 * (x + bias)))"
        ),
    ),
    remedy="compile",
    check=check,
    needs=("work", "operators", "links"),
)
