"""Take over the device times of events where the backend measured them.

A backend may tell when the device executed each event, by the device's clock (``event_times()``,
docs/guide/capture.md). That clock is tied to the host's from both sides: no event is executed
before its record and the launch latency, and an idle device executes it then. So the line of the
clock's offset lies above that of every event, and as low as idle events allow: the linear program
of Moon, Skelly and Towsley, "Estimation and removal of clock skew from network delay measurements"
(INFOCOM 1999), where a delay is the device's backlog.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.i18n import say
from tb_privateuse1.inference.device_timeline import solver, sync_points
from tb_privateuse1.inference.device_timeline.constraints import UNKNOWN, Spans
from tb_privateuse1.inference.device_timeline.phase_results import MeasuredEvents, StreamInput
from tb_privateuse1.inference.device_timeline.solver import Solution
from tb_privateuse1.inference.device_timeline.timeline_inputs import MOST_DRIFT, Bounds
from tb_privateuse1.inference.stage_inputs import CLOCK, rows_of
from tb_privateuse1.readers.raw import Sidecar
from tb_privateuse1.trace.findings import DEVICE, Finding
from tb_privateuse1.trace.model import MISSING, NONE, Ops
from tb_privateuse1.trace.table import F64, I64, Bools

_AGREE_NS, _AGREE = 2_000, 0.98
"""How far the difference of an operator's two times may be from its elapsed time, which torch cuts
to microseconds, and the share of operators whose times must agree."""

_TIMED = ("event", "kernel_sum")
"""The kinds of elapsed times of a device that works beside the host."""

_DRIFTS = -MOST_DRIFT, MOST_DRIFT

_BINS = 512
"""Equal parts of the recording: of each, only the event with the least backlog is used."""

_SLOPES, _ROUNDS = 33, 5
"""Slopes tried at a time, and rounds, each between the neighbors of the best slope so far: the last
are 1e-10 apart, 1 ns in ten seconds."""

_TIE_NS, _HALVINGS = 100, 24
"""Lines farther from idle events by this fit as well: it is less than these scatter. And
the steps to find their slopes."""

_RECORD_NS = 500
"""How far an event's record may be from its likely host time on a thread that runs."""


class DeviceTimes(Struct, frozen=True):
    """When the device executed the two events of each operator, by its clock; ``MISSING`` or ns.

    ``resolution_ns`` is the clock's tick.
    """

    first_ns: I64
    second_ns: I64
    resolution_ns: int

    @property
    def known(self) -> Bools:
        """Return the operators with both times."""
        both: Bools = (self.first_ns != MISSING) & (self.second_ns != MISSING)
        return both

    def take(self, rows: I64) -> DeviceTimes:
        """Return the times of some operators."""
        return replace(self, first_ns=self.first_ns[rows], second_ns=self.second_ns[rows])


def device_times(
    ops: Ops, sidecar: Sidecar, kind: str
) -> tuple[DeviceTimes | None, tuple[Finding, ...]]:
    """Return the times of the operators' events, or None, and what is wrong with them if so.

    ``kind`` is that of the elapsed times. What lies between two events is no less than the sum of
    the kernels, and the time between the events is the difference of their times.
    """
    if sidecar.first_ns is None or sidecar.second_ns is None or kind not in _TIMED:
        return None, ()
    row = rows_of(sidecar.external_id, ops.external_id)
    joined = row >= 0
    first = np.where(joined, sidecar.first_ns[row], MISSING)
    second = np.where(joined, sidecar.second_ns[row], MISSING)
    known = (first != MISSING) & (second != MISSING)
    if not known.any():
        return None, ()
    tick = max(int(np.gcd.reduce(np.concatenate((first[known], second[known])))), 1)
    known &= ops.elapsed_ns != MISSING
    stated = ops.elapsed_ns[known]
    lacking = stated - (second - first)[known]
    room = _AGREE_NS + 2 * tick + stated // 1000
    wrong = lacking > room if kind == "kernel_sum" else np.abs(lacking) > room
    if wrong.sum() > (1 - _AGREE) * len(stated):
        message = say(
            "The backend's event_times() contradict its elapsed times for {count} of {total} "
            "operators; they are not used.",
            count=int(wrong.sum()),
            total=len(stated),
        )
        hint = say("They must be of the two events whose elapsed time was asked for last, in ns.")
        count = int(wrong.sum())
        return None, (Finding("event_times_wrong", message, hint, count, affects=DEVICE),)
    return DeviceTimes(first, second, tick), ()


