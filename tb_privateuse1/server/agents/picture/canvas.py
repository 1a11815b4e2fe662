"""A canvas for charts in PNG, by Pillow: text, rectangles, lines and ticks."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

if TYPE_CHECKING:
    from PIL import ImageFont

Color = tuple[int, int, int]

INK: Color = (0x1C, 0x1E, 0x21)
MUTED: Color = (0x5C, 0x62, 0x69)
RULE: Color = (0xDF, 0xE1, 0xE4)
SUNKEN: Color = (0xF5, 0xF6, 0xF7)
GROUND: Color = (0xFF, 0xFF, 0xFF)
FONT_PX = 12


class Canvas:
    """A white picture. Lengths are in pixels; ``sharpness`` draws larger and scales down."""

    def __init__(self, width: int, height: int, sharpness: int = 1) -> None:
        self.width, self.height = width, height
        self._by = sharpness
        image = _pillow("Image")
        self._image = image.new("RGB", (width * sharpness, height * sharpness), GROUND)
        self._draw = _pillow("ImageDraw").Draw(self._image)
        self._font: ImageFont.FreeTypeFont = _pillow("ImageFont").load_default(FONT_PX * sharpness)

    def rectangle(
        self,
        left: float,
        top: float,
        right: float,
        bottom: float,
        fill: Color,
        edge: Color | None = None,
    ) -> None:
        """Fill a rectangle; it is at least a pixel wide."""
        by = self._by
        box = (left * by, top * by, max(right * by - 1, left * by), bottom * by - 1)
        self._draw.rectangle(box, fill=fill, outline=edge)

    def line(self, points: list[tuple[float, float]], color: Color, width: int = 1) -> None:
        """Draw a line through points."""
        scaled = [(x * self._by, y * self._by) for x, y in points]
        self._draw.line(scaled, fill=color, width=width * self._by)

    def disc(self, x: float, y: float, radius: float, fill: Color) -> None:
        """Draw a disc with a white edge."""
        by = self._by
        box = ((x - radius) * by, (y - radius) * by, (x + radius) * by, (y + radius) * by)
        self._draw.ellipse(box, fill=fill, outline=GROUND, width=by)

    def text(
        self, x: float, y: float, text: str, color: Color = INK, *, anchor: str = "lm"
    ) -> None:
        """Write a line of text; ``anchor`` is Pillow's: l, m or r, then a, m or b."""
        self._draw.text(
            (x * self._by, y * self._by), text, fill=color, font=self._font, anchor=anchor
        )

    def text_width(self, text: str) -> float:
        """Return the width of a line of text."""
        return float(self._font.getlength(text)) / self._by

    def clipped(self, text: str, room: float) -> str:
        """Return the part of a text that fits, with an ellipsis if it is cut; else nothing."""
        if self.text_width(text) <= room:
            return text
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            fits = self.text_width(text[:middle] + "…") <= room
            low, high = (middle, high) if fits else (low, middle - 1)
        return text[:low] + "…" if low > 2 else ""

    def png(self, colors: int) -> bytes:
        """Return the picture as a PNG with a palette of ``colors`` colors."""
        image = self._image
        if self._by > 1:
            image = image.resize((self.width, self.height), _pillow("Image").Resampling.LANCZOS)
        out = io.BytesIO()
        image.quantize(colors, dither=_pillow("Image").Dither.NONE).save(out, "PNG", optimize=True)
        return out.getvalue()


def mixed(color: Color, share: float, other: Color = GROUND) -> Color:
    """Return a color mixed with another: ``share`` 1 is the color itself."""
    red, green, blue = (
        round(share * c + (1 - share) * o) for c, o in zip(color, other, strict=True)
    )
    return red, green, blue


def parse_color(text: str) -> Color:
    """Return the color of ``#rrggbb``."""
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def is_dark(color: Color) -> bool:
    """Return whether white text reads better on a color than dark text."""
    return 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2] < 140


def nice_step(span: float, most: int) -> float:
    """Return the least of 1, 2, 5, 10, … that divides a span into ``most`` parts or fewer."""
    least = span / most
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * 0.999999)


def _pillow(module: str) -> Any:
    """Return a module of Pillow. Raises TraceError ``no_pillow``."""
    import importlib

    try:
        return importlib.import_module(f"PIL.{module}")
    except ImportError as error:
        hint = say("pip install 'tb-privateuse1[mcp]' brings it along.")
        message = say("A picture needs Pillow, which is not installed.")
        raise TraceError("no_pillow", message, hint) from error
