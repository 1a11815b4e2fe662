"""Error bounds of device activities, and of figures over them.

Bounds of sums are those of ``sum_bounds``. All others add in the worst case. A wrong launch latency
shifts all starts alike: it is part of the bound of a start, but not of what lies between two.
docs/reference/definitions.md derives each bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace import groupby, intervals, model, sum_bounds
from tb_privateuse1.trace.model import BOUND, EVIDENCE, MEASURED, MISSING, NONE, Kernels
from tb_privateuse1.trace.table import I8, I32, I64, Bools


class Evidence(Struct, frozen=True):
    """Count and error bounds of the device activities with one kind of evidence.

    docs/internals/inference.md explains each kind.
    """

    evidence: model.Evidence
    kernels: int
    total_ns: int
    share: float
    """The share of the device time of all activities, 0 to 1."""
    bound_ns: int | None
    """The error bound of ``total_ns``."""
    median_start_bound_ns: int | None
    """Bounds of starts without the part that all share (``Kernels.shift_bound_ns``)."""
    largest_start_bound_ns: int | None
    median_duration_bound_ns: int | None
    largest_duration_bound_ns: int | None
    unbounded: int
    """Activities without an error bound of their start."""


def evidence_classes(kernels: Kernels) -> Iterator[Evidence]:
    """Yield the evidence classes that have activities, the most certain first."""
    whole = _time(kernels)
    for i, name in enumerate(EVIDENCE):
        rows = kernels.take(kernels.evidence == i)
        if len(rows):
            start, duration = _known(own_start_bound(rows)), _known(rows.duration_bound_ns)
            total = _time(rows)
            yield Evidence(
                evidence=name,
                kernels=len(rows),
                total_ns=total,
                share=total / whole if whole else 0.0,
                bound_ns=duration_sum_bound(rows),
                median_start_bound_ns=_median(start),
                largest_start_bound_ns=int(start.max()) if len(start) else None,
                median_duration_bound_ns=_median(duration),
                largest_duration_bound_ns=int(duration.max()) if len(duration) else None,
                unbounded=len(rows) - len(start),
            )


LOOKS = ("measured", "inferred", "bounded")
"""Certainty as the pages draw it: solid, hatched, hollow."""


def appearance_index(kernels: Kernels) -> I8:
    """Return the index into ``LOOKS`` of each activity."""
    look = np.select((kernels.evidence == MEASURED, kernels.evidence == BOUND), (0, 2), 1)
    return look.astype(np.int8)


def bounded_only(kernels: Kernels) -> Bools:
    """Return a mask of activities with limits alone: neither they nor similar ones have times."""
    only: Bools = kernels.evidence == BOUND
    return only


def all_measured(kernels: Kernels) -> bool:
    """Return whether all activities are measured."""
    return not (kernels.start_bound_ns.any() or kernels.duration_bound_ns.any())


def known_bound(bound_ns: int | np.int64) -> int | None:
    """Return a bound for a result: None if it is ``MISSING``."""
    return None if bound_ns == MISSING else int(bound_ns)


def own_start_bound(kernels: Kernels) -> I64:
    """Return the bounds of the starts without the shift that all share; ``MISSING`` if unknown."""
    known = kernels.start_bound_ns != MISSING
    return np.where(known, kernels.start_bound_ns - kernels.shift_bound_ns, MISSING)


def shift_bound(kernels: Kernels) -> int:
    """Return how far all starts may be off together; 0 if measured."""
    return int(kernels.shift_bound_ns.max(initial=0))


def duration_sum_bound(kernels: Kernels) -> int | None:
    """Return the bound of the sum of the durations; None if one of them has none."""
    found = sum_bounds.sum_bound(kernels.duration_bound_ns, kernels.error_group)
    return None if found is None else found.bound_ns


def bound_sum(bounds_ns: I64) -> int | None:
    """Return the worst case of a sum: the sum of all bounds; None if one of them is unknown."""
    return None if (bounds_ns == MISSING).any() else int(bounds_ns.sum())


def bound_of(statistic: Callable[[I64], float], values: I64, bounds_ns: I64) -> int | None:
    """Return the bound of a statistic that grows with each value: median, minimum, maximum.

    Its extremes are the statistics of all lower and of all upper limits. None if one is unknown.
    """
    if (bounds_ns == MISSING).any():
        return None
    if not bounds_ns.any():
        return 0
    shown = statistic(values)
    low, high = statistic(np.maximum(values - bounds_ns, 0)), statistic(values + bounds_ns)
    return round(max(shown - low, high - shown))


def union_bound(kernels: Kernels) -> int | None:
    """Return the bound of the length of the union; None if a duration's bound is unknown.

    Activities of one lane do not overlap, so their union is a sum. Over several lanes the union
    is at least the busiest lane and what surely runs, and at most the sum of all and what may run.
    A shifted activity changes the union by at most its bounds, or its duration.
    """
    total = duration_sum_bound(kernels)
    lanes = np.unique(kernels.lane)
    if all_measured(kernels):
        return total
    if total is None or len(lanes) == 1:
        return total
    whole = _length(kernels)
    each = [kernels.take(rows) for _, rows in groupby.split_by_value(kernels.lane)]
    lengths = np.array([_length(one) for one in each])
    error = np.array([duration_sum_bound(one) for one in each], np.int64)
    low, high = int((lengths - error).max()), int(lengths.sum()) + total
    if limited(kernels).all():  # a shift of all starts alike moves the union, which stays as long
        early = own_start_bound(kernels)
        late = early + kernels.duration_bound_ns
        sure = intervals.union(kernels.start_ns + early, kernels.end_ns - late)
        may = intervals.union(kernels.start_ns - early, kernels.end_ns + late)
        low, high = max(low, intervals.length(sure)), min(high, intervals.length(may))
    return min(max(whole - low, high - whole), int(movable_time(kernels).sum()))


def span_bound(kernels: Kernels) -> int | None:
    """Return the bound of the time from the first start to the last end; None if unknown."""
    if not len(kernels):
        return 0
    if not limited(kernels).all():
        return None
    start, end = kernels.start_ns, kernels.end_ns
    early = own_start_bound(kernels)
    late = early + kernels.duration_bound_ns
    span = int(end.max() - start.min())
    least = int((end - late).max() - (start + early).min())
    most = int((end + late).max() - (start - early).min())
    return max(span - max(least, 0), most - span)


def movable_time(kernels: Kernels) -> I64:
    """Return the most time of each activity that may lie elsewhere, beside all the others.

    The bounds of all durations must be known.
    """
    duration = kernels.end_ns - kernels.start_ns
    start = own_start_bound(kernels)
    shift = np.where(start == MISSING, duration, np.minimum(start, duration))
    total: I64 = kernels.duration_bound_ns + shift
    return total


def busy(kernels: Kernels) -> intervals.Set:
    """Return the set of times at which an activity runs, as shown."""
    return intervals.union(kernels.start_ns, kernels.end_ns)


def limited(kernels: Kernels) -> Bools:
    """Return a mask of activities with error bounds of both start and duration."""
    both: Bools = (kernels.start_bound_ns != MISSING) & (kernels.duration_bound_ns != MISSING)
    return both


def possibly_running(kernels: Kernels, end_ns: int) -> intervals.Set:
    """Return the set of times at which an activity may run, in a trace of this length."""
    early, late = _limits(kernels)
    if early is None or late is None:
        return np.array([0]), np.array([max(end_ns, 1)])
    return intervals.union(kernels.start_ns - early, kernels.end_ns + late)


def likely_running(kernels: Kernels, end_ns: int) -> intervals.Set:
    """Return the set of times at which an activity runs as shown; any where one has no bounds."""
    if not limited(kernels).all():
        return possibly_running(kernels, end_ns)
    return busy(kernels)


def certainly_running(kernels: Kernels) -> intervals.Set:
    """Return the set of times at which an activity certainly runs."""
    early, late = _limits(kernels)
    if early is None or late is None:
        return intervals.EMPTY
    return intervals.union(kernels.start_ns + early, kernels.end_ns - late)


def length_inside(kernels: Kernels, start_ns: int, stop_ns: int) -> tuple[I64, I64]:
    """Return the least and the most time of each activity inside a window.

    An activity without an error bound may be anywhere.
    """
    length = kernels.end_ns - kernels.start_ns
    unknown = ~limited(kernels)
    early = np.where(unknown, 0, kernels.start_bound_ns)
    late = early + np.where(unknown, 0, kernels.duration_bound_ns)
    first, last = kernels.start_ns - early, kernels.end_ns + late
    least = np.minimum(kernels.end_ns - late, stop_ns) - np.maximum(
        kernels.start_ns + early, start_ns
    )
    # Only the duration's bound counts for an activity whose limits are all inside.
    whole = (first >= start_ns) & (last <= stop_ns)
    error = np.where(kernels.duration_bound_ns == MISSING, length, kernels.duration_bound_ns)
    least = np.where(whole, np.maximum(least, length - error), least)
    most = np.minimum(length + error, np.minimum(last, stop_ns) - np.maximum(first, start_ns))
    window = max(stop_ns - start_ns, 0)
    least = np.where(unknown, 0, np.maximum(least, 0))
    return least, np.where(unknown, window, np.clip(most, 0, window))


def sums_inside(
    kernels: Kernels, group: I32 | I64, groups: int, start_ns: int, stop_ns: int
) -> I64:
    """Return by group the bound of the time of its activities inside a window.

    Of those that surely lie inside as a whole, only the durations may be wrong. ``MISSING`` if a
    bound is not known.
    """
    least, most = length_inside(kernels, start_ns, stop_ns)
    shown = np.minimum(kernels.end_ns, stop_ns) - np.maximum(kernels.start_ns, start_ns)
    shown = np.maximum(shown, 0)
    early = np.where(limited(kernels), kernels.start_bound_ns, 0)
    late = early + np.where(limited(kernels), kernels.duration_bound_ns, 0)
    whole = (kernels.start_ns - early >= start_ns) & (kernels.end_ns + late <= stop_ns)
    own = np.where(whole, group, NONE)
    sure = sum_bounds.duration_sum_bounds(own, kernels, groups)
    edge = np.where(whole, 0, np.maximum(shown - least, most - shown))
    lost = groupby.sums(group, (~limited(kernels)).astype(np.int64), groups) > 0
    total = np.where(sure == MISSING, 0, sure) + groupby.sums(group, edge, groups)
    return np.where(lost | (sure == MISSING), MISSING, total)


def covered_bound(kernels: Kernels, start_ns: int, stop_ns: int, shown_ns: int) -> int | None:
    """Return the bound of the busy time inside a window; None if it is unknown."""
    if all_measured(kernels):
        return 0
    if not limited(kernels).all():
        return None
    window = (np.array([start_ns]), np.array([stop_ns]))
    end = max(int(kernels.end_ns.max()), stop_ns)
    low, high = certainly_running(kernels), possibly_running(kernels, end)
    least, most = (intervals.length(intervals.intersect(one, window)) for one in (low, high))
    if len(np.unique(kernels.lane)) == 1:  # they do not overlap: a sum
        one = np.zeros(len(kernels), np.int64)
        error = int(sums_inside(kernels, one, 1, start_ns, stop_ns)[0])
    else:
        _, high_each = length_inside(kernels, start_ns, stop_ns)
        error = int(movable_time(kernels)[high_each > 0].sum())
    return min(max(shown_ns - least, most - shown_ns), error)


def _limits(kernels: Kernels) -> tuple[I64 | None, I64 | None]:
    """Return the error bounds of starts and ends; None if one is unknown."""
    if not limited(kernels).all():
        return None, None
    return kernels.start_bound_ns, kernels.start_bound_ns + kernels.duration_bound_ns


def _known(bounds_ns: I64) -> I64:
    known: I64 = bounds_ns[bounds_ns != MISSING]
    return known


def _median(values: I64) -> int | None:
    return round(float(np.median(values))) if len(values) else None


def _time(kernels: Kernels) -> int:
    return int((kernels.end_ns - kernels.start_ns).sum())


def _length(kernels: Kernels) -> int:
    return intervals.length(busy(kernels))
