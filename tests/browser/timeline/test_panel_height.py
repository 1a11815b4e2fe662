"""The panel below the timeline: its edge moves, and its height stays."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from tests.support.axe import settled
from tests.support.dashboard import Dashboard


def _height(panel: Locator) -> float:
    box = panel.bounding_box()
    assert box
    return box["height"]


def test_the_edge_of_the_panel_resizes_it(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="ddp", view="timeline", area="0..1000000"))
    panel = dashboard.shows("area-summary")
    edge = dashboard.shows("panel-edge")
    before = _height(panel)
    box = edge.bounding_box()
    assert box
    mouse = dashboard.page.mouse
    x, y = box["x"] + box["width"] / 2, box["y"] + 2
    mouse.move(x, y)
    mouse.down()
    mouse.move(x, y - 60, steps=3)
    mouse.move(x, y - 120, steps=3)
    mouse.up()
    expect(panel).to_have_css("height", f"{before + 120:g}px")
    assert dashboard.frame.evaluate("getSelection().toString()") == ""
    edge.press("ArrowDown")
    expect(panel).to_have_css("height", f"{before + 96:g}px")
    dashboard.page.reload()
    expect(dashboard.shows("area-summary")).to_have_css("height", f"{before + 96:g}px")
    dashboard.get("panel-edge").dblclick()
    expect(dashboard.get("area-summary")).to_have_css("height", f"{before:g}px")
