"""Count how often each rank is among the last at collectives, and how long the others wait."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.ranks.collectives import MatchedCalls
from tb_privateuse1.trace.groupby import maxima, sums
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64, Bools


class Blame(Struct, frozen=True):
    """By rank: in how many collectives it was among the last, and how long the others waited.

    ``telling`` is the number of collectives with a wait.
    """

    last: I64
    caused_ns: I64
    telling: int


_LEAST_WAIT_NS = 1_000
"""A shorter wait may be rounding: older traces have times in whole µs."""
_LEAST_WAIT = 0.1
"""A collective identifies the last ranks if a rank also waited for this share of it."""
_TOGETHER = 0.1
"""Ranks come last together if they wait at most this share of the longest wait."""


def assign_blame(calls: MatchedCalls, in_step: Bools, ranks: int) -> Blame:
    """Return how often each rank was among the last in matched collectives, and the wait it caused.

    The wait is the mean of the ranks that are not among the last.
    """
    rows = np.flatnonzero((calls.match >= 0) & in_step)
    match, rank = calls.match[rows], calls.rank[rows]
    n = int(calls.match.max(initial=NONE)) + 1
    wait = calls.duration_ns[rows] - calls.transfer_ns[rows]
    longest, most = maxima(match, calls.duration_ns[rows], n), maxima(match, wait, n)
    counts = (most >= _LEAST_WAIT_NS) & (most >= _LEAST_WAIT * longest)
    is_last = wait <= _TOGETHER * most[match]
    waiting = np.where(is_last, NONE, match).astype(np.int32)
    each = sums(waiting, wait, n) // np.maximum(sums(waiting, np.ones_like(wait), n), 1)
    blamed = is_last & counts[match]
    last = np.bincount(rank[blamed], minlength=ranks).astype(np.int64)
    caused = sums(rank[blamed], each[match[blamed]], ranks)
    return Blame(last, caused, int(counts.sum()))
