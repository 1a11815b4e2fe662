"""The timeline's canvas in a browser: open it, read its window, drag over it."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, expect

from tests.support.dashboard import WAIT_MS, Dashboard


def result(dashboard: Dashboard, query: str) -> Any:
    """Return the answer of a route of the plugin."""
    return dashboard.server.plugin(query).json


def canvas(dashboard: Dashboard, **state: str | int) -> Locator:
    """Return the canvas, once something is drawn on it."""
    dashboard.open(view="timeline", **state)
    found = dashboard.get("timeline-canvas")
    expect(found).to_have_attribute("data-drawn", re.compile("[1-9]"), timeout=WAIT_MS)
    return found


def window(found: Locator) -> tuple[int, int]:
    """Return the start and the end of what the canvas shows, in ns."""
    start, stop = (int(found.get_attribute(f"data-{edge}") or "") for edge in ("start", "stop"))
    return start, stop


def drag(dashboard: Dashboard, start: tuple[float, float], stop: tuple[float, float]) -> None:
    """Drag with the mouse from one place of the canvas to another."""
    box = dashboard.get("timeline-canvas").bounding_box()
    assert box
    mouse = dashboard.page.mouse
    mouse.move(box["x"] + start[0], box["y"] + start[1])
    mouse.down()
    mouse.move(box["x"] + stop[0], box["y"] + stop[1], steps=4)
    mouse.up()


def middle(dashboard: Dashboard, head: Locator) -> float:
    """Return how far down the canvas a line lies, in pixels."""
    boxes = [one.bounding_box() for one in (head, dashboard.get("timeline-canvas"))]
    assert boxes[0]
    assert boxes[1]
    return boxes[0]["y"] + boxes[0]["height"] / 2 - boxes[1]["y"]


def drag_along_a_heading(dashboard: Dashboard) -> None:
    """Select all that is shown, on all tracks."""
    width = (dashboard.get("timeline-canvas").bounding_box() or {"width": 0})["width"]
    heading = middle(dashboard, dashboard.get("group-head").first)
    drag(dashboard, (5, heading), (width - 5, heading))


def tables(dashboard: Dashboard) -> set[str]:
    """Return the tables in which a selection has rows."""
    return {row["table"] for row in dashboard.rows("area").values()}


def wait_for_state(dashboard: Dashboard, state: str) -> None:
    """Wait until the address contains a text."""
    dashboard.page.wait_for_function(
        "state => decodeURIComponent(location.hash).includes(state)", arg=state
    )
