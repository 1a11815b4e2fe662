"""A window of the timeline at the screen's resolution, whatever the trace's size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.account.first_look import find_first_look
from tb_privateuse1.analysis.counters.curves import Curve, Unit, What, windows
from tb_privateuse1.analysis.counters.device_summary import Summary, summary_window
from tb_privateuse1.analysis.kernel_names import display_names
from tb_privateuse1.analysis.operators import groups, module_of
from tb_privateuse1.analysis.recording.phases import PhaseKind
from tb_privateuse1.analysis.timeline import appearance, level_of_detail
from tb_privateuse1.analysis.timeline import tracks as timeline_tracks
from tb_privateuse1.analysis.timeline.level_of_detail import (
    ANNOTATIONS,
    DEVICE,
    FRAMES,
    OPERATORS,
    Pyramid,
)
from tb_privateuse1.analysis.timeline.rectangles import Ranges
from tb_privateuse1.analysis.timeline.window import recording_end
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.trace import kernel_context, uncertainty
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import F64, I8, I32, I64
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import StepOption, chosen_tracks, chosen_window, step_row

Narrow = NDArray[np.float32]
Short = NDArray[np.int16]

MOST = 5000
"""Rectangles in an answer."""
_ROOM_BYTES = 285_000
"""Of an answer to a page (``encoding.PAGE_BYTES``), without its provenance and its words. Where
names are long or tracks many, it has fewer rectangles."""
_LEAST = 500
_RECTANGLE_BYTES, _POINT_BYTES, _TRACK_BYTES = 49, 20, 60
_POINTS = 3000
"""Of all curves of an answer together."""
_LONGEST_NAME = 80
_LONGEST_FULL_NAME = 400
"""An event has it whole."""
_WIDEST = 4000
_FARTHEST_NS = 1 << 61
"""Windows are computed with in int64."""


class Rectangles(Struct, frozen=True):
    """By track, row and start. Several short ranges (``count``) show the longest."""

    track: Short
    row: Short
    """Within its track."""
    start_ns: F64
    length_ns: F64
    busy_ns: Narrow
    count: I32
    table: I8
    """An index into ``table_names``, as ``name``, ``kind`` and ``look`` are into theirs."""
    index: I32
    """The range's row in its table."""
    name: I32
    launcher: I32
    """An index into ``launchers``: the operator that launched a device activity, of a graph's
    replay that of the capture; -1 of others."""
    kind: I8
    look: I8
    """How well it is known; of several, the longest."""
    bound_ns: Narrow
    """How far off an inferred start may be, beside ``shift_bound_ns``; 0 for what was recorded, -1
    where it is unknown."""
    module: Short
    """An index into ``modules``; -1 outside of modules, and if they were not asked for."""


class Counter(Struct, frozen=True):
    """A curve in the window: its entries in ``Curves``."""

    label: str
    what: What
    unit: Unit
    inferred: bool
    """It rests on inferred device times."""
    first: int
    points: int


class Curves(Struct, frozen=True):
    """The entries of all counters: each value holds from its time on."""

    at_ns: F64
    value: F64
    bound: Narrow
    """As ``Rectangles.bound_ns``."""


class TimelinePhase(Struct, frozen=True):
    """A phase of the recording."""

    kind: PhaseKind
    start_ns: int
    end_ns: int


class _Words(Struct, frozen=True):
    """The texts that rectangles refer to."""

    names: tuple[str, ...]
    full_names: tuple[str | None, ...]
    launchers: tuple[str, ...]
    modules: tuple[str, ...]

    @property
    def size(self) -> int:
        """Return about how many bytes they take in JSON."""
        texts = (*self.names, *self.full_names, *self.launchers, *self.modules)
        return sum(len((text or "l").encode()) + 3 for text in texts)


class Timeline(Result, frozen=True):
    """The result of the view."""

    provenance: Provenance
    end_ns: int
    """The end of the recording; it starts at 0."""
    shift_bound_ns: int
    """How far off all inferred starts may be together: the error of the launch latency."""
    start_ns: int
    stop_ns: int
    """The window is [start_ns, stop_ns)."""
    tracks: tuple[timeline_tracks.Track, ...]
    """All of the trace; of many threads or streams, those with most ranges."""
    left_out: int
    """Threads and streams that are not among them."""
    rectangles: Rectangles
    """Of the tracks that were asked for."""
    names: tuple[str, ...]
    full_names: tuple[str | None, ...]
    """Of each name of a kernel: as its compiler wrote it; null if that is the name."""
    kinds: tuple[str, ...]
    launchers: tuple[str, ...]
    looks: tuple[str, ...]
    table_names: tuple[str, ...]
    has_modules: bool
    """Whether calls of nn.Modules were recorded."""
    modules: tuple[str, ...]
    counters: tuple[Counter, ...]
    curves: Curves
    summaries: tuple[Summary, ...]
    """Of each device that ran anything."""
    summary_parts: int
    """Equal parts of the window."""
    shares: Short
    """Per mille of the part in which a family's kernels run, by device, family and part."""
    phases: tuple[TimelinePhase, ...]
    """They tile the recording."""


