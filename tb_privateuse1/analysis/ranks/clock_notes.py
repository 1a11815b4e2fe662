"""Report clocks that are far from those of the other ranks, by host, as findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tb_privateuse1.analysis.ranks.clock_alignment import Clocks
from tb_privateuse1.analysis.ranks.collectives import RankPart
from tb_privateuse1.analysis.ranks.notes import listed
from tb_privateuse1.analysis.recording.durations import write_duration
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import MISSING

_LEAST_NS = 10_000_000
"""Clocks that NTP keeps agree within some milliseconds."""
_SPREADS = 10.0
"""A clock is far off at this many median deviations of all clocks, ..."""
_RESIDUALS = 10
"""... and at this many times the accuracy of the comparison."""
_MOST = 20
"""Clocks in notes of their own, the farthest: a cluster without a time service has as
many as hosts."""
_ALWAYS_NS = 1_000_000_000
"""A second is far off in any case."""


def clock_notes(
    numbers: Sequence[int], parts: Sequence[RankPart], clocks: Clocks
) -> Iterator[Finding]:
    """Yield a finding for each host, or rank without a host name, whose clock is far off."""
    known = np.flatnonzero(clocks.offset_ns != MISSING)
    if len(known) < 2:
        return
    from_median = clocks.offset_ns[known] - np.median(clocks.offset_ns[known])
    distance = np.abs(from_median)
    residual = np.where(clocks.residual_ns[known] == MISSING, 0, clocks.residual_ns[known])
    limit = np.maximum(max(_LEAST_NS, _SPREADS * float(np.median(distance))), _RESIDUALS * residual)
    far = distance > np.minimum(limit, np.maximum(_ALWAYS_NS, _RESIDUALS * residual))
    by_clock: dict[tuple[str, int], list[int]] = {}
    for i in np.flatnonzero(far).tolist():
        host = parts[known[i]].hostname
        # The ranks of one host have one clock, to the accuracy of the comparison.
        key = (host or "", round(from_median[i] / _LEAST_NS) if host else i)
        by_clock.setdefault(key, []).append(i)
    farthest = sorted(by_clock, key=lambda one: -distance[by_clock[one][0]])
    for host, shift in sorted(farthest[:_MOST], key=lambda one: by_clock[one][0]):
        rows = by_clock[host, shift]
        ranks = [numbers[known[i]] for i in rows]
        yield _note(host, ranks, float(np.median(from_median[rows])))
    if left := farthest[_MOST:]:
        yield _left(len(left), sum(len(by_clock[one]) for one in left))


def _left(clocks: int, ranks: int) -> Finding:
    message = say("{count:,} more clocks are far from the others, by less.", count=clocks)
    hint = say(
        "They are of {count:,} ranks: a time service may not run on any of them.", count=ranks
    )
    return Finding("clock_far_off", message, hint, ranks)


def _note(host: str, ranks: Sequence[int], offset_ns: float) -> Finding:
    time = write_duration(round(abs(offset_ns)))
    who = say("of host {host} (ranks {ranks})", host=host, ranks=listed(ranks)) if host else ""
    who = who or say("of rank {rank}", rank=listed(ranks))
    if offset_ns > 0:
        message = say("The clock {who} is {time} ahead of the others.", who=who, time=time)
    else:
        message = say("The clock {who} is {time} behind the others.", who=who, time=time)
    hint = say(
        "The figures here do not depend on it: clocks are aligned by common collectives. Logs of "
        "these ranks do; check its time service (chrony, NTP, PTP)."
    )
    return Finding("clock_far_off", message, hint, len(ranks))
