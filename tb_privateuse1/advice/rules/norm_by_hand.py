"""Normalization as a chain of operators, which one kernel would do."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.idiom_finding import find_idiom
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.i18n import say


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Return the chains that idioms.norms recognizes."""
    return find_idiom(
        case,
        "norm",
        say("Normalization is unfused: {each:,.0f} times {per_step}"),
        say(
            "Squares, their mean, the root and the products are separate operators. Each "
            "reads and writes the whole tensor."
        ),
        of_torch=True,
    )


RULE = Rule(
    name="norm_by_hand",
    title=say("Unfused normalization"),
    cause="device",
    looks_for=say(
        "Squares that a reduction of rows reads, and a product with the inverse root of its result."
    ),
    why=say("A kernel for the whole normalization reads and writes each element once."),
    fix=say(
        "Use torch.nn.RMSNorm, LayerNorm or their functional forms, a kernel of Liger or vLLM, or "
        "torch.compile, which also takes in the residual's sum. A backend registers "
        "_fused_rms_norm and native_layer_norm."
    ),
    threshold=say(
        "{least} of the step: it is one module of the model.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("torch.nn.functional.rms_norm; Liger Kernel."),
    code=Code(
        before=(
            "y = x.float()\n"
            "y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps)\n"
            "y = weight * y.to(x.dtype)"
        ),
        after="y = F.rms_norm(x, (x.shape[-1],), weight, eps)",
    ),
    remedy="compile",
    check=check,
    needs=("work", "operators", "links", "shapes"),
)
