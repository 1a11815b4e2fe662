"""Device time by its distance from the roof.

docs/reference/definitions.md, "Work and roofs", defines the classes.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from tb_privateuse1.analysis.roofs.achieved import LIMITS
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import F64, I8, I64, Bools, Table

Distance = Literal["above_80", "above_50", "above_20", "below_20", "no_roof", "unknown"]
DISTANCES: tuple[Distance, ...] = (
    "above_80", "above_50", "above_20", "below_20", "no_roof", "unknown",
)  # fmt: skip
"""By the share of the roof; work without a roof; unknown work."""
_EDGES = np.array([0.8, 0.5, 0.2])
_NO_ROOF, _UNKNOWN = DISTANCES.index("no_roof"), DISTANCES.index("unknown")


class Distances(Table, frozen=True):
    """The class of each device activity: indices into ``DISTANCES``."""

    at: I8
    nearest: I8
    """The class if the activity was as short as its error bound allows."""
    farthest: I8
    """The class if it was as long as that."""


@memoize
def distances(trace: Trace) -> Distances:
    """Return the distance of each device activity from its roof."""
    rates = device_rates(trace)
    rows = rates.roofed
    least = np.maximum(rates.values.compute_ns, rates.values.memory_ns)
    roofed = rates.values.attainable_ns != MISSING
    known = (rates.rows.flops != MISSING) | (rates.rows.bytes != MISSING)
    known |= trace.kernels.communication
    other = np.where(known, _NO_ROOF, _UNKNOWN)
    bounded = rows.bound_ns != MISSING
    bound = np.where(bounded, rows.bound_ns, 0)

    def of(duration_ns: I64) -> I8:
        return np.where(roofed, _classes(least, duration_ns), other).astype(np.int8)

    shortest, longest = of(rows.duration_ns - bound), of(rows.duration_ns + bound)
    return Distances(
        at=of(rows.duration_ns),
        nearest=np.where(roofed & ~bounded, 0, shortest).astype(np.int8),
        farthest=np.where(roofed & ~bounded, len(_EDGES), longest).astype(np.int8),
    )


def _classes(least_ns: I64, duration_ns: I64) -> I64:
    share: F64 = least_ns / np.maximum(duration_ns, 1)
    classes: I64 = np.searchsorted(-_EDGES, -share, side="left")
    return classes


class DistancePart(NamedTuple):
    """The device time of one class."""

    ns: int
    activities: int
    low_ns: int
    """The least that it may be within the error bounds."""
    high_ns: int | None
    """The most; None if the bound of an activity that may be in it is unknown."""


def time_by_distance(trace: Trace, chosen: Bools) -> dict[Distance, DistancePart]:
    """Return the time of each class over the chosen rows of ``trace.kernels``; it adds up."""
    found, kernels = distances(trace).take(chosen), trace.kernels.take(chosen)
    duration, bound = kernels.end_ns - kernels.start_ns, kernels.duration_bound_ns
    unbounded = bound == MISSING
    shortest = np.where(unbounded, 0, np.maximum(duration - bound, 0))
    parts: dict[Distance, DistancePart] = {}
    for i, name in enumerate(DISTANCES):
        here, maybe = found.at == i, (found.nearest <= i) & (i <= found.farthest)
        sure = (found.nearest == i) & (found.farthest == i)
        parts[name] = DistancePart(
            ns=int(duration[here].sum()),
            activities=int(here.sum()),
            low_ns=int(shortest[sure].sum()),
            high_ns=None if unbounded[maybe].any() else int((duration[maybe] + bound[maybe]).sum()),
        )
    return parts


def group_time(trace: Trace, group: I64, count: int) -> I64:
    """Return the time of each group and class: the sum of each row is that group's device time.

    ``group`` is by row of ``trace.kernels``, from 0 to ``count`` less 1; NONE is in none.
    """
    total = np.zeros((count, len(DISTANCES)), np.int64)
    inside = np.flatnonzero(group >= 0)
    kernels = trace.kernels
    duration = kernels.end_ns[inside] - kernels.start_ns[inside]
    np.add.at(total, (group[inside], distances(trace).at[inside]), duration)
    return total


def group_limits(trace: Trace, group: I64, count: int) -> I64:
    """Return the limit of most of each group's time, an index into ``LIMITS``; ``NONE`` without."""
    limit = device_rates(trace).values.limit
    inside = np.flatnonzero((group >= 0) & (limit != NONE))
    kernels = trace.kernels
    total = np.zeros((count, len(LIMITS)), np.int64)
    some = mask_of(group[inside], count)
    duration = kernels.end_ns[inside] - kernels.start_ns[inside]
    np.add.at(total, (group[inside], limit[inside]), duration)
    return np.where(some, np.argmax(total, axis=1), NONE).astype(np.int64)
