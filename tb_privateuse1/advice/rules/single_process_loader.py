"""A DataLoader in the main process (num_workers=0)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.simulation.assumptions import hand_over_ns, loading_rows
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals

_MOST_HANDED = 0.5
"""Where the hand-over may take more than this of the claim, something else may decide."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the time in the single-process loader while the device was idle.

    Not where a batch is made as fast as a worker hands one over.
    """
    rows = loading_rows(case.trace)
    rows = rows[case.judged[rows]]
    if not len(rows):
        return
    made_ns = np.median(case.trace.ops.end_ns[rows] - case.trace.ops.start_ns[rows])
    handed_share = float(np.median(hand_over_ns(case.trace, rows)) / max(made_ns, 1))
    if handed_share >= 1:
        return
    claim = case.of_host(intervals.intersect(case.time(rows), case.in_classes("input")))
    if claim is None or case.share(intervals.length(claim)) < ONE_PLACE:
        return
    share = percent(case.share(intervals.length(claim)))
    yield RuleFinding(
        title=say("Batches are made in the training process: {share} of the time", share=share),
        explanation=say(
            "The data loader has no workers (num_workers=0). Nothing is loaded ahead: all else "
            "stands still while the program reads, decodes and collates each batch."
        ),
        events=len(rows),
        evidence=case.examples("ops", rows),
        how=say(
            "The time in the loader's __next__ during which no device activity ran and none "
            "was queued. Workers load meanwhile, as long as they keep up. Their hand-over of a "
            "batch takes up to {share} of the time in which it is made here.",
            share=percent(handed_share),
        ),
        claim=claim,
        change=case.change("data_loader=0"),
        confidence="high" if handed_share < _MOST_HANDED else "medium",
        source=case.source(rows),
        lacks=case.lacks("device", "steps"),
    )


RULE = Rule(
    name="single_process_loader",
    title=say("Data loader without workers"),
    cause="input",
    looks_for=say("enumerate(DataLoader)#_SingleProcessDataLoaderIter while the device is idle."),
    why=say("Loading and computing take turns instead of running side by side."),
    fix=say("DataLoader(..., num_workers=4 or more, persistent_workers=True, pin_memory=True)."),
    threshold=say(
        "{least} of the step: one argument fixes it, so little is worth it. Nothing is said of "
        "batches that are made as fast as workers hand them over.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("torch's SynchronizedDataLoaderPattern, which fires without regard to the time."),
    code=Code(
        before="DataLoader(data, batch_size=64)",
        after=(
            "DataLoader(data, batch_size=64, num_workers=4,\n"
            "           persistent_workers=True, pin_memory=True)"
        ),
    ),
    remedy="loader_workers",
    check=check,
)
