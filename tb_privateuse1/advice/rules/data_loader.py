"""Input-bound: the device is idle while the program waits for the data loader."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals

_NAMES = r"^enumerate\(DataLoader\)(?!#_SingleProcess)"


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the time in the loader's ``__next__`` while the device was idle."""
    rows = case.ops(_NAMES)
    claim = case.of_host(intervals.intersect(case.time(rows), case.in_classes("input")))
    if claim is None or case.share(intervals.length(claim)) < MANY_PLACES:
        return
    share = percent(case.share(intervals.length(claim)))
    yield RuleFinding(
        title=(
            say("The program waits {share} of the time for the data loader", share=share)
            if case.limits.known == "host"
            else say("The device waits {share} of the time for the data loader", share=share)
        ),
        explanation=say(
            "{times:,} times the program asked the data loader for data that was not ready "
            "yet, and nothing else was left to do.",
            times=len(rows),
        ),
        events=len(rows),
        evidence=case.examples("ops", rows),
        how=say(
            "The time in the loader's __next__ during which no device activity ran and none "
            "was queued."
        ),
        claim=claim,
        change=case.change("data_loader=0"),
        confidence="high",
        source=case.source(rows),
        lacks=case.lacks("device", "steps"),
    )


RULE = Rule(
    name="data_loader",
    title=say("Input-bound"),
    cause="input",
    looks_for=say("Time in enumerate(DataLoader) of several workers while the device is idle."),
    why=say("Workers that are too few or too slow let the device stand still at each step."),
    fix=say(
        "Raise num_workers and prefetch_factor, set persistent_workers=True and pin_memory=True; "
        "then make the work per sample smaller: decode and augment on the device, or store the "
        "data decoded."
    ),
    threshold=say(
        "{least} of the step: below that, other causes of waiting weigh as much.",
        least=exact_percent(MANY_PLACES),
    ),
    reference=say("torch-tb-profiler (5 % of the step), XProf input-bound (10 %)."),
    code=Code(
        before="DataLoader(data, num_workers=2)",
        after=(
            "DataLoader(data, num_workers=8, prefetch_factor=4,\n"
            "           persistent_workers=True, pin_memory=True)"
        ),
    ),
    remedy="loader_workers",
    check=check,
)
