"""Over the timeline: legend, findings, notes, edges that are dragged, a second recording."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.timeline_canvas import canvas, result, window


def test_the_legend_hides_and_shows_a_class(dashboard: Dashboard) -> None:
    found = canvas(dashboard, run="ddp")
    before = int(found.get_attribute("data-rectangles") or "")
    kernel = dashboard.inside.locator('[data-testid="legend-entry"][data-key="kernel"]')
    expect(kernel).to_have_attribute("aria-pressed", "true")
    kernel.click()
    expect(kernel).to_have_attribute("aria-pressed", "false")
    expect(found).not_to_have_attribute("data-rectangles", str(before))
    assert dashboard.state()["hide"] == "kernel"
    dashboard.page.reload()
    expect(kernel).to_have_attribute("aria-pressed", "false", timeout=WAIT_MS)
    dashboard.get("legend-all").click()
    expect(found).to_have_attribute("data-rectangles", str(before), timeout=WAIT_MS)
    kernel.press("Shift+Enter")
    others = dashboard.inside.locator('[data-testid="legend-entry"][aria-pressed="true"]')
    expect(others).to_have_count(1)
    expect(others).to_have_attribute("data-key", "kernel")


def test_a_note_is_text_and_the_url_keeps_it(dashboard: Dashboard) -> None:
    found = canvas(dashboard, run="ddp")
    start, stop = window(found)
    text = "<b>slow</b>; why? 100 %"
    dashboard.get("notes").click()
    dashboard.get("note-text").fill(text)
    dashboard.get("note-save").click()
    note = dashboard.get("note")
    expect(note).to_have_text(text)
    dashboard.page.reload()
    expect(note).to_have_text(text, timeout=WAIT_MS)
    assert dashboard.inside.locator(".marks b").count() == 0
    at = int(re.match(r"(-?\d+)~", dashboard.state()["notes"])[1])  # type: ignore[index]
    assert start < at < stop
    dashboard.get("notes").click()
    dashboard.get("note-remove").click()
    expect(note).to_have_count(0)
    assert "notes" not in dashboard.state()


def test_widths_and_heights_are_dragged_and_stay(dashboard: Dashboard) -> None:
    canvas(dashboard, run="mlp")
    edge = dashboard.get("heads-edge")
    before = int(edge.get_attribute("aria-valuenow") or "")
    box = edge.bounding_box()
    assert box
    mouse = dashboard.page.mouse
    mouse.move(box["x"] + 4, box["y"] + 20)
    mouse.down()
    mouse.move(box["x"] + 64, box["y"] + 20, steps=4)
    mouse.up()
    expect(edge).to_have_attribute("aria-valuenow", str(before + 60))
    edge.press("ArrowLeft")
    expect(edge).to_have_attribute("aria-valuenow", str(before + 44))
    device = dashboard.inside.locator('[data-testid="track"][data-kind="device"]').first
    row = device.get_by_test_id("row-edge")
    height = int(row.get_attribute("aria-valuenow") or "")
    row.press("ArrowDown")
    expect(row).to_have_attribute("aria-valuenow", str(height + 2))
    dashboard.page.reload()
    expect(edge).to_have_attribute("aria-valuenow", str(before + 44), timeout=WAIT_MS)
    expect(row).to_have_attribute("aria-valuenow", str(height + 2))
    edge.dblclick(position={"x": 4, "y": 20})
    expect(edge).to_have_attribute("aria-valuenow", str(before))


def test_from_the_diff_two_recordings_stand_above_each_other(dashboard: Dashboard) -> None:
    dashboard.open(view="diff", run="ddp", base="mlp")
    link = dashboard.get("both-on-timeline")
    expect(link).to_be_visible(timeout=WAIT_MS)
    link.click()
    heads = dashboard.get("rank-head")
    expect(heads).to_have_count(2, timeout=WAIT_MS)
    expect(heads.first).to_contain_text("Base: mlp")
    expect(heads.last).to_contain_text("Selected: ddp")
    starts = [first_whole_step(dashboard, run) for run in ("ddp", "mlp")]
    dashboard.get("fit-all").click()
    found = dashboard.get("timeline-canvas")
    # Both are on one axis: it begins with whichever starts first.
    shift = starts[0] - starts[1]
    expect(found).to_have_attribute("data-drawn", re.compile("[1-9]"), timeout=WAIT_MS)
    assert window(found)[0] <= min(0, shift)
    heads.first.get_by_role("button").click()
    expect(heads).to_have_count(0)
    assert "compare" not in dashboard.state()


def first_whole_step(dashboard: Dashboard, run: str) -> int:
    steps = result(dashboard, f"overview?run={run}&brief=true")["steps"]
    whole = next((step for step in steps if not step["incomplete"]), steps[0])
    return int(whole["start_ns"])
