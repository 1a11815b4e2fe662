"""Read the device's time at the end of each step, where the capture recorded a marker.

The capture records an event on each stream when a step ends, and reads afterwards how long before
an event on the idle device each was executed (docs/guide/capture.md, Step markers). So the device
time of each marker is known whatever the backlog is. The stream ran what was recorded before the
marker before it, and the rest behind it.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.inference.device_timeline.streams import Stream
from tb_privateuse1.inference.device_timeline.sync_points import SyncPoints
from tb_privateuse1.inference.device_timeline.timeline_inputs import (
    ANY,
    CLOCK_NS,
    NEVER,
    Calibration,
    EventPairs,
)
from tb_privateuse1.readers.raw import StepMarkers
from tb_privateuse1.trace.columns import in_ranges, latest_before, sums_before
from tb_privateuse1.trace.model import Ops
from tb_privateuse1.trace.table import Bools

_LATE_NS = 1_000_000
"""How long after the last operator the last step may end."""

_INSIDE = 0.9
"""The least share of markers within the operators' times; else another clock ran."""


def markers_on_clock(recorded: StepMarkers | None, base_ns: int, ops: Ops) -> StepMarkers | None:
    """Return the markers on the trace's clock, or None if they do not fit the trace.

    ``base_ns``: the absolute time of the trace's clock.
    """
    if recorded is None or not len(ops):
        return None
    host = recorded.host_ns - base_ns
    inside = (host >= ops.start_ns.min()) & (host <= ops.end_ns.max() + _LATE_NS)
    if inside.mean() < _INSIDE:
        return None
    moved = replace(recorded, host_ns=host, done_ns=recorded.done_ns - base_ns)
    return moved.take(inside)


def markers_of_stream(
    markers: StepMarkers | None, stream: Stream, *, alone: bool
) -> StepMarkers | None:
    """Return the markers of a stream in order of time; None without any.

    ``alone``: the elapsed times name no streams; then all markers must be on one.
    """
    if markers is None:
        return None
    if alone:
        places = np.unique(np.stack((markers.device, markers.stream)), axis=1)
        mine = np.full(len(markers), places.shape[1] == 1)
    else:
        mine = (markers.device == stream.device) & (markers.stream == stream.stream)
    found = markers.take(np.flatnonzero(mine))
    order = np.argsort(found.host_ns, kind="stable")
    return found.take(order) if len(order) else None


def pin_stream(
    markers: StepMarkers, events: EventPairs, alone: Bools, points: SyncPoints, c: Calibration
) -> tuple[SyncPoints, Bools]:
    """Return the points and those of the markers, and the segments that no marker lies in.

    ``alone``: per segment, whether nothing was launched on the stream, or made it wait. There a
    stream that was late at the marker was as late before it, and goes on behind it at once.
    """
    host, bound = markers.host_ns, markers.bound_ns + CLOCK_NS
    done = markers.done_ns + c.latency_ns
    # The order of the marker and of an event is certain only outside the event's host times.
    recorded = np.maximum.accumulate(events.host_high_ns)
    before = latest_before(recorded, host - CLOCK_NS)
    coming = np.minimum.accumulate(events.host_low_ns[::-1])[::-1]
    after = np.searchsorted(coming, host + CLOCK_NS, side="right")
    launches = sums_before(~alone)
    last = np.minimum(after, len(events) - 1)
    quiet = launches[last + 1] == launches[before + 1]
    # Each event between takes the device its cost, as the marker does.
    costs = (after - before) * c.event_high_ns
    late = done - bound - costs > host + c.latency_ns + c.jitter_ns + CLOCK_NS
    known = quiet & late
    first = SyncPoints(
        before,
        np.where(known, done - bound - costs, NEVER),
        np.where(known, done - (after - before) * c.event_ns, NEVER),
        done + bound,
    )
    prompt = events.host_high_ns[last] + c.latency_ns + c.jitter_ns
    soon = np.maximum(prompt, done + bound + costs)
    second = SyncPoints(after, done - bound, done, np.where(quiet, soon, ANY))
    begin, end = (np.minimum(at + 1, len(events)) for at in (before, after))
    free = ~in_ranges(begin, end, len(events))
    return points.join(_within(first, events)).join(_within(second, events)), free


def _within(points: SyncPoints, events: EventPairs) -> SyncPoints:
    """Return the points whose events there are."""
    there = (points.event >= 0) & (points.event < len(events))
    return SyncPoints(
        points.event[there], points.earliest[there], points.nearer[there], points.latest[there]
    )
