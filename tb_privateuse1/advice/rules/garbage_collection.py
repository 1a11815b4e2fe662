"""Python's garbage collection while the device is idle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals

_NAMES = r"(?i)^python gc\b|^gc\.collect|<built-in (function|method) collect>"


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the collections that ranges or frames record while the device is idle."""
    frames = case.trace.frames
    ranges = case.ops(_NAMES)
    framed = np.flatnonzero(case.named("frames", _NAMES)) if len(frames) else ranges[:0]
    collecting = intervals.merge(case.time(ranges), case.time(framed, "frames"))
    claim = case.of_host(intervals.intersect(collecting, case.in_classes("garbage_collection")))
    if claim is None or case.share(intervals.length(claim)) < NOISE:
        return
    count = len(collecting[0])  # torch's frame and a range are one collection
    yield RuleFinding(
        title=say(
            "Garbage collection stops the program: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{collections} ran while the device had nothing to do. They come at any time, on "
            "each rank at another, so that in a distributed job all wait for one.",
            collections=plural(count, "collection"),
        ),
        events=count,
        evidence=case.examples("ops", ranges) or case.examples("frames", framed),
        how=say("Their time while the device had nothing to do."),
        claim=claim,
        change=case.change("class:garbage_collection=0"),
        confidence="high",
        source=case.source(ranges),
    )


RULE = Rule(
    name="garbage_collection",
    title=say("Garbage collection"),
    cause="launching",
    looks_for=say("Ranges “Python GC” or frames of gc.collect while the device is idle."),
    why=say("Large models make millions of objects, and looking through all of them takes long."),
    fix=say(
        "gc.disable() and gc.collect(0) every hundred steps, at the same step on all "
        "ranks; gc.freeze() after building the model; no gc.collect() in the loop."
    ),
    threshold=say("{least} of the step.", least=exact_percent(NOISE)),
    reference=say("msprof-analyze GC rule; torchtitan's GarbageCollection."),
    code=Code(
        before=("for batch in loader:\n    train(batch)\n    gc.collect()"),
        after=(
            "gc.freeze()\n"
            "gc.disable()\n"
            "for i, batch in enumerate(loader):\n"
            "    train(batch)\n"
            "    if i % 100 == 0:\n"
            "        gc.collect(0)"
        ),
    ),
    remedy="frozen_garbage",
    check=check,
    needs=("operators",),
)
