"""Estimate how far the clocks of host and device disagree, from the recording itself.

An activity cannot start before its launch, and a call that waits cannot return before the end of
what it waited for. If the recording says so, its clocks disagree, by at least that time.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.blocking_names import blocks
from tb_privateuse1.trace.columns import latest_before, lookup, mask_of
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import KERNEL, MEMCPY, NONE, Trace
from tb_privateuse1.trace.table import I64

_MOST_NS = 20_000
"""Profilers align both clocks to some µs. A larger violation is a wrong link, or no wait at all."""

WAITED_NS = 2 * _MOST_NS
"""A call this long waits. A shorter one that returns near the end of a short copy may not."""

_HIGH = 0.99
"""A few violations, and a few short latencies, may come from wrong links."""

_FEWEST = 3
"""Fewer violations are no evidence: a call may return just before the end of a copy."""


@memoize
def clock_slack_ns(trace: Trace) -> int:
    """Return by how much a device time may disagree with a host time, in ns.

    0 for inferred times, which are on the host's clock, and without a violation.
    """
    kernels, launches = trace.kernels, trace.launches
    rows = np.flatnonzero(kernels.launch >= 0)
    if trace.meta.timeline != "measured" or not len(rows):
        return 0
    latency = kernels.start_ns[rows] - launches.start_ns[kernels.launch[rows]]
    early = _high(-latency, _MOST_NS)
    # If device times are late, all launches seem to take that much longer.
    usable = latency[latency > 0]
    most = min(_MOST_NS, int(np.quantile(usable, 1 - _HIGH))) if len(usable) else _MOST_NS
    late = _high(np.concatenate((_late_copies(trace), _late_waits(trace))), most)
    return max(early, late)


def _high(violations: I64, most: int) -> int:
    """Return a high quantile of the violations up to a limit; 0 if there are few."""
    some = violations[(violations > 0) & (violations <= most)]
    return int(np.quantile(some, _HIGH, method="higher")) if len(some) >= _FEWEST else 0


def _late_copies(trace: Trace) -> I64:
    """Return how long after its call's return each copy ended.

    Only for long calls that lasted beyond the middle of the copy: others do not wait for it.
    """
    kernels, launches = trace.kernels, trace.launches
    long = launches.end_ns - launches.start_ns >= WAITED_NS
    rows = np.flatnonzero((kernels.kind == MEMCPY) & lookup(long, kernels.launch, False))
    back = launches.end_ns[kernels.launch[rows]]
    start, end = kernels.start_ns[rows], kernels.end_ns[rows]
    return (end - back)[back - start >= end - back]


def _late_waits(trace: Trace) -> I64:
    """Return how long after each long synchronization's return the work launched before it ended.

    Of several streams, the one whose end is nearest counts: the synchronization may be for it.
    """
    kernels, launches = trace.kernels, trace.launches
    named = groupby.named_rows(trace.strings, launches.name, blocks)
    started = mask_of(kernels.launch[kernels.kind == KERNEL], len(launches))
    long = launches.end_ns - launches.start_ns >= WAITED_NS
    wait = np.flatnonzero(named & ~started & long)
    nearest = np.full(len(wait), np.iinfo(np.int64).max)
    rows = np.flatnonzero(kernels.launch >= 0) if len(wait) else wait
    for _, of_lane in groupby.split_by_value(kernels.lane[rows]):
        lane = rows[of_lane]
        called = launches.start_ns[kernels.launch[lane]]
        order = np.argsort(called, kind="stable")
        ends = np.maximum.accumulate(kernels.end_ns[lane[order]])
        last = latest_before(called[order], launches.start_ns[wait])
        late = lookup(ends, last, 0) - launches.end_ns[wait]
        closer = (last > NONE) & (np.abs(late) < np.abs(nearest))
        nearest[closer] = late[closer]
    return nearest[nearest < np.iinfo(np.int64).max]