def with_exact_times(ops: Ops, times: DeviceTimes) -> Ops:
    """Return the operators with elapsed times of the clock's tick, where both events are known."""
    exact = np.maximum(times.second_ns - times.first_ns, 0)
    return replace(ops, elapsed_ns=np.where(times.known, exact, ops.elapsed_ns))


def measured_streams(inputs: list[StreamInput], times: list[DeviceTimes]) -> list[StreamInput]:
    """Return the streams of one device with their events' times on the host's clock.

    They stay as they are if nothing ties the device's clock to the host's: no wait returned in the
    recording, and no idle device kept the host's pace.
    """
    tick = times[0].resolution_ns
    device, host, anchors = [], [], []
    by_event = [_by_event(stream, own) for stream, own in zip(inputs, times, strict=True)]
    for stream, at in zip(inputs, by_event, strict=True):
        # Behind the end of an operator there is no record before its time stamp.
        use = (at != MISSING) & stream.events.is_end
        idle = idle_events(stream)
        device.append(at[use] + tick)  # the clock shows its last tick: no event is later
        host.append(stream.events.host_low_ns[use] + stream.c.latency_ns)
        anchors.append(idle[use])
    clock = fit_clock(np.concatenate(device), np.concatenate(host), np.concatenate(anchors))
    if clock is None:
        return inputs
    return [
        replace(
            stream,
            measured=_on_host(at, clock, tick),
            c=replace(stream.c, latency_bound_ns=stream.c.latency_bound_ns + clock.error_ns),
        )
        for stream, at in zip(inputs, by_event, strict=True)
    ]


def idle_events(stream: StreamInput) -> Bools:
    """Return the events that an idle device executed: behind a wait, or at the host's pace."""
    idle = np.zeros(len(stream.events), np.bool_)
    idle[sync_points.ends_of_waits(stream.events, stream.waits)] = True
    name = stream.strings.find(CLOCK)
    idle[stream.events.end[(stream.ops.name == name) & (name != NONE)]] = True
    if stream.basis.kind == "event":
        paced = solver.host_paced(stream.events, stream.ops, stream.c)
        idle[stream.events.end[paced]] = True
    return idle


class Clock(Struct, frozen=True):
    """The device's clock by the host's: ``time + offset + drift * (time - origin)``, in ns.

    ``error_ns``: how far idle events are from the line, and apart the lines that fit as well.
    """

    origin_ns: int
    offset_ns: int
    drift: float
    error_ns: int

    def on_host(self, device_ns: I64) -> I64:
        """Return times of the device on the host's clock, the launch latency included."""
        since = device_ns - self.origin_ns
        moved: I64 = device_ns + self.offset_ns + np.rint(since * self.drift).astype(np.int64)
        return moved


def fit_clock(device_ns: I64, host_ns: I64, idle: Bools) -> Clock | None:
    """Return the clock by events, or None if none of them was executed by an idle device.

    ``host_ns`` is the earliest time of each event on the host's clock: that of an idle device. Of
    the lines that fit as well, the clock has the one with the least drift. They differ where idle
    events are at one end of the recording only.
    """
    if not idle.any():
        return None
    origin, offset = int(device_ns[idle][0]), int((host_ns - device_ns)[idle][0])
    x = (device_ns - origin).astype(np.float64)
    y = (host_ns - device_ns - offset).astype(np.float64)
    thin = np.concatenate((_least_backlog(x, y), np.flatnonzero(idle)))
    mean = float(x[idle].mean())

    def level(slope: float) -> float:
        """Return the least line of a slope above all events: its height at the mean idle event."""
        return float((y[thin] - slope * (x[thin] - mean)).max())

    best = _least(level)
    most = level(best) + _TIE_NS
    least_drift, most_drift = (_last_below(level, best, end, most) for end in _DRIFTS)
    slope = min(max(0.0, least_drift), most_drift)
    late = level(slope) + slope * (x[idle] - mean) - y[idle]
    doubt = (most_drift - least_drift) / 2 * float(np.abs(x - mean).max())
    error = int(np.median(late) + doubt) + _RECORD_NS
    return Clock(origin, offset + round(level(slope) - slope * mean), slope, error)


