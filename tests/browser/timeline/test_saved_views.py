"""What the timeline keeps: the picture by the address, and the selection under a dialog."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.support.axe import settled
from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.server import Server
from tests.support.timeline_canvas import canvas, drag, middle, result, wait_for_state, window


def pick(dashboard: Dashboard) -> str:
    """By the keyboard the next range, the first one to begin with: which it is."""
    before = dashboard.state().get("item")
    dashboard.inside.locator(".timecanvas").focus()
    dashboard.page.keyboard.press("ArrowRight")
    wait_for_state(dashboard, ".item=")
    item = dashboard.state()["item"]
    assert item != before
    dashboard.shows("details-name")
    return item


def test_back_shows_the_same_picture_again(
    timed: Callable[[Server], Dashboard], tensorboard: Server
) -> None:
    dashboard = timed(tensorboard)
    found = canvas(dashboard, run="mlp")
    whole = window(found)
    for _ in range(2):
        pick(dashboard)
    for way in (dashboard.page.go_back, dashboard.page.go_forward):
        way()
        settled(dashboard)
        dashboard.shows("details-name")
        dashboard.page.clock.run_for(2000)  # a camera that moved would have come to rest
        assert window(found) == pytest.approx(whole, abs=2)


def test_a_reload_keeps_the_area_and_the_filter(dashboard: Dashboard) -> None:
    canvas(dashboard, run="mlp")
    device = dashboard.inside.locator('[data-testid="track"][data-kind="device"]').first
    item = pick(dashboard)
    dashboard.get("only-tracks").fill("thread")
    expect(device).to_have_count(0)
    dashboard.page.reload()
    dashboard.shows("details-name")
    expect(dashboard.get("only-tracks")).to_have_value("thread")
    dashboard.get("only-tracks").fill("")
    y = middle(dashboard, device)
    drag(dashboard, (100, y), (300, y))
    wait_for_state(dashboard, ".area=")
    state = dashboard.state()
    assert state["item"] == item
    dashboard.page.reload()
    dashboard.shows("area-summary")
    settled(dashboard)
    assert dashboard.state() == state


def test_an_area_lies_within_the_recording(dashboard: Dashboard) -> None:
    canvas(dashboard, run="mlp")
    end = result(dashboard, "timeline?run=mlp&width=1")["end_ns"]
    dashboard.inside.locator(".timecanvas").focus()
    dashboard.page.keyboard.press("x")
    wait_for_state(dashboard, ".area=")
    assert dashboard.state()["area"] == f"0..{end}"


def test_keys_are_those_of_the_dialog_that_is_open(
    timed: Callable[[Server], Dashboard], tensorboard: Server
) -> None:
    dashboard = timed(tensorboard)
    keys = dashboard.page.keyboard
    canvas(dashboard, run="ddp", item="kernels:0", range="0..3000000")
    dashboard.shows("details-name")
    dashboard.inside.locator(".timecanvas").focus()
    keys.press("?")
    dashboard.shows("help")
    state = dashboard.state()
    for key in "mxcwg":
        keys.press(key)
    dashboard.page.clock.run_for(2000)  # a camera that moved would be in the address
    assert dashboard.state() == state
    keys.press("Escape")
    expect(dashboard.get("help")).to_have_count(0)
    assert dashboard.state() == state


def test_the_critical_path_is_that_of_the_step(dashboard: Dashboard) -> None:
    steps = result(dashboard, "overview?run=ddp")["steps"]
    step = next(one for one in steps if one["name"] == "ProfilerStep#2")
    with dashboard.page.expect_request(re.compile("/critical\\?")) as asked:
        canvas(dashboard, run="ddp", step=2, critical="1")
    found = dict(re.findall(r"(start_ns|stop_ns)=(-?\d+)", asked.value.url))
    assert int(found["start_ns"]) == step["start_ns"]
    assert int(found["stop_ns"]) == step["start_ns"] + step["duration_ns"]


def test_a_range_of_another_rank(dashboard: Dashboard) -> None:
    """Its time is the ruler's, its links name its trace, and its record keeps the picture."""
    (row,) = dashboard.server.plugin("clock?run=ddp&only=0,1").json["rows"][1:]
    canvas(dashboard, run="ddp", ranks="1", item="kernels:3@1", range="0..3000000")
    name = dashboard.shows("details-name")
    links = result(dashboard, "links?run=ddp&rank=1&table=kernels&index=3")
    start = links["item"]["start_ns"] + (row["shift_ns"] or 0)
    fact = dashboard.get("timeline-details").locator(f'[title="{start / 1000:g} µs"]')
    expect(fact).to_have_count(1, timeout=WAIT_MS)
    href = dashboard.get("to-kernels").get_attribute("href") or ""
    assert "privateuse1.rank=1&" in href
    assert "privateuse1.span=1&" in href
    record = dashboard.get("part-record")
    record.locator("summary").click()
    full = links["item"]["full_name"] or links["item"]["name"]
    expect(record.locator("pre")).to_contain_text(full)
    dashboard.get("to-operator").click()
    expect(name).to_have_text(links["operator"]["name"])
    assert dashboard.state()["item"] == f"ops:{links['operator']['index']}@1"


