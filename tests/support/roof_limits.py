"""Rows of work that no device can do in their time: an oracle of work models and roofs."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.roofs.roofs import Ceilings, compute_ceilings
from tb_privateuse1.analysis.roofs.work_rows import WorkRows
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import Bools

MARGIN = 1.05
"""Rates above a roof by more are errors of the work's model or of the roof."""


def impossible_rows(
    rows: WorkRows, given: Ceilings, *, tf32: bool = False, resolution_ns: int = 1
) -> Bools:
    """Return a mask of rows that no device with these roofs can do in the time.

    ``given`` are the ceilings of ``roofs.roofs_of`` alone: a best rate of the recording is no
    limit of the device. Bytes beyond the cache's size must come from the memory; others need not,
    and nothing is impossible of work that may be less than counted (``at_most``).
    """
    rate = compute_ceilings(rows, given, tf32=tf32)
    flops = np.where((rows.flops != MISSING) & np.isfinite(rate), rows.flops, 0)
    beyond = np.maximum(np.where(rows.bytes == MISSING, 0, rows.bytes) - given.cache_bytes, 0)
    longest = rows.longest_ns(resolution_ns)
    least_ns = np.maximum(flops / rate, beyond / given.memory) * 1e9
    fast: Bools = (least_ns > MARGIN * longest) & (longest != MISSING) & ~rows.at_most
    return fast
