"""The roofline as a PNG: rates over arithmetic intensity, below the roofs, both logarithmic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tb_privateuse1.i18n import say
from tb_privateuse1.server.agents.picture.canvas import (
    INK,
    MUTED,
    RULE,
    Canvas,
    Color,
    mixed,
    parse_color,
)
from tb_privateuse1.trace.errors import TraceError

if TYPE_CHECKING:
    from tb_privateuse1.views.roofline import Roofline, RooflineRow

_LEFT, _TOP, _RIGHT, _BOTTOM = 66, 30, 20, 62
_HEIGHT_OF_WIDTH = 0.6
_POINTS = 60
_NAMED = 10
_SHARPNESS = 2
_COLORS: Mapping[str | None, Color] = {
    "compute": parse_color("#0072b2"),
    "memory": parse_color("#d14a00"),
    "cache": parse_color("#00855f"),
    None: parse_color("#8b9097"),
}


class _Axes(Struct, frozen=True):
    """The ranges of both axes, as powers of ten, and the plot in pixels."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    width: int
    height: int

    def x(self, value: float) -> float:
        share = (math.log10(value) - self.x_low) / (self.x_high - self.x_low)
        return _LEFT + share * (self.width - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (math.log10(value) - self.y_low) / (self.y_high - self.y_low)
        return self.height - _BOTTOM - share * (self.height - _TOP - _BOTTOM)


class RooflineDrawing:
    """Draws the result of the view ``roofline``."""

    def options(self, width: int) -> Mapping[str, str]:  # noqa: ARG002  (as of the other one)
        """Return the options of the view."""
        return {"limit": str(_POINTS * 4)}

    def caption(self, result: Roofline) -> dict[str, Any]:
        """Return the roofs with their rates, and the points that have a name in the picture."""
        return {
            "roofs": [
                {"name": roof.name, "rate_per_s": roof.rate, "source": roof.source}
                for roof in result.roofs
            ],
            "points": [
                {
                    "name": row.name[:80],
                    "device_ns": row.device_ns,
                    "flops_per_byte": row.flops_per_byte,
                    "tflop_per_s": row.tflop_per_s,
                    "roof_share": row.roof_share,
                    "limit": row.limit,
                }
                for row in _points(result)[:_NAMED]
            ],
            "points_drawn": len(_points(result)),
            "rows": result.total_rows,
        }

    def draw(self, result: Roofline, width: int) -> Canvas:
        """Return the chart as a picture. Raises TraceError ``nothing_to_draw``."""
        points = _points(result)
        if not points:
            message = say("No work here has known operations, bytes and device time.")
            raise TraceError("nothing_to_draw", message, say("Record with record_shapes=True."))
        axes = _axes(result, points, width)
        canvas = Canvas(width, axes.height, _SHARPNESS)
        _grid(canvas, axes)
        _roofs(canvas, axes, result)
        _dots(canvas, axes, points)
        _legend(canvas, axes, points)
        return canvas


def _points(result: Roofline) -> list[RooflineRow]:
    """Return the rows with a place in the chart, the most time first."""
    return [row for row in result.rows if row.flops_per_byte and row.tflop_per_s][:_POINTS]


def _axes(result: Roofline, points: list[RooflineRow], width: int) -> _Axes:
    xs = [row.flops_per_byte for row in points if row.flops_per_byte]
    ys = [row.tflop_per_s for row in points if row.tflop_per_s]
    computes = list(_ceilings(result))
    memory = [roof.rate / 1e12 for roof in result.roofs if roof.kind == "memory"]
    xs += [peak / bandwidth for peak in computes for bandwidth in memory]  # the ridges
    low_x, high_x = math.floor(math.log10(min(xs))), math.ceil(math.log10(max(xs)) + 0.2)
    ys += computes
    low_y, high_y = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)) + 0.1)
    height = int(width * _HEIGHT_OF_WIDTH)
    return _Axes(low_x, max(high_x, low_x + 1), low_y, max(high_y, low_y + 1), width, height)


