"""The timeline: its device summary, the menu of a heading, the time axis, the details."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.timeline_canvas import canvas, result, wait_for_state, window


def test_the_device_and_the_main_thread_are_on_the_first_screen(dashboard: Dashboard) -> None:
    dashboard.page.set_viewport_size({"width": 1440, "height": 900})
    canvas(dashboard, run="ddp")
    answer = result(dashboard, "timeline?run=ddp&width=1")
    summary = dashboard.get("summary")
    expect(summary).to_have_count(len(answer["summaries"]))
    expect(summary.first).to_be_in_viewport()
    main = next(one["id"] for one in answer["tracks"] if one["main"])
    expect(dashboard.inside.locator(f'[data-testid="track"][data-id="{main}"]')).to_be_in_viewport()
    summary.first.get_by_role("button").click()
    expect(summary.first).to_have_attribute("data-folded", "false")
    assert dashboard.state()["lanes"].endswith("/families")


def test_a_heading_has_a_menu_for_the_keyboard(dashboard: Dashboard) -> None:
    canvas(dashboard, run="mlp")
    track = dashboard.inside.locator('[data-testid="track"][data-kind="operators"]').first
    number = track.get_attribute("data-id")
    button = track.get_by_role("button", name=re.compile("^Fold"))
    button.focus()
    button.press("Shift+F10")
    menu = dashboard.get("track-menu")
    expect(dashboard.get("track-menu-pin")).to_be_focused()
    menu.press("Escape")
    expect(menu).to_have_count(0)
    expect(button).to_be_focused()
    track.click(button="right")
    dashboard.get("track-menu-pin").press("ArrowDown")
    expect(dashboard.get("track-menu-hide")).to_be_focused()
    dashboard.get("track-menu-hide").press("Enter")
    wait_for_state(dashboard, f"lanes=h{number}")
    hidden = dashboard.inside.locator(f'[data-testid="track"][data-id="{number}"]')
    expect(hidden).to_have_count(0)
    dashboard.get("show-hidden").click()
    expect(hidden).to_have_count(1)


def test_a_drag_on_the_time_axis_zooms(dashboard: Dashboard) -> None:
    found = canvas(dashboard, run="mlp")
    start, stop = window(found)
    axis = dashboard.get("time-axis").bounding_box()
    assert axis
    mouse, y = dashboard.page.mouse, axis["y"] + 10
    mouse.move(axis["x"] + axis["width"] / 4, y)
    mouse.down()
    mouse.move(axis["x"] + axis["width"] / 2, y, steps=3)
    mouse.up()
    expect(found).not_to_have_attribute("data-start", str(start))
    closer = window(found)
    assert abs(closer[0] - (start + (stop - start) / 4)) < (stop - start) / 50
    assert abs(closer[1] - (start + stop) / 2) < (stop - start) / 50


def test_details_are_below_and_arrow_keys_work_after_a_click(dashboard: Dashboard) -> None:
    found = canvas(dashboard, run="mlp", item="kernels:0")
    details = dashboard.get("timeline-details")
    expect(details).to_be_visible(timeout=WAIT_MS)
    below, picture = details.bounding_box(), found.bounding_box()
    assert below
    assert picture
    assert below["y"] > picture["y"]
    assert below["width"] > picture["width"]
    found.click(position={"x": 200, "y": 5})
    expect(dashboard.inside.locator(".timecanvas")).to_be_focused()
    dashboard.page.keyboard.press("ArrowRight")
    dashboard.page.wait_for_function("location.hash.includes('privateuse1.item=')")