def test_an_event_of_another_rank_lies_over_the_selected_range(dashboard: Dashboard) -> None:
    canvas(dashboard, run="ddp", item="kernels:0", range="0..3000000", event="kernels/3@1")
    links = result(dashboard, "links?run=ddp&rank=1&table=kernels&index=3")
    expect(dashboard.shows("record-name")).to_have_text(links["item"]["name"])
    expect(dashboard.get("timeline-details")).to_be_hidden()
    dashboard.get("record").get_by_test_id("to-operator").click()
    operator = f"ops/{links['operator']['index']}"
    dashboard.shows("record", event=operator)
    assert dashboard.state()["event"] == f"{operator}@1"
    dashboard.page.keyboard.press("Escape")
    expect(dashboard.get("record")).to_have_count(0)
    dashboard.shows("details-name")
    assert dashboard.state()["item"] == "kernels:0"


def test_the_summary_is_of_a_rank_where_something_is_selected(dashboard: Dashboard) -> None:
    canvas(dashboard, run="ddp", ranks="1")
    expect(dashboard.get("rank-head")).to_have_count(2, timeout=WAIT_MS)
    dashboard.inside.locator(".timecanvas").focus()
    dashboard.page.keyboard.press("x")
    panel = dashboard.shows("area-summary")
    panel.get_by_role("button", name="Rank 1").click()
    expect(panel.get_by_role("button", name="Rank 1")).to_have_attribute("aria-pressed", "true")
    device = dashboard.inside.locator('[data-testid="track"][data-kind="device"]').first
    y = middle(dashboard, device)
    drag(dashboard, (100, y), (600, y))
    expect(panel.get_by_role("button", name="Rank 0")).to_have_attribute("aria-pressed", "true")
    expect(dashboard.get("area-place")).not_to_have_value("")


def test_the_run_picker_keeps_the_focus(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="ddp", view="timeline"))
    picker = dashboard.get("run-picker")
    picker.focus()
    dashboard.page.keyboard.press("Enter")
    dashboard.get("run-picker-search").fill("ml")
    dashboard.page.keyboard.press("Enter")
    dashboard.shows("run-picker", value="mlp")
    settled(dashboard)
    expect(picker).to_be_focused()


def test_a_page_one_came_back_to_stays_however_much_is_asked_for(dashboard: Dashboard) -> None:
    """Answers of a page left before are kept; the last ones only."""
    canvas(dashboard, run="ddp")
    for run in ("mlp", "ddp"):
        dashboard.pick("run", run)
        dashboard.shows("run-picker", value=run)
        dashboard.shows("timeline-canvas")
    settled(dashboard)
    for i in range(27):
        dashboard.page.evaluate(
            """i => { location.hash = location.hash.replace(/&p.privateuse1.item=[^&]*/, "")
                + `&p.privateuse1.item=ops:${i}`; }""",
            i,
        )
        dashboard.shows("details-name")
    settled(dashboard).shows("timeline-canvas")
    dashboard.shows("source-badge", timeline="measured")
