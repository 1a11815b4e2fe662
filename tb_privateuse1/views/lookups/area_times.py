"""Sum up a selected interval by operator, stream, runtime call and recorded counter."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.counters import recorded, recorded_means
from tb_privateuse1.analysis.timeline import appearance
from tb_privateuse1.analysis.timeline.level_of_detail import ANNOTATIONS, DEVICE, STEPS, Pyramid
from tb_privateuse1.analysis.timeline.window import (
    Activities,
    Window,
    activities,
    host_self_ns,
    tree_bounds,
    window_of,
)
from tb_privateuse1.trace import (
    device_times,
    groupby,
    intervals,
    kernel_context,
    labels,
    uncertainty,
)
from tb_privateuse1.trace.columns import positions
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I32, I64, Bools
from tb_privateuse1.views.shared_options import chosen_tracks

_MOST = 500


class AreaOperator(Struct, frozen=True):
    """The operators, or the annotations, of one name, and what they launched themselves."""

    name: str | None
    """Null for device activities that no operator launched."""
    annotation: bool
    calls: int
    """Those with a part in the selection."""
    self_ns: int
    """Their own time on the host inside, without that of the operators in them."""
    activities: int
    """Device activities with a part in the selection, whenever they were launched."""
    device_ns: int | None
    """The time of these inside; null without device times, a lower bound if a stream is missing."""
    device_bound_ns: int | None
    """How far off that may be; 0 if measured, null if that is not known."""


class AreaStream(Struct, frozen=True):
    """One stream of a device."""

    device: str
    stream: str
    track: int
    """Its number among the timeline's tracks; -1 if it has none."""
    activities: int
    busy_ns: int | None
    """When any of its activities runs; null if its work has no times."""
    busy_bound_ns: int | None


class AreaCall(Struct, frozen=True):
    """The runtime calls of one name."""

    name: str
    waits: bool
    """Whether these calls wait for the device."""
    calls: int
    inside_ns: int
    mean_ns: int
    """Of their whole length."""
    max_ns: int
    longest: int
    """The row of the longest in ``launches``."""
    launched: int
    """The device activities that these calls launched, whenever these run."""


class AreaCounter(Struct, frozen=True):
    """A counter that the trace records, in its own unit. A value holds until the next one."""

    counter: int
    """Its row in the trace's ``counter_series``."""
    name: str
    process: str
    values: int
    """Those that were recorded in the selection."""
    mean: float
    """Over the time of the selection, from the first value on."""
    min: float
    max: float


class AreaTimes(Struct, frozen=True):
    """The result of the lookup: of each table at most 500 rows, those with most time first."""

    start_ns: int
    stop_ns: int
    operators: tuple[AreaOperator, ...]
    """By device time, then by own time on the host."""
    operators_count: int
    host_ns: int
    """Of all of them: the sum of their own times on the host. Threads run beside each other."""
    device_ns: int | None
    """Of all of them: the sum of the times of device activities. Streams run beside each other."""
    streams: tuple[AreaStream, ...]
    streams_count: int
    calls: tuple[AreaCall, ...]
    calls_count: int
    counters: tuple[AreaCounter, ...]
    """In the trace's order, whatever tracks are chosen. A counter without a value so far is not
    among them."""
    counters_count: int


def area_times(
    trace: Trace,
    pyramid: Pyramid,
    *,
    start_ns: Annotated[int, "start of the window"] = 0,
    stop_ns: Annotated[int | None, "end of the window; by default that of the recording"] = None,
    tracks: Annotated[
        str | None, "numbers of the tracks, separated by commas; by default all of them"
    ] = None,
) -> AreaTimes:
    """The time in [start_ns, stop_ns) by operator, stream and runtime call, and its counters.

    Raises TraceError ``bad_option``.
    """
    window = window_of(trace, start_ns, stop_ns)
    lanes, threads = _owners(trace, pyramid, tracks)
    part = activities(trace.kernels, np.flatnonzero(lanes[trace.kernels.lane]), window)
    operators, host = _operators(trace, part, threads, window)
    streams = _streams(trace, pyramid, lanes, window)
    calls = _calls(trace, threads, window)
    counters = _counters(trace, window)
    return AreaTimes(
        start_ns=window.start_ns,
        stop_ns=window.stop_ns,
        operators=tuple(operators[:_MOST]),
        operators_count=len(operators),
        host_ns=host,
        device_ns=device_times.known_sum(trace, int(part.ns.sum())),
        streams=tuple(streams[:_MOST]),
        streams_count=len(streams),
        calls=tuple(calls[:_MOST]),
        calls_count=len(calls),
        counters=tuple(counters[:_MOST]),
        counters_count=len(counters),
    )


def _owners(trace: Trace, pyramid: Pyramid, tracks: str | None) -> tuple[Bools, Bools]:
    """Return which lanes and which threads are chosen; the last entry is that of ``NONE``."""
    lanes = np.full(len(trace.lanes) + 1, tracks is None)
    threads = np.full(len(trace.threads) + 1, tracks is None)
    chosen = chosen_tracks("tracks", tracks, len(pyramid.tracks))
    kind, owner = pyramid.tracks.kind[chosen], pyramid.tracks.owner[chosen]
    lanes[owner[kind == DEVICE]] = True
    threads[owner[~np.isin(kind, (DEVICE, ANNOTATIONS, STEPS))]] = True
    return lanes, threads


