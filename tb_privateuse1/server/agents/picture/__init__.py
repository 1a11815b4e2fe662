"""Pictures of results as PNG, for agents that see: the timeline and the roofline.

The data are those of the views that the pages draw. The extra ``[mcp]`` has Pillow for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from tb_privateuse1.i18n import say
from tb_privateuse1.server.agents.picture import roofline, timeline
from tb_privateuse1.server.agents.picture.canvas import Canvas
from tb_privateuse1.trace.errors import TraceError

NARROWEST_PX, WIDEST_PX = 400, 1600
_SMALLER = 0.8
_COLORS = (128, 16)
"""Of the palette: with fewer, the edges of letters are coarse."""


class Drawing(Protocol):
    """A kind of picture."""

    def options(self, width: int) -> Mapping[str, str]:
        """Return the options of the view for a picture of this width, as an HTTP query has them."""

    def caption(self, result: Any) -> dict[str, Any]:
        """Return what the picture shows, as values of JSON."""

    def draw(self, result: Any, width: int) -> Canvas:
        """Return a result as a picture. Raises TraceError if there is nothing to draw."""


_DRAWINGS: Mapping[str, Drawing] = {
    "timeline": timeline.TimelineDrawing(),
    "roofline": roofline.RooflineDrawing(),
}


def drawing(of: str, width: int) -> Drawing:
    """Return the kind of picture of a name. Raises TraceError ``bad_option``."""
    if of not in _DRAWINGS:
        message = say(
            "{name} must be one of {names}, not {text!r}.",
            name="of",
            names=", ".join(_DRAWINGS),
            text=of[:100],
        )
        raise TraceError("bad_option", message)
    if not NARROWEST_PX <= width <= WIDEST_PX:
        message = say(
            "{name} must be a whole number from {least:,} to {most:,}.",
            name="width_px",
            least=NARROWEST_PX,
            most=WIDEST_PX,
        )
        raise TraceError("bad_option", message)
    return _DRAWINGS[of]


def fit_png(kind: Drawing, result: Any, width: int, most_bytes: int) -> bytes:
    """Return a result as a PNG of at most ``most_bytes`` in base64: in fewer colors, or narrower.

    Raises TraceError ``picture_too_large``, or what drawing raises.
    """
    needed = 0
    while width >= NARROWEST_PX:
        canvas = kind.draw(result, width)
        for colors in _COLORS:
            png = canvas.png(colors)
            needed = (len(png) + 2) // 3 * 4
            if needed <= most_bytes:
                return png
        width = int(width * _SMALLER)
    message = say("The smallest picture has {count:,} bytes.", count=needed)
    raise TraceError("picture_too_large", message, say("Raise max_bytes."))
