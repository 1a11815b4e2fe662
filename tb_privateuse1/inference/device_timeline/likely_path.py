"""Estimate event times between their bounds: follow elapsed times from points tied to the host.

The middle of two bounds is no path: neighbors would keep another distance than their elapsed time
says. A path starts where the device is tied to the host, and follows the likely time of each
segment. It is the path of the least backlog inside the bounds: if nothing else is known, the device
is as far ahead as it can be.

The likely time of a span is the middle of what its elapsed time was cut from, combined with the sum
of its parts by their variances (least squares on a tree, exact in two passes).
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.inference.device_timeline import constraints
from tb_privateuse1.inference.device_timeline.constraints import UNKNOWN, Tree
from tb_privateuse1.inference.device_timeline.solver import Solution
from tb_privateuse1.inference.device_timeline.sync_points import SyncPoints
from tb_privateuse1.inference.device_timeline.timeline_inputs import NEVER, Calibration, EventPairs
from tb_privateuse1.trace.columns import sums_before
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import F64, I64, Bools

_NOTHING = 1e12
"""The variance in ns² of a span without a known time."""

_TINY = 1e-9
"""For no division by 0, where nothing of a span is unknown."""

_EVENT_NS = 30.0
"""The standard deviation of what an event costs a device that is behind."""

_SLACK_NS = 100
"""How far a path may leave the likely times: they need not fit together."""

_LOOSE_NS, _WIDE_NS, _EARLY = 10_000, 15_000, 0.2
"""Bounds of less than the first are close enough for their middle. Of a device surely behind, the
path counts only if bounds are wide and it runs within that share of the earliest times."""


def with_likely_times(
    events: EventPairs,
    tree: Tree,
    elapsed_ns: I64,
    launch_free: Bools,
    points: SyncPoints,
    c: Calibration,
    solution: Solution,
    *,
    alone: bool,
) -> Solution:
    """Return the solution with the likely device time of each event, segment and node, in ns.

    The former are inside the solution's bounds. ``launch_free`` are the segments that the solution
    may take for launch-free. ``alone``: the stream waits for no other; else the points hold the
    likely waits for others.
    """
    if not len(events):
        return solution
    solution = replace(solution, spans=constraints.with_paths(tree, solution.spans, solution.reach))
    launch_free = launch_free & ~solution.refuted
    low, high = solution.bounds.low, solution.bounds.high
    prompt = events.host_high_ns + c.latency_ns + c.jitter_ns
    behind = low > prompt
    nearer = points.nearer
    if alone:
        # A wait tells the backlog only before the first event that is tied to the host.
        tied = sums_before(solution.anchors)[points.event]
        nearer = np.where(tied == 0, nearer, NEVER)

    ready = low.copy()
    np.maximum.at(ready, points.event, nearer)
    near = constraints.earliest_times(tree, solution.spans, ready)
    middle = (np.clip(near, low, high) + high) // 2

    hosted = events.host_ns + c.latency_ns
    np.maximum.at(hosted, points.event, nearer)
    marks = launch_free & surely_late(low, prompt)
    mean = likely_spans(tree, elapsed_ns, marks, c)
    span = np.maximum(mean[len(events) : -1], 0)
    least = np.where(elapsed_ns == MISSING, 0, np.maximum(span - _SLACK_NS, 0))
    most = np.where(elapsed_ns == MISSING, UNKNOWN, span + _SLACK_NS)
    segment = (np.full(len(events), c.event_low_ns), np.where(marks, c.event_high_ns, UNKNOWN))
    spans, _ = constraints.tighten_spans(tree, least, most, *segment, solution.reach)
    path = np.clip(constraints.earliest_times(tree, spans, hosted), low, high)

    width = high - low
    early = (path - low < width * _EARLY) & (width > _WIDE_NS)
    follows = solution.unknown | ((width > _LOOSE_NS) & (~behind | early))
    bounds = replace(solution.bounds, likely=np.where(follows, path, middle))
    return replace(solution, bounds=bounds, mean=mean)


def surely_late(low: I64, prompt: I64) -> Bools:
    """Return the segments at whose end the device was surely late: it did not idle in them.

    ``low``, ``prompt``, per event: the earliest device time, and the one on an idle device, in ns.
    That the event before was late itself says nothing of the idle time behind it: it must come
    later than this one was due.
    """
    return np.concatenate((low[:1] > prompt[:1], low[:-1] > prompt[1:]))


def likely_spans(tree: Tree, elapsed_ns: I64, marks: Bools, c: Calibration) -> I64:
    """Return the likely time of each segment and node, from elapsed times and parts, in ns.

    ``marks``: segments that cost the device no more than an event.
    """
    segments, known = len(marks), elapsed_ns != MISSING
    value = np.where(known, float(c.cut_ns) + elapsed_ns, 0.0)
    mean: F64 = np.concatenate((np.where(marks, float(c.event_ns), 0.0), value, [0.0]))
    rounding = float(c.resolution_ns) ** 2 / 12
    variance: F64 = np.concatenate(
        (np.where(marks, _EVENT_NS**2, _NOTHING), np.where(known, rounding, _NOTHING), [0.0])
    )
    leaf, own = tree.leaves + segments, tree.leaf_end
    _combine(mean, variance, leaf, mean[own], variance[own])
    inner = [level for level in tree.levels if not level.is_root]
    for level in reversed(inner):
        total = np.add.reduceat(mean[level.step], level.first)
        spread = np.add.reduceat(variance[level.step], level.first)
        _combine(mean, variance, level.node + segments, total, spread)
    for level in inner:
        total = np.add.reduceat(mean[level.step], level.first)
        spread = np.add.reduceat(variance[level.step], level.first)
        lacking = (mean[level.node + segments] - total) / np.maximum(spread, _TINY)
        mean[level.step] += np.repeat(lacking, level.size) * variance[level.step]
        mean[-1] = 0.0
    result: I64 = np.rint(mean).astype(np.int64)
    return result


def _combine(mean: F64, variance: F64, row: I64, other: F64, spread: F64) -> None:
    """Combine some rows with a second estimate of each, by their variances; in place."""
    weight = variance[row] / (variance[row] + spread)
    mean[row] += weight * (other - mean[row])
    variance[row] *= 1 - weight