def _operators(
    trace: Trace, part: Activities, threads: Bools, window: Window
) -> tuple[list[AreaOperator], int]:
    ops, strings = trace.ops, len(trace.strings)
    own = np.where(threads[ops.thread], host_self_ns(trace, window), 0)
    here = window.touches(ops.start_ns, ops.end_ns) & threads[ops.thread]
    kernels = trace.kernels.take(part.rows)
    launcher = kernel_context.operator_names(trace, kernels)
    # Operators, annotations and what nothing launched have places of their own.
    place = ops.name + np.where(ops.kind == OPERATOR, 0, strings)
    key = np.where(launcher == NONE, 2 * strings, launcher)
    host, calls = _by(place, own, 2 * strings + 1), _by(place, here, 2 * strings + 1)
    device, count = _by(key, part.ns, 2 * strings + 1), _by(key, part.shown, 2 * strings + 1)
    found = np.flatnonzero((calls > 0) | (count > 0))
    number = positions(found, 2 * strings + 1)
    bound = tree_bounds(np.full(len(found), NONE, np.int32), number[key], part)
    order = np.lexsort((found, -host[found], -device[found])).tolist()
    rows = [
        AreaOperator(
            name=None if at == 2 * strings else trace.text(at % strings),
            annotation=bool(strings <= at < 2 * strings),
            calls=int(calls[at]),
            self_ns=int(host[at]),
            activities=int(count[at]),
            device_ns=device_times.known_sum(trace, int(device[at])),
            device_bound_ns=device_times.known_bound(trace, uncertainty.known_bound(bound[i])),
        )
        for i, at in ((i, int(found[i])) for i in order)
    ]
    return rows, int(own.sum())


def _by(group: I32 | I64, values: I64 | Bools, groups: int) -> I64:
    return groupby.sums(group, values.astype(np.int64), groups)


def _streams(trace: Trace, pyramid: Pyramid, lanes: Bools, window: Window) -> list[AreaStream]:
    tracks, kernels = pyramid.tracks, trace.kernels
    own = dict(groupby.split_by_value(kernels.lane))
    place = {int(tracks.owner[i]): i for i in np.flatnonzero(tracks.kind == DEVICE).tolist()}
    found = []
    for lane in np.flatnonzero(lanes[:-1]).tolist():
        some = kernels.take(own.get(lane, np.empty(0, np.int64)))
        missing = lane in trace.meta.missing_lanes
        inside = (np.array([window.start_ns]), np.array([window.stop_ns]))
        busy = intervals.length(intervals.intersect(uncertainty.busy(some), inside))
        device, stream = labels.lane(trace, lane)
        bound = (
            uncertainty.covered_bound(some, window.start_ns, window.stop_ns, busy)
            if len(some)
            else 0
        )
        found.append(
            AreaStream(
                device=device,
                stream=stream,
                track=place.get(lane, -1),
                activities=int(window.touches(some.start_ns, some.end_ns).sum()),
                busy_ns=None if missing else busy,
                busy_bound_ns=None if missing else bound,
            )
        )
    return sorted(found, key=lambda row: (-(row.busy_ns or 0), row.track))


def _calls(trace: Trace, threads: Bools, window: Window) -> list[AreaCall]:
    launches, strings = trace.launches, len(trace.strings)
    here: Bools = window.touches(launches.start_ns, launches.end_ns) & threads[launches.thread]
    rows = np.flatnonzero(here)
    some = launches.take(rows)
    length = some.end_ns - some.start_ns
    inside = _by(some.name, window.overlap(some.start_ns, some.end_ns), strings)
    count, total = _by(some.name, here[rows], strings), _by(some.name, length, strings)
    launched = np.bincount(trace.kernels.launch + 1, minlength=len(launches) + 1)[1:]
    started = _by(some.name, launched[rows], strings)
    by_length = np.argsort(length, kind="stable")
    longest = np.full(strings, NONE)
    longest[some.name[by_length]] = rows[by_length]
    waits = appearance.waiting_calls(trace)
    found = np.flatnonzero(count)
    order = found[np.lexsort((found, -inside[found]))].tolist()
    return [
        AreaCall(
            name=trace.text(at),
            waits=bool(waits[longest[at]]),
            calls=int(count[at]),
            inside_ns=int(inside[at]),
            mean_ns=round(int(total[at]) / int(count[at])),
            max_ns=int(launches.end_ns[longest[at]] - launches.start_ns[longest[at]]),
            longest=int(longest[at]),
            launched=int(started[at]),
        )
        for at in order
    ]


def _counters(trace: Trace, window: Window) -> list[AreaCounter]:
    names, process = recorded.labels(trace), trace.counter_series.process
    found = []
    for row, form in recorded.recorded_samples(trace).items():
        own = recorded_means.window_values(form, window.start_ns, window.stop_ns)
        if own.mean is not None and own.min is not None and own.max is not None:
            found.append(
                AreaCounter(
                    counter=row,
                    name=names[row],
                    process=trace.text(process[row]),
                    values=own.values,
                    mean=own.mean,
                    min=own.min,
                    max=own.max,
                )
            )
    return found