def _least(level: Callable[[float], float]) -> float:
    """Return the slope with the least value of a convex function."""
    low, high = _DRIFTS
    for _ in range(_ROUNDS):
        slopes = np.linspace(low, high, _SLOPES)
        best = int(np.argmin([level(float(one)) for one in slopes]))
        low, high = slopes[max(best - 1, 0)], slopes[min(best + 1, _SLOPES - 1)]
    return float(slopes[best])


def _last_below(level: Callable[[float], float], best: float, end: float, most: float) -> float:
    """Return the slope farthest from the best one towards an end with a level of at most this."""
    inside, outside = best, end
    if level(end) <= most:
        return end
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if level(middle) <= most else (inside, middle)
    return inside


def _least_backlog(x: F64, y: F64) -> I64:
    """Return the rows with the greatest ``y`` of each of ``_BINS`` equal parts of ``x``."""
    width = max(float(np.ptp(x)), 1.0) / _BINS
    part = ((x - x.min()) / width).astype(np.int64)
    order = np.lexsort((y, part))
    last = np.flatnonzero(np.diff(part[order], append=-1))
    rows: I64 = order[last]
    return rows


def _by_event(stream: StreamInput, times: DeviceTimes) -> I64:
    """Return the device's time of each event of a stream; ``MISSING`` where it is not known."""
    at = np.full(len(stream.events), MISSING)
    at[stream.events.start] = times.first_ns
    at[stream.events.end] = times.second_ns
    return at


def _on_host(at: I64, clock: Clock, tick: int) -> MeasuredEvents:
    """Return the bounds of a stream's events. Those without a time lie between their neighbors."""
    known = at != MISSING
    time = clock.on_host(np.where(known, at, clock.origin_ns))
    never, ever = np.int64(MISSING), np.iinfo(np.int64).max
    low = np.maximum.accumulate(np.where(known, time, never))
    high = np.minimum.accumulate(np.where(known, time, ever)[::-1])[::-1]
    low, high = np.where(known, time, low), np.where(known, time + tick, high)
    open_ended = (low == never) | (high == ever)
    low = np.where(low == never, high, low)
    high = np.maximum(np.where(high == ever, low, high), low)
    return MeasuredEvents(Bounds(low, high, low + (high - low) // 2), open_ended)


def solve_measured(stream: StreamInput, measured: MeasuredEvents) -> Solution:
    """Return the solution of a stream whose events' times are measured: nothing is concluded."""
    events, bounds = stream.events, measured.bounds
    none = np.zeros(len(events), np.bool_)
    spans = _spans(stream, bounds)
    return Solution(
        bounds, spans, none, none, measured.unknown, 0, np.zeros(len(events), np.int64),
        mean=np.where(spans.high < UNKNOWN, (spans.low + spans.high) // 2, 0),
    )  # fmt: skip


def _spans(stream: StreamInput, bounds: Bounds) -> Spans:
    """Return the least and largest time of each segment and node."""
    events = stream.events
    first = np.concatenate((np.arange(len(events)) - 1, events.start))
    last = np.concatenate((np.arange(len(events)), events.end))
    low = np.maximum(bounds.low[last] - bounds.high[first], 0)
    high = np.maximum(bounds.high[last] - bounds.low[first], low)
    low[:1], high[:1] = 0, UNKNOWN
    return Spans(np.append(low, 0), np.append(high, 0), len(events))
