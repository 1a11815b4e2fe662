"""Memory that is asked of the device's driver in the loop, where the allocator should have it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1 import intervals
from tb_privateuse1.rules.base import Case, Found, Rule, percent, plural

_NAMES = (
    r"(?i)(malloc|memalloc|free)(async|host|managed|physical|align32)?$"
    r"|^(cu|hip)Mem(Create|Map|Release|Unmap)$"
)
_OTHERS = r"(?i)freeze"
_LEAST = 0.005


def check(case: Case) -> Iterator[Found]:
    """Runtime calls that allocate or release, in the judged steps."""
    launches = case.trace.launches
    named = case.named("launches", _NAMES) & ~case.named("launches", _OTHERS)
    inside = intervals.covered(case.window, launches.start_ns, launches.end_ns) > 0
    rows = np.flatnonzero(named & inside)
    claim = case.of_host(case.time(rows, "launches"))
    if claim is None or case.share(intervals.length(claim)) < _LEAST:
        return
    names = sorted({case.trace.text(name) for name in launches.name[rows]})
    yield Found(
        title=f"Memory is asked of the driver in the loop: "
        f"{percent(case.share(intervals.length(claim)))} of the time",
        explanation=f"{plural(len(rows), 'call')} of {', '.join(names[:4])} within the judged "
        "steps. Such calls wait for the device and take up to milliseconds; the caching allocator "
        "makes them unnecessary once it holds enough.",
        events=len(rows),
        evidence=case.examples("launches", rows),
        how="The time of these calls while the device had nothing to do.",
        claim=claim,
        confidence="high",
        source=case.source(launches.op[rows].astype(np.int64)),
        lacks=case.lacks("memory", "stacks"),
    )


RULE = Rule(
    name="device_malloc",
    title="Memory from the driver in the loop",
    cause="memory",
    looks_for="Runtime calls such as cudaMalloc, hipFree, aclrtMalloc within the steps.",
    why="Each is a synchronisation, and a sign of memory at its limit or in pieces.",
    fix="Leave the first steps out of the profile; keep shapes the same; let segments grow "
    "(expandable_segments:True); do not call empty_cache() in the loop; leave more memory free.",
    threshold="0.5 % of the step: a warm allocator calls none.",
    reference="msprof-analyze memory rule (10 ms of aclrtMalloc and aclrtFree).",
    check=check,
    needs=("device",),
)
