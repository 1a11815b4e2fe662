"""Gated activations (SwiGLU, GeGLU) as separate operators, which one kernel would do."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.idiom_finding import find_idiom
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.i18n import say


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Return the chains that idioms.gates recognizes."""
    return find_idiom(
        case,
        "gate",
        say("Gated activations are separate operators: {each:,.0f} times {per_step}"),
        say("The activation is written to memory, and the product with it reads it again."),
        of_torch=False,
    )


RULE = Rule(
    name="gate_by_hand",
    title=say("Unfused gated activation"),
    cause="device",
    looks_for=say("An activation whose result a product reads, also past another product."),
    why=say("One kernel reads both tensors and writes the product."),
    fix=say(
        "Use F.silu where a tensor multiplies its own sigmoid; else a fused kernel (Liger's "
        "SwiGLU and GeGLU, vLLM's silu_and_mul, npu_swiglu on Ascend), or torch.compile; one "
        "product for gate and up saves a launch as well."
    ),
    threshold=say(
        "{least} of the step: it is one module of the model.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("Liger Kernel; vLLM's silu_and_mul."),
    code=Code(
        before="y = F.silu(self.gate(x)) * self.up(x)",
        after=(
            "gate, up = self.gate_up(x).chunk(2, -1)\n"
            "y = liger_kernel.ops.swiglu.LigerSiLUMulFunction.apply(gate, up)"
        ),
    ),
    remedy="compile",
    check=check,
    needs=("work", "operators", "links", "shapes"),
)
