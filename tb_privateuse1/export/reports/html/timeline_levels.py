"""The timeline of a report: the whole recording, and parts of it in finer levels of detail.

A report cannot ask for what it does not have. So it has the whole recording coarsely, then what a
reader looks at next: a typical step, the intervals that verdict and account name, the findings'
examples, and at last parts of that step. Each level takes at most a share of the bytes that are
left, so that their sum stays below the limit.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.timeline.tracks import Track
from tb_privateuse1.export.reports.html.contents import TraceReport
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.views.encoding import encode_columns
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Request, Selection, view_named
from tb_privateuse1.views.timeline import MOST, Timeline

LevelKind = Literal["whole", "step", "stretch"]

_SHARE = 0.5
"""Of the bytes that are left, for one level."""
_LEAST = 50
"""A level of fewer rectangles is left out."""
_OF_INTERVAL = 1500
_PARTS = 2000
"""Of the whole recording and of a step: about as many as a screen has pixels."""
_ROOM = 0.1
"""Around a step, as a share of it, and"""
_AROUND = 2.0
"""around an interval, on either side."""
_STEP_PARTS = 4
_LONGEST_FULL_NAME = 300
_LONGEST_LABEL = 80
_TRACKS = {"steps": 1, "device": 24, "annotations": 4, "operators": 12}
"""At most this many tracks of each kind. Python's frames are left out: they are most of a trace."""


class TimelineLevel(Struct, frozen=True):
    """A part of the recording at a level of detail."""

    id: str
    """The document's element with its packed columns."""
    kind: LevelKind
    label: str
    """The step's name; of an interval what it is an example of."""
    start_ns: int
    stop_ns: int
    rectangles: int
    merged: int
    """Ranges without a rectangle of their own."""


class Levels(Struct, frozen=True):
    """The timeline of a report."""

    levels: tuple[TimelineLevel, ...]
    """The whole recording first; none if not even that has room."""
    left_out: int
    """Tracks of the trace that the report does not have, such as those of Python's frames."""


class _Wanted(Struct, frozen=True):
    kind: LevelKind
    label: str
    start_ns: int
    stop_ns: int
    most: int


def build_levels(
    reader: Reader, report: TraceReport, most_bytes: int, language: str
) -> tuple[Levels, dict[str, str]]:
    """Return the levels, and the text of each one's element: at most ``most_bytes`` in all."""
    selected = Selection(report.place.run, report.place.rank, report.place.span)
    view = view_named("timeline")

    def run(**options: Any) -> Timeline:
        result: Timeline = reader.run(Request(view, selected, options=options))
        return result

    base = run(tracks="", width=1)
    chosen = _choose_tracks(base.tracks)
    ids = ",".join(str(track.id) for track in chosen)
    found: list[TimelineLevel] = []
    texts: dict[str, str] = {}
    for wanted in _wanted(report, base.end_ns):
        if _is_there(wanted, found):
            continue
        allowed = int(_SHARE * (most_bytes - sum(map(len, texts.values()))))
        name, most = f"level-{len(found)}", wanted.most
        while most >= _LEAST:
            window = {"start_ns": wanted.start_ns, "stop_ns": wanted.stop_ns}
            result = run(**window, width=_PARTS, tracks=ids, folded="", most=most)
            text = _packed(result, () if found else chosen, language)
            if len(text) <= allowed:
                texts[name] = text
                found.append(_level(name, wanted, result))
                break
            most //= 2
        if not found:
            break
    return Levels(tuple(found), base.left_out + len(base.tracks) - len(chosen)), texts


def _choose_tracks(tracks: Sequence[Track]) -> list[Track]:
    """Return the tracks with the most ranges of each kind, in their order."""
    chosen: set[int] = set()
    for kind, most in _TRACKS.items():
        own = sorted((t for t in tracks if t.kind == kind), key=lambda t: -t.ranges)
        chosen.update(track.id for track in own[:most])
    return [track for track in tracks if track.id in chosen]


def _wanted(report: TraceReport, end_ns: int) -> Iterator[_Wanted]:
    """Yield what a report should have, the most useful first."""
    yield _Wanted("whole", "", 0, max(1, end_ns), MOST)
    step = _typical_step(report)
    if step is not None:
        name, start, stop = step
        room = int(_ROOM * (stop - start))
        yield _clipped(_Wanted("step", name, start - room, stop + room, MOST), end_ns)
    for label, start, length in _intervals(report):
        room = max(1000, int(_AROUND * length))
        around = _Wanted("stretch", label, start - room, start + length + room, _OF_INTERVAL)
        yield _clipped(around, end_ns)
    if step is not None:
        name, start, stop = step
        part = max(1, (stop - start) // _STEP_PARTS)
        for at in range(start, stop, part):
            yield _clipped(_Wanted("step", name, at, at + part, MOST), end_ns)


def _typical_step(report: TraceReport) -> tuple[str, int, int] | None:
    """Return the judged step of median duration; without judged ones that of all complete steps."""
    if report.overview is None:
        return None
    recording = report.overview.recording
    judged = set(recording.judged_steps if recording else ())
    whole = [s for s in report.overview.steps if not s.incomplete and not s.primed]
    steps = sorted(
        [s for s in whole if s.name in judged] or whole, key=lambda s: (s.duration_ns, s.start_ns)
    )
    if len(report.overview.steps) < 2 or not steps:
        return None
    step = steps[len(steps) // 2]
    return step.name, step.start_ns, step.start_ns + step.duration_ns


def _intervals(report: TraceReport) -> Iterator[tuple[str, int, int]]:
    """Yield the label, start and length of the intervals and events that the report names."""
    overview = report.overview
    verdict = overview.verdict if overview else None
    account = overview.account if overview else None
    if verdict is not None:
        yield verdict.cause or verdict.time_class, verdict.longest_start_ns, verdict.longest_ns
    for row in report.advice.rows if report.advice else ():
        for example in row.evidence[:1]:
            yield row.title, example.start_ns, 0
    for time in account.classes if account is not None else ():
        for interval in time.largest[:1]:
            yield time.label, interval.start_ns, interval.duration_ns


def _clipped(wanted: _Wanted, end_ns: int) -> _Wanted:
    start = min(max(0, wanted.start_ns), end_ns)
    return replace(wanted, start_ns=start, stop_ns=max(start + 1, min(wanted.stop_ns, end_ns)))


def _is_there(wanted: _Wanted, levels: Sequence[TimelineLevel]) -> bool:
    """Return whether a level shows this window, or all of it in rectangles of their own."""
    window = wanted.start_ns, wanted.stop_ns
    return any(
        (level.start_ns, level.stop_ns) == window
        or (level.merged == 0 and level.start_ns <= window[0] and level.stop_ns >= window[1])
        for level in levels
    )


def _level(name: str, wanted: _Wanted, result: Timeline) -> TimelineLevel:
    count = result.rectangles.count
    return TimelineLevel(
        id=name,
        kind=wanted.kind,
        label=shorten(wanted.label, _LONGEST_LABEL),
        start_ns=result.start_ns,
        stop_ns=result.stop_ns,
        rectangles=len(count),
        merged=int(count.sum()) - len(count),
    )


def _packed(result: Timeline, tracks: Sequence[Track], language: str) -> str:
    """Return the packed columns (``encode_columns``), deflated, in base 64."""
    names = tuple(name and shorten(name, _LONGEST_FULL_NAME) for name in result.full_names)
    result = replace(result, tracks=tuple(tracks), full_names=names)
    packed = encode_columns(result, language)
    assert packed is not None, "a timeline has columns"
    return base64.b64encode(zlib.compress(packed, 9)).decode()
