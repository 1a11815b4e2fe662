"""Everything for those who do not see the page, or use no mouse: names, contrast, the keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.axe import settled, violations
from tests.support.dashboard import Dashboard
from tests.support.page_states import PAGES, each_page, each_state
from tests.support.repeats import sampled


@pytest.mark.long
@pytest.mark.parametrize("run", sampled(["ddp", "mlp"]))
def test_no_page_is_objected_to(dashboard: Dashboard, run: str) -> None:
    pages = each_page(dashboard, run, base="mlp" if run == "ddp" else "ddp")
    assert {name: said for name in pages if (said := violations(dashboard))} == {}


@pytest.mark.long
@pytest.mark.exhaustive
def test_nothing_that_opens_is_objected_to(dashboard: Dashboard) -> None:
    states = each_state(dashboard)
    assert {name: said for name in states if (said := violations(dashboard))} == {}


def shown(dashboard: Dashboard, where: str) -> list[str]:
    """Return the test ids of some links."""
    links = dashboard.inside.locator(where)
    names: list[str] = links.evaluate_all("all => all.map(a => a.dataset.testid)")
    return names


def test_the_rail_has_an_entry_for_all_that_was_recorded(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="ddp"))
    dashboard.shows("rail-sql")  # once the server has said that it answers
    assert dashboard.value("absent") == "memory"
    entries = ["summary", "timeline", "time", "ranks", "compare", "sql"]
    assert shown(dashboard, "nav.rail .entries a") == [f"rail-{name}" for name in entries]
    dashboard.go_to("operators")
    rows = ["tab-operators", "tab-kernels", "tab-calls", "tab-modules", "tab-functions"]
    assert shown(dashboard, ".page-tabs a") == [*rows, "as-table", "as-flame", "as-roofline"]


def test_every_page_has_an_entry(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="ddp"))
    for name in PAGES:
        dashboard.go_to(name)
        dashboard.shows(f"page-{name}")


def test_an_unknown_page_is_named(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="nothing_like_it")
    expect(dashboard.shows("unknown-page")).to_contain_text("nothing_like_it")
    dashboard.shows("page-overview")


def test_the_first_issue_is_ten_stops_away(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="ddp"))
    dashboard.frame.evaluate("() => document.body.focus()")
    dashboard.get("skip").focus()
    dashboard.page.keyboard.press("Enter")
    expect(dashboard.inside.locator("main")).to_be_focused()
    inside = "() => document.activeElement.closest('[data-testid=best]') !== null"
    stops = 2  # the link, and Enter
    while not dashboard.frame.evaluate(inside):
        assert (stops := stops + 1) <= 10
        dashboard.page.keyboard.press("Tab")


def test_the_check_finds(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="host", view="sql"))
    dashboard.frame.evaluate(
        """() => {
        const wrong = document.createElement("p");
        wrong.innerHTML = '<img src="data:,"><span style="color: #44474b">seen by day only</span>';
        document.querySelector("main").append(wrong);
    }"""
    )
    found = violations(dashboard)
    assert [line.split(":")[:2] for line in found] == [
        ["light", " critical image-alt"],
        ["dark", " serious color-contrast"],
    ]