_Start = Annotated[int | None, "start of the window; by default that of the step or the recording"]
_Stop = Annotated[int | None, "end of the window; by default that of the step or the recording"]


def timeline(
    trace: Trace,
    pyramid: Pyramid,
    curves: tuple[Curve, ...],
    *,
    step: StepOption = None,
    start_ns: _Start = None,
    stop_ns: _Stop = None,
    width: Annotated[int, "parts of the window; ranges shorter than a part are merged"] = 1200,
    tracks: Annotated[
        str | None, "numbers of the tracks with all rows, separated by commas; all by default"
    ] = None,
    folded: Annotated[
        str | None, "numbers of the tracks with their first row only, separated by commas"
    ] = None,
    most: Annotated[int, "at most this many rectangles, 5000 or fewer"] = MOST,
    modules: Annotated[bool, "add the nn.Module of each range"] = False,
) -> Timeline:
    """The window [start_ns, stop_ns) in ``width`` parts; by default a step or the whole recording.

    Ranges shorter than a part are merged, row by row. Raises ``bad_option``, ``unknown_step``.
    """
    start, stop = _window(trace, step, start_ns, stop_ns)
    parts, rows = min(max(width, 1), _WIDEST), _rows(pyramid, tracks, folded)
    counters, joined = _counters(curves, start, stop, parts)
    summaries, summary_parts, shares = summary_window(trace, start, stop, parts)
    look = pyramid.first_look or find_first_look(trace)
    listed = timeline_tracks.list_tracks(trace, pyramid, look)

    def rectangles_of(most: int) -> tuple[Rectangles, _Words]:
        row, found = pyramid.window(rows, start, stop, (stop - start) / parts, most)
        return _rectangles(trace, pyramid, row, found, modules)

    room = _ROOM_BYTES - shares.nbytes
    room -= _POINT_BYTES * len(joined.at_ns) + _TRACK_BYTES * len(listed)
    rectangles, words = _fit(rectangles_of, min(max(most, 1), MOST), room)
    return Timeline(
        provenance=provenance(trace, chosen_window(trace, step, "all")),
        end_ns=recording_end(trace),
        shift_bound_ns=uncertainty.shift_bound(trace.kernels),
        start_ns=start,
        stop_ns=stop,
        tracks=listed,
        left_out=level_of_detail.count_left_out(trace),
        rectangles=rectangles,
        names=words.names,
        full_names=words.full_names,
        kinds=appearance.CLASSES,
        launchers=words.launchers,
        looks=uncertainty.LOOKS,
        table_names=appearance.TABLES,
        has_modules=module_of.has_modules(trace),
        modules=words.modules,
        counters=counters,
        curves=joined,
        summaries=summaries,
        summary_parts=summary_parts,
        shares=shares,
        phases=tuple(TimelinePhase(cast(PhaseKind, one[0]), *one[1:]) for one in look.phases),
    )


