"""Allocations by the device's driver inside the step, which the caching allocator should serve."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rules.base import (
    Rule,
    RuleContext,
    RuleFinding,
    join_list,
    percent,
    plural,
    say,
)
from tb_privateuse1.trace import intervals
from tb_privateuse1.vendors import words

_NAMES = (
    r"(?i)(malloc|memalloc|free)(async|host|managed|physical|align32)?$"
    r"|^(<runtimes>)Mem(Create|Map|Release|Unmap)$"
)
_OTHERS = r"(?i)freeze"
_LEAST = 0.005


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the runtime calls that allocate or release in the judged steps."""
    launches = case.trace.launches
    names = _NAMES.replace("<runtimes>", words("runtime_prefixes", case.vendor.runtime_prefixes))
    named = case.named("launches", names) & ~case.named("launches", _OTHERS)
    is_judged = intervals.covered_length(case.window, launches.start_ns, launches.end_ns) > 0
    rows = np.flatnonzero(named & is_judged)
    claim = case.of_host(case.time(rows, "launches"))
    if claim is None or case.share(intervals.length(claim)) < _LEAST:
        return
    called = sorted({case.trace.text(name) for name in launches.name[rows]})
    yield RuleFinding(
        title=say(
            "Memory is asked of the driver in the loop: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{calls} of {names} within the judged steps. Such calls wait for the device and "
            "take up to milliseconds; the caching allocator makes them unnecessary once it "
            "holds enough.",
            calls=plural(len(rows), "call"),
            names=join_list(called[:4]),
        ),
        events=len(rows),
        evidence=case.examples("launches", rows),
        how=say("The time of these calls while the device had nothing to do."),
        claim=claim,
        removes=case.without(launches=rows),
        confidence="high",
        source=case.source(launches.op[rows].astype(np.int64)),
        lacks=case.lacks("memory", "stacks"),
    )


RULE = Rule(
    name="device_malloc",
    title=say("Memory from the driver in the loop"),
    cause="memory",
    looks_for=say("Runtime calls such as cudaMalloc, hipFree, aclrtMalloc within the steps."),
    why=say("Each is a synchronisation, and a sign of memory at its limit or in pieces."),
    fix=say(
        "Leave the first steps out of the profile; keep shapes the same; let segments grow "
        "(expandable_segments:True); do not call empty_cache() in the loop; leave more memory "
        "free."
    ),
    threshold=say("0.5 % of the step: a warm allocator calls none."),
    reference=say("msprof-analyze memory rule (10 ms of aclrtMalloc and aclrtFree)."),
    check=check,
    needs=("device",),
)
