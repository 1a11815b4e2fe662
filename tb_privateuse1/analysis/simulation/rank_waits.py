"""Estimate how long communication kernels wait for other ranks."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace.groupby import group_rows, minima
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

_ALIKE = 3
"""From this many collectives alike, the shortest one shows how long the transfer takes."""


@memoize
def rank_waits_ns(trace: Trace) -> I64:
    """Return the part of each activity in which it waits for other ranks, in ns.

    A communication kernel begins when its own rank arrives, and ends when all ranks have
    exchanged their data. Of kernels with one name, size and group the shortest waited least: what
    others take longer is their wait. 0 for other activities.
    """
    kernels, collectives = trace.kernels, trace.collectives
    found = np.zeros(len(kernels), np.int64)
    own = np.flatnonzero(collectives.kernel >= 0)
    rows = collectives.kernel[own]
    if not len(rows):
        return found
    first, number = group_rows(collectives.bytes[own], collectives.group[own], kernels.name[rows])
    length = (kernels.end_ns - kernels.start_ns)[rows]
    least = minima(number, length, len(first))
    alike = np.bincount(number)[number] >= _ALIKE
    found[rows] = np.where(alike, length - least[number], 0)
    return found
