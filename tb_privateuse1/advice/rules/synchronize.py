"""Explicit ``synchronize()`` inside the step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the waits outside of any operator."""
    table = case.limits.waits
    is_judged = intervals.covered_length(case.window, table.start_ns, table.end_ns) > 0
    waits = np.flatnonzero(is_judged & (table.op < 0))
    claim = case.idle_by_waits(waits)
    if len(waits) < len(case.steps) or case.share(intervals.length(claim)) < ONE_PLACE:
        return
    launches = table.launch[waits].astype(np.int64)
    yield RuleFinding(
        title=say(
            "synchronize() in the loop costs {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{calls} outside of any operator made the host wait for the device, which then had "
            "nothing queued.",
            calls=plural(len(waits), "call"),
        ),
        events=len(waits),
        evidence=case.examples("launches", launches),
        how=say(
            "After each wait, the time in which the device had nothing to do, at most as long "
            "as the wait."
        ),
        claim=claim,
        removes=case.without(waits=waits),
        confidence="high",
        source=case.source_of_waits(waits, claim),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="synchronize",
    title=say("Explicit synchronization"),
    cause="waiting",
    looks_for=say("A synchronizing runtime call outside of all operators, once a step or more."),
    why=say("The device runs dry each time, and the host launches from nothing again."),
    fix=say(
        "Remove torch.<device>.synchronize() from the loop; to measure, record events and read "
        "them later. Logging and timing tools often do it: give them an interval."
    ),
    threshold=say(
        "{least} of the step; less than one call a step is the profiler's own.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("msprof-analyze's synchronize-stream rule."),
    code=Code(
        before=(
            "start = time.time()\n"
            "train(batch)\n"
            "torch.accelerator.synchronize()\n"
            "times.append(time.time() - start)"
        ),
        after=(
            "begin, end = (torch.Event(device, enable_timing=True) for _ in range(2))\n"
            "begin.record()\n"
            "train(batch)\n"
            "end.record()\n"
            "pairs.append((begin, end))  # read after the loop: begin.elapsed_time(end)"
        ),
    ),
    remedy="without_synchronize",
    check=check,
    needs=("device",),
)