def _grid(canvas: Canvas, axes: _Axes) -> None:
    left, right = _LEFT, axes.width - _RIGHT
    top, bottom = _TOP, axes.height - _BOTTOM
    for power in range(int(axes.x_low), int(axes.x_high) + 1):
        x = axes.x(10.0**power)
        canvas.line([(x, top), (x, bottom)], RULE)
        canvas.text(x, bottom + 10, f"{10.0**power:g}", MUTED, anchor="mm")
    for power in range(int(axes.y_low), int(axes.y_high) + 1):
        y = axes.y(10.0**power)
        canvas.line([(left, y), (right, y)], RULE)
        canvas.text(left - 6, y, f"{10.0**power:g}", MUTED, anchor="rm")
    canvas.text((left + right) / 2, bottom + 27, "FLOP per byte of memory", anchor="mm")
    canvas.text(8, 12, "TFLOP/s", anchor="lm")


def _roofs(canvas: Canvas, axes: _Axes, result: Roofline) -> None:
    """Draw the memory's roof, and from it the ceilings of arithmetic that have work."""
    first, last = 10.0**axes.x_low, 10.0**axes.x_high
    floor = 10.0**axes.y_low
    ceilings = _ceilings(result)
    slope: float | None = None
    for memory in (roof for roof in result.roofs if roof.kind == "memory"):
        slope = memory.rate / 1e12
        highest = max(ceilings, default=10.0**axes.y_high)
        start, end = max(first, floor / slope), min(last, highest / slope)
        if start < end:
            ends = [(axes.x(at), axes.y(at * slope)) for at in (start, end)]
            canvas.line(ends, INK, 2)
            label = f"memory {memory.rate / 1e9:,.0f} GB/s{_seen(memory.source)}"
            canvas.text(ends[0][0] + 12, ends[0][1] + 4, label, MUTED, anchor="lt")
    for peak, label in ceilings.items():
        start = min(max(first, peak / slope), last) if slope else first
        canvas.line([(axes.x(start), axes.y(peak)), (axes.x(last), axes.y(peak))], INK, 2)
        canvas.text(axes.width - _RIGHT - 4, axes.y(peak) - 4, label, MUTED, anchor="rb")


def _ceilings(result: Roofline) -> dict[float, str]:
    """Return the label of each ceiling by its rate in TFLOP/s: of those that have work."""
    computes = [roof for roof in result.roofs if roof.kind == "compute"]
    used = [roof for roof in computes if roof.device_ns] or computes[:1]
    names: dict[float, list[str]] = {}
    for roof in used:
        names.setdefault(roof.rate / 1e12, []).append(roof.name + _seen(roof.source))
    return {peak: f"{', '.join(same)} {peak:,.4g} TFLOP/s" for peak, same in names.items()}


def _seen(source: str) -> str:
    return " (best seen)" if source == "best_seen" else ""


def _dots(canvas: Canvas, axes: _Axes, points: list[RooflineRow]) -> None:
    """Draw the points, those with less time first, and name those with the most."""
    most = max(row.device_ns for row in points)
    taken: list[tuple[float, float]] = []
    for row in reversed(points):
        radius = 3 + 9 * math.sqrt(row.device_ns / most) if most else 3
        color = mixed(_COLORS.get(row.limit, _COLORS[None]), 0.85)
        canvas.disc(axes.x(row.flops_per_byte or 1), axes.y(row.tflop_per_s or 1), radius, color)
    for row in points[:_NAMED]:
        x, y = axes.x(row.flops_per_byte or 1), axes.y(row.tflop_per_s or 1)
        name = canvas.clipped(row.name, 190)
        is_right = x + 16 + canvas.text_width(name) < axes.width - _RIGHT
        at = x + 15 if is_right else x - 15 - canvas.text_width(name)
        if all(abs(y - other) > 13 or abs(at - beside) > 160 for beside, other in taken):
            canvas.text(at, y, name)
            taken.append((at, y))


def _legend(canvas: Canvas, axes: _Axes, points: list[RooflineRow]) -> None:
    x, y = float(_LEFT), axes.height - 14
    for limit in dict.fromkeys(row.limit for row in points):
        name = f"limited by {limit}" if limit else "no roof"
        canvas.disc(x + 5, y, 5, mixed(_COLORS.get(limit, _COLORS[None]), 0.85))
        canvas.text(x + 15, y, name)
        x += 34 + canvas.text_width(name)
    canvas.text(x, y, "area: device time", MUTED)
