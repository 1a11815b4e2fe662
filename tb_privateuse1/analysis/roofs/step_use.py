"""The share of a device's arithmetic peak that steps use: MFU and HFU.

Both are of A. Chowdhery et al.: "PaLM: scaling language modeling with Pathways", 2022, appendix B:
model FLOPs utilization counts the FLOPs that the model needs, hardware FLOPs utilization also those
of recomputed activations. Only products count, as in both papers and in torch's FLOP counter.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.roofs.work_rows import WorkRows
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import F64, I32, I64, Bools


class StepUse(Struct, frozen=True):
    """The use of the device's peak in a step: shares of its duration, None if not known."""

    mfu: float
    hfu: float
    mfu_low: float | None
    """At the longest duration that the step's error bound allows."""
    mfu_high: float | None
    """At the shortest."""
    hfu_low: float | None
    hfu_high: float | None
    product_flops: int
    """Of the products with a roof, recomputed ones included."""
    known_share: float | None
    """The part of the device time of the step's products whose FLOPs and roof are known."""


def step_use(
    rows: WorkRows,
    compute_rate: F64,
    recomputed: Bools,
    step: I32,
    duration_ns: I64,
    bound_ns: I64,
) -> list[StepUse | None]:
    """Return the use of each step on one device; None without a product whose roof is known.

    ``step`` is each row's, negative for none; ``duration_ns`` and ``bound_ns`` are of the steps.
    Work of several types counts by its own peak: the sum of FLOPs by peak, by the duration.
    """
    products = rows.product & (step >= 0)
    known = products & rows.compute_known & np.isfinite(compute_rate)
    least_s: F64 = np.where(known, rows.flops, 0) / compute_rate
    count = len(duration_ns)

    def total(values: F64 | I64, mask: Bools) -> F64:
        return np.bincount(step[mask], values[mask].astype(np.float64), count).astype(np.float64)

    needed = total(least_s, known & ~recomputed) * 1e9
    done = total(least_s, known) * 1e9
    flops = sums(step[known], rows.flops[known], count)
    covered, time = total(rows.duration_ns, known), total(rows.duration_ns, products)
    found: list[StepUse | None] = []
    for i, (length, bound) in enumerate(zip(duration_ns.tolist(), bound_ns.tolist(), strict=True)):
        if not flops[i] or length <= 0:
            found.append(None)
            continue
        longest = length + bound if bound != MISSING else None
        shortest = length - bound if 0 <= bound < length else None
        found.append(
            StepUse(
                mfu=float(needed[i]) / length,
                hfu=float(done[i]) / length,
                mfu_low=float(needed[i]) / longest if longest else None,
                mfu_high=float(needed[i]) / shortest if shortest else None,
                hfu_low=float(done[i]) / longest if longest else None,
                hfu_high=float(done[i]) / shortest if shortest else None,
                product_flops=int(flops[i]),
                known_share=float(covered[i] / time[i]) if time[i] else None,
            )
        )
    return found
