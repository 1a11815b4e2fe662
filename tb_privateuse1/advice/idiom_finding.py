"""Build the finding of an idiom: a chain of operators that one fused operator would do."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.fusion import Fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import RuleFinding
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.i18n import Text, fill, join_sentences
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals


def find_idiom(
    case: RuleContext, idiom: str, title: Text, explanation: Text, *, of_torch: bool
) -> Iterator[RuleFinding]:
    """Yield the finding on all chains of an idiom; ``title`` has ``{each}``, chains of a step, and
    ``{per_step}``.

    ``of_torch``: torch has an operator for it. Else a backend of its own may have none.
    """
    exists = of_torch or fusion.may_be_compiled(case)
    found = fusion.fuse_chains(case, idiom)
    for finding in find_fusion(case, found, title, explanation, fusion.how()):
        yield finding if exists else replace(finding, least=0.0, confidence="low")


def find_fusion(
    case: RuleContext, found: Fusion | None, title: Text, explanation: Text, how: str
) -> Iterator[RuleFinding]:
    """Yield the finding on what one operator would do, if its claim is worth one.

    ``title`` has ``{each}``, calls of a step, and ``{per_step}``, or ``{share}``, of the judged
    time.
    """
    if found is None or case.share(intervals.length(found.claim)) < ONE_PLACE:
        return
    share = percent(case.share(intervals.length(found.claim)))
    yield RuleFinding(
        title=fill(title, each=fusion.per_step(case, found), share=share, per_step=case.per_step),
        explanation=join_sentences([explanation, fusion.describe(case, found)]),
        events=len(found.calls),
        evidence=fusion.evidence(case, found),
        how=how,
        claim=found.claim,
        removes=fusion.removal(case, found),
        confidence="high",
        source=case.source(found.ops()),
        lacks=case.lacks("stacks"),
    )
