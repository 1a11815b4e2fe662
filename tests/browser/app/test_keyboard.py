"""Without a mouse: Tab reaches all there is, one sees where it is, and what opens closes again."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.axe import settled
from tests.support.dashboard import Dashboard
from tests.support.page_states import PAGES
from tests.support.repeats import sampled

MOST_TABS = 400

_CAN_FOCUS = """() => {
    const seen = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest("[inert]");
    window.reachable = new Set([...document.querySelectorAll(
        'a[href], button, input, select, textarea, summary, [tabindex]')].filter(
        (e) => !e.disabled && e.tabIndex >= 0 && seen(e)));
}"""
_VISIT = """() => {
    const at = document.activeElement;
    if (!at || at === document.body || !document.hasFocus()) return null;
    window.reachable.delete(at);
    const outlined = (e) => e && getComputedStyle(e).outlineStyle !== "none";
    return outlined(at) || outlined(at.parentElement) ? "" : at.outerHTML.slice(0, 200);
}"""
_LEFT = "() => [...window.reachable].map((e) => e.outerHTML.slice(0, 200))"

_MOUSE_ONLY = """() => [...document.querySelectorAll("main *, header *, nav *")].filter((e) =>
    getComputedStyle(e).cursor === "pointer" &&
    getComputedStyle(e.parentElement).cursor !== "pointer" &&
    !e.closest("a[href], button, label, summary, [tabindex='0']")
).map((e) => e.outerHTML.slice(0, 200))"""
"""Rows of a table lie in what has the focus, as do the canvases of charts."""


@pytest.mark.parametrize("run", sampled(["ddp", "mlp"]))
def test_tab_reaches_everything_and_shows_where_it_is(dashboard: Dashboard, run: str) -> None:
    dashboard.open(run=run, base="ddp")
    for name in PAGES:
        dashboard.go_to(name)
        dashboard.shows(f"page-{name}")
        settled(dashboard)
        frame = dashboard.frame
        dashboard.get("skip").focus()
        for key in ("Tab", "Shift+Tab"):  # so that it is the keyboard that has moved
            dashboard.page.keyboard.press(key)
        frame.evaluate(_CAN_FOCUS)
        unseen = []
        for _ in range(MOST_TABS):
            where = frame.evaluate(_VISIT)
            if where is None:
                break
            if where:
                unseen.append(where)
            dashboard.page.keyboard.press("Tab")
        assert unseen == [], f"nobody sees the focus there, on {name}"
        assert frame.evaluate(_LEFT) == [], f"not reached on {name}"
        assert frame.evaluate(_MOUSE_ONLY) == [], f"for a mouse only, on {name}"


@pytest.mark.parametrize(
    ("where", "opener", "panel"),
    [
        ({}, "help-open", "help"),
        ({}, "run-picker", "run-picker-panel"),
        ({}, "step-picker", "step-picker-panel"),
        ({}, "source-badge", "source-badge-panel"),
        ({}, "findings-badge", "findings-badge-panel"),
        ({"view": "operators"}, "columns", "columns-panel"),
        ({"view": "timeline"}, "export", "export-panel"),
        ({"view": "recording"}, "example", "record"),
    ],
)
def test_escape_closes_and_gives_the_focus_back(
    dashboard: Dashboard, where: dict[str, Any], opener: str, panel: str
) -> None:
    settled(dashboard.open(run="mlp", **where))
    button = dashboard.get(opener).first
    button.focus()
    dashboard.page.keyboard.press("Enter")
    dashboard.shows(panel)
    dashboard.page.keyboard.press("Escape")
    expect(dashboard.get(panel)).to_have_count(0)
    expect(button).to_be_focused()


def test_a_button_that_closes_gives_the_focus_back(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="ddp", view="kernels"))
    dashboard.get("table-kernels").get_by_role("grid").focus()
    for key in ("ArrowDown", "Enter"):
        dashboard.page.keyboard.press(key)
    record = dashboard.shows("typical").get_by_test_id("to-operator")
    record.focus()
    dashboard.page.keyboard.press("Enter")
    close = dashboard.shows("record").get_by_test_id("record-close")
    close.focus()
    dashboard.page.keyboard.press("Enter")
    expect(dashboard.get("record")).to_have_count(0)
    expect(record).to_be_focused()
    dashboard.page.keyboard.press("Escape")
    expect(dashboard.get("instances")).to_have_count(0)
    expect(dashboard.get("table-kernels").get_by_role("grid")).to_be_focused()
    drill = dashboard.get("drill").first
    drill.focus()
    dashboard.page.keyboard.press("Enter")
    dashboard.shows("table-instances").get_by_role("grid").focus()
    dashboard.page.keyboard.press("Escape")
    expect(dashboard.get("instances")).to_have_count(0)
    expect(drill).to_be_focused()


def test_the_timeline_by_arrows(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="ddp", view="timeline"))
    dashboard.inside.locator(".timecanvas").focus()
    keys = dashboard.page.keyboard
    keys.press("ArrowRight")
    name, told = dashboard.shows("details-name"), dashboard.get("timeline-told")
    expect(name).to_have_text("ProfilerStep#0")
    expect(told).to_have_text("ProfilerStep#0, 1.00 ms, at 0 ns")
    keys.press("ArrowRight")
    expect(name).to_have_text("ProfilerStep#1")
    keys.press("ArrowDown")
    expect(name).to_have_text("GEMM 0")
    assert dashboard.state()["item"] == "kernels:8"
    keys.press("ArrowRight")
    expect(name).to_have_text("GEMM 1")
    keys.press("ArrowUp")
    expect(name).to_have_text("ProfilerStep#1")
    keys.press("x")
    dashboard.shows("area-summary")
    keys.press("Escape")
    expect(dashboard.get("area-summary")).to_have_count(0)
    expect(dashboard.get("timeline-details")).to_have_count(0)


def test_arrows_walk_the_timeline_while_nothing_has_the_focus(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="ddp", view="timeline"))
    dashboard.page.keyboard.press("ArrowRight")
    expect(dashboard.shows("details-name")).to_have_text("ProfilerStep#0")
    dashboard.page.keyboard.press("ArrowRight")
    expect(dashboard.get("details-name")).to_have_text("ProfilerStep#1")


def test_escape_leaves_a_filter_to_where_the_focus_was(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="ddp", view="kernels"))
    grid = dashboard.get("table-kernels").get_by_role("grid")
    grid.focus()
    dashboard.page.keyboard.press("/")
    expect(dashboard.get("filter")).to_be_focused()
    dashboard.page.keyboard.press("Escape")
    expect(grid).to_be_focused()
    settled(dashboard.open(run="ddp", view="timeline"))
    tracks = dashboard.inside.locator(".timecanvas")
    tracks.focus()
    dashboard.page.keyboard.press("/")
    expect(dashboard.get("timeline-search")).to_be_focused()
    dashboard.page.keyboard.press("Escape")
    expect(tracks).to_be_focused()


def test_charts_by_keys(dashboard: Dashboard) -> None:
    """A bar is told as it is reached, and chosen; the table beside has the same in words."""
    settled(dashboard.open(run="ddp"))
    dashboard.get("step-chart").locator("svg").focus()
    for _ in range(2):
        dashboard.page.keyboard.press("ArrowRight")
    told = dashboard.shows("step-tooltip")
    expect(told).to_have_attribute("role", "status")
    expect(told).to_contain_text("Step 1")
    dashboard.page.keyboard.press("Enter")
    dashboard.shows("clear-step")
    assert dashboard.state()["step"] == "1"
