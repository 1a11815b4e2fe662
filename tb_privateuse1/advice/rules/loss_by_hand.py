"""A cross entropy as a chain of operators, which one kernel would do."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.idiom_finding import find_fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms import cross_entropy
from tb_privateuse1.i18n import say


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the losses by hand and their gradients."""
    tails = cross_entropy.loss_tails(case.trace)
    found = fusion.fuse(case, tails.graph, tails.loss, tails.duration_ns, tails.fused_ns)
    yield from find_fusion(
        case,
        found,
        title=say("The cross entropy is unfused: {share} of the time"),
        explanation=say(
            "Exponentials, their sums and logarithms are separate operators, and so are "
            "their gradients. Each reads and writes the scores of all classes."
        ),
        how=say(
            "The time of these kernels beyond one read and one write of the scores in each pass, "
            "while others waited for the device; and the host's time for all operators but one, "
            "while the device had nothing to do."
        ),
    )


RULE = Rule(
    name="loss_by_hand",
    title=say("Unfused cross entropy"),
    cause="device",
    looks_for=say(
        "A sum of exponentials over rows, its logarithm and a difference or a quotient, with what "
        "picks and averages the targets' scores; and the gradients of all of these."
    ),
    why=say("The scores of all classes are often the largest tensor of a model."),
    fix=say(
        "Use F.cross_entropy (or F.log_softmax); for large vocabularies a fused linear cross "
        "entropy, which never stores the scores."
    ),
    threshold=say("{least} of the step: one line.", least=exact_percent(ONE_PLACE)),
    reference=say("torch.nn.functional.cross_entropy; Liger's fused linear cross entropy."),
    code=Code(
        before=(
            "scores = scores - scores.exp().sum(-1, keepdim=True).log()\n"
            "loss = -scores.gather(-1, target[:, None]).mean()"
        ),
        after="loss = F.cross_entropy(scores, target)",
    ),
    check=check,
    needs=("work", "operators", "links", "shapes"),
)