def _fit(
    rectangles_of: Callable[[int], tuple[Rectangles, _Words]], most: int, room: int
) -> tuple[Rectangles, _Words]:
    """Return as many rectangles, at most ``most``, as have ``room`` bytes with their words."""
    while True:
        rectangles, words = rectangles_of(most)
        count = len(rectangles.start_ns)
        size = _RECTANGLE_BYTES * count + words.size
        if size <= room or count > most or most <= _LEAST:
            return rectangles, words
        most = max(_LEAST, min(most, count) * max(room, 0) // size)


def _window(
    trace: Trace, step: int | None, start_ns: int | None, stop_ns: int | None
) -> tuple[int, int]:
    """Return the shown window. Raises TraceError ``bad_option`` or ``unknown_step``."""
    first, last = _extent(trace, step)
    start = first if start_ns is None else start_ns
    stop = max(start + 1, last if stop_ns is None else stop_ns)
    if max(-start, stop) > _FARTHEST_NS:
        message = say(
            "No recording has a window from {start} to {stop} ns.", start=start, stop=stop
        )
        raise TraceError("bad_option", message)
    return start, stop


def _counters(
    curves: tuple[Curve, ...], start: int, stop: int, parts: int
) -> tuple[tuple[Counter, ...], Curves]:
    found = windows(curves, start, stop, parts, _POINTS)
    counters, first = [], 0
    for curve, points in zip(curves, found, strict=True):
        size = len(points.at_ns)
        counters.append(Counter(curve.label, curve.what, curve.unit, curve.inferred, first, size))
        first += size
    at, value, bound = (
        np.concatenate([np.empty(0), *(getattr(one, name) for one in found)])
        for name in ("at_ns", "value", "bound")
    )
    return tuple(counters), Curves(at, value, bound.astype(np.float32))


def _extent(trace: Trace, step: int | None) -> tuple[int, int]:
    row = step_row(trace, step)
    if row is None:
        return 0, recording_end(trace)
    return int(trace.steps.start_ns[row]), int(trace.steps.end_ns[row])


def _rows(pyramid: Pyramid, tracks: str | None, folded: str | None) -> I64:
    count, first = pyramid.tracks.rows, pyramid.first_row()
    flat = chosen_tracks("folded", folded, len(count))
    whole = chosen_tracks("tracks", tracks, len(count))
    if tracks is None:
        whole = np.setdiff1d(np.arange(len(count)), flat)
    rows = [first[flat[count[flat] > 0]], *(first[t] + np.arange(count[t]) for t in whole)]
    return np.unique(np.concatenate(rows).astype(np.int64))


def _rectangles(
    trace: Trace, pyramid: Pyramid, row: I64, found: Ranges, modules: bool
) -> tuple[Rectangles, _Words]:
    first = pyramid.first_row()
    track = np.searchsorted(first, row, side="right") - 1
    # Of several tracks without rows before it, the last one has this row.
    kind = pyramid.tracks.kind[track]
    table, index = _referred(trace, kind, found.ref)
    seen = appearance.appearances(trace, table, index)
    used, place = np.unique(seen.name, return_inverse=True)
    launchers, launcher = _launchers(trace, table, index)
    bearers, module = _modules(trace, table, index) if modules else ((), np.full(len(row), NONE))
    return (
        Rectangles(
            track=track.astype(np.int16),
            row=(row - first[track]).astype(np.int16),
            start_ns=found.start_ns.astype(np.float64),
            length_ns=(found.end_ns - found.start_ns).astype(np.float64),
            busy_ns=found.busy_ns.astype(np.float32),
            count=found.count,
            table=table,
            index=index.astype(np.int32),
            name=place.astype(np.int32),
            launcher=launcher,
            kind=seen.kind,
            look=seen.look,
            bound_ns=seen.bound_ns,
            module=module.astype(np.int16),
        ),
        _words(trace, used.tolist(), launchers, bearers),
    )


def _words(
    trace: Trace, names: list[int], launchers: tuple[str, ...], modules: tuple[str, ...]
) -> _Words:
    shown = display_names(trace)
    return _Words(
        tuple(shorten(shown.get(i) or trace.text(i), _LONGEST_NAME) for i in names),
        tuple(shorten(trace.text(i), _LONGEST_FULL_NAME) if i in shown else None for i in names),
        launchers,
        modules,
    )


def _launchers(trace: Trace, table: I8, index: I32) -> tuple[tuple[str, ...], I32]:
    """Return the operators that launched some activities, and each range's place among these."""
    found = np.full(len(table), NONE, np.int32)
    on_device = table == appearance.KERNELS
    kernels = trace.kernels.take(index[on_device].astype(np.int64))
    found[on_device] = kernel_context.operator_names(trace, kernels)
    used, place = np.unique(found[found >= 0], return_inverse=True)
    found[found >= 0] = place
    return tuple(shorten(trace.text(int(i)), _LONGEST_NAME) for i in used), found


def _modules(trace: Trace, table: I8, index: I32) -> tuple[tuple[str, ...], I32]:
    """Return the modules of some ranges, and each range's place among these."""
    used, place = np.unique(module_of.modules_of(trace, table, index), return_inverse=True)
    none = int(len(used) > 0 and used[0] == NONE)
    titles = (groups.module_title(trace.text(i)) or "" for i in used[none:])
    names = tuple(shorten(title, _LONGEST_NAME) for title in titles)
    return names, (place - none).astype(np.int32)


def _referred(trace: Trace, kind: I32, ref: I32) -> tuple[I8, I32]:
    """Return the table and the row of ``Ranges.ref``."""
    launch = (kind == OPERATORS) & (ref >= len(trace.ops))
    table = np.select(
        (launch, kind == OPERATORS, kind == FRAMES, kind == DEVICE, kind == ANNOTATIONS),
        (
            appearance.LAUNCHES,
            appearance.OPS,
            appearance.FRAMES,
            appearance.KERNELS,
            appearance.DEVICE_ANNOTATIONS,
        ),
        appearance.STEPS,
    )
    return table.astype(np.int8), np.where(launch, ref - len(trace.ops), ref)
