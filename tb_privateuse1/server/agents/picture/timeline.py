"""The timeline as a PNG: tracks below each other, their ranges as rectangles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tb_privateuse1.i18n import say
from tb_privateuse1.server.agents.picture.canvas import (
    GROUND,
    INK,
    MUTED,
    RULE,
    SUNKEN,
    Canvas,
    Color,
    is_dark,
    mixed,
    nice_step,
    parse_color,
)
from tb_privateuse1.trace.errors import TraceError

if TYPE_CHECKING:
    from tb_privateuse1.views.timeline import Timeline

_LABELS_PX = 170
_RIGHT_PX = 14
_AXIS_PX = 24
_LEGEND_PX = 22
_ROW_PX = 15
_GAP_PX = 6
_MOST_ROWS = 48
"""Of all tracks together."""
_ROWS_OF = {"steps": 1, "operators": 8, "frames": 3, "device": 4, "annotations": 2}
_MOST_CAPTIONS = 12
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_OTHER = "#8b9097"
_COLORS = {
    "kernel": "#0072b2", "memcpy": "#c77c00", "memset": "#8c8000", "communication": "#d14a00",
    "unknown": "#23172e", "runtime": "#00855f", "dataloader": "#b5498c", "operator": "#3a9ad9",
    "annotation": "#8a6f8f", "synchronization": "#7253d2",
}  # fmt: skip
"""As on the page, by light."""
_STRENGTH = {"measured": 1.0, "inferred": 0.75, "bounded": 0.35}
"""The share of its color that a range keeps, by how well it is known."""


class _Place(Struct, frozen=True):
    """A track in the picture."""

    id: int
    label: str
    top: int
    rows: int


class TimelineDrawing:
    """Draws the result of the view ``timeline``."""

    def options(self, width: int) -> Mapping[str, str]:
        """Return the options of the view: as many parts as the picture has pixels."""
        return {"width": str(width - _LABELS_PX - _RIGHT_PX)}

    def caption(self, result: Timeline) -> dict[str, Any]:
        """Return the window, the tracks and what the device times rest on."""
        places = list(_places(result))
        return {
            "start_ns": result.start_ns,
            "stop_ns": result.stop_ns,
            "end_ns": result.end_ns,
            "device_times": result.provenance.timeline,
            "shift_bound_ns": result.shift_bound_ns,
            "tracks_drawn": [place.label for place in places[:_MOST_CAPTIONS]],
            "tracks": len(result.tracks) + result.left_out,
        }

    def draw(self, result: Timeline, width: int) -> Canvas:
        """Return the window as a picture. Raises TraceError ``nothing_to_draw``."""
        places = list(_places(result))
        if not places:
            raise TraceError("nothing_to_draw", say("This recording has nothing to draw."))
        last = places[-1]
        bottom = last.top + last.rows * _ROW_PX + _GAP_PX
        canvas = Canvas(width, bottom + _LEGEND_PX)
        plot = width - _LABELS_PX - _RIGHT_PX
        for place in places:
            _band(canvas, place, width)
        _axis(canvas, result, plot, bottom)
        _rectangles(canvas, result, places, plot)
        _legend(canvas, result, places, bottom + _LEGEND_PX / 2)
        return canvas


def _places(result: Timeline) -> Iterator[_Place]:
    """Yield the tracks that have ranges in the window, as far as there is room."""
    drawn = result.rectangles
    top, left = _AXIS_PX + _GAP_PX, _MOST_ROWS
    for track in result.tracks:
        own = drawn.row[drawn.track == track.id]
        rows = min(int(own.max()) + 1 if len(own) else 0, _ROWS_OF[track.kind], left)
        if rows:
            yield _Place(track.id, f"{track.group} · {track.label}", top, rows)
            top += rows * _ROW_PX + _GAP_PX
            left -= rows


def _band(canvas: Canvas, place: _Place, width: int) -> None:
    bottom = place.top + place.rows * _ROW_PX
    canvas.rectangle(_LABELS_PX, place.top, width - _RIGHT_PX, bottom, SUNKEN)
    group, _, label = place.label.partition(" · ")
    shown = label if place.rows == 1 else group
    canvas.text(6, place.top + _ROW_PX / 2, canvas.clipped(shown, _LABELS_PX - 12))
    if place.rows > 1:
        second = canvas.clipped(label, _LABELS_PX - 12)
        canvas.text(6, place.top + 1.5 * _ROW_PX, second, MUTED)


def _axis(canvas: Canvas, result: Timeline, plot: int, bottom: int) -> None:
    """Draw the times from the start of the recording, in one unit."""
    span = result.stop_ns - result.start_ns
    step = max(nice_step(span, max(plot // 110, 2)), 1.0)
    scale, unit = next(one for one in _UNITS if step >= one[0] or one[0] == 1.0)
    tick = math.ceil(result.start_ns / step) * step
    while tick <= result.stop_ns:
        x = _LABELS_PX + (tick - result.start_ns) / span * plot
        canvas.line([(x, _AXIS_PX), (x, bottom)], RULE)
        anchor = "rm" if x > _LABELS_PX + plot - 24 else "mm"
        canvas.text(x, _AXIS_PX / 2, f"{tick / scale:,.10g} {unit}", MUTED, anchor=anchor)
        tick += step
    canvas.text(6, _AXIS_PX / 2, str(say("since the start")), MUTED)


def _rectangles(canvas: Canvas, result: Timeline, places: list[_Place], plot: int) -> None:
    drawn, by_track = result.rectangles, {place.id: place for place in places}
    span = result.stop_ns - result.start_ns
    for at in range(len(drawn.track)):
        place, row = by_track.get(int(drawn.track[at])), int(drawn.row[at])
        if place is None or row >= place.rows:
            continue
        start, length = float(drawn.start_ns[at]), float(drawn.length_ns[at])
        left = _LABELS_PX + max(start - result.start_ns, 0) / span * plot
        right = _LABELS_PX + min(start + length - result.start_ns, span) / span * plot
        color = _color(result, int(drawn.kind[at]), int(drawn.look[at]))
        if drawn.count[at] > 1:  # several short ranges: as strong as they fill it
            color = mixed(color, max(float(drawn.busy_ns[at]) / max(length, 1.0), 0.3))
        top = place.top + row * _ROW_PX
        edge = mixed(color, 0.6, INK) if right - left >= 4 else None
        canvas.rectangle(left, top + 1, right, top + _ROW_PX, color, edge)
        if right - left > 28 and drawn.count[at] == 1:
            name = canvas.clipped(result.names[int(drawn.name[at])], right - left - 6)
            ink = GROUND if is_dark(color) else INK
            canvas.text(left + 3, top + _ROW_PX / 2 + 0.5, name, ink)


def _color(result: Timeline, kind: int, look: int) -> Color:
    color = parse_color(_COLORS.get(result.kinds[kind], _OTHER))
    return mixed(color, _STRENGTH[result.looks[look]])


def _legend(canvas: Canvas, result: Timeline, places: list[_Place], y: float) -> None:
    """Name the kinds of ranges in the picture, and how inferred ones look."""
    drawn, ids = result.rectangles, {place.id for place in places}
    shown = [at for at in range(len(drawn.track)) if int(drawn.track[at]) in ids]
    kinds = dict.fromkeys(result.kinds[int(drawn.kind[at])] for at in shown)
    looks = {result.looks[int(drawn.look[at])] for at in shown}
    entries = [(kind, parse_color(_COLORS.get(kind, _OTHER))) for kind in kinds]
    kernel = parse_color(_COLORS["kernel"])
    paler = [name for name in ("inferred", "bounded") if name in looks]
    entries += [(f"{name} (paler)", mixed(kernel, _STRENGTH[name])) for name in paler]
    x = 6.0
    for name, color in entries:
        if x + 18 + canvas.text_width(name) > canvas.width:
            break
        canvas.rectangle(x, y - 5, x + 10, y + 5, color)
        canvas.text(x + 14, y, name)
        x += 28 + canvas.text_width(name)
