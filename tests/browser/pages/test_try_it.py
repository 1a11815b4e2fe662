"""A change is tried where it is offered, and gains what the what-if of it gains."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.pages.test_advice import advised  # noqa: F401
from tests.support.axe import settled
from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.server import Server

OPENED = {
    "issue": ("overview", lambda d: d.get("best").locator("li").first),
    "class": (
        "overview",
        lambda d: d.get("account-open-kernel").click() or d.get("account-details-kernel"),
    ),
    "operator": (
        "operators",
        lambda d: (
            d.get("table-operators").locator("tbody tr[data-key]").first.click()
            or d.get("instances")
        ),
    ),
    "kernel": (
        "kernels",
        lambda d: (
            d.get("table-kernels").locator("tbody tr[data-key]").first.click() or d.get("instances")
        ),
    ),
}


def gain_of(server: Server, change: str) -> str:
    query = f"whatif?run=faulty&ranking=false&changes={quote(change)}"
    return str(server.plugin(query).json["gain_ns"])


@pytest.mark.parametrize("what", list(OPENED))
def test_what_is_tried_gains_what_the_what_if_says(
    visit: Callable[[Server], Dashboard],
    advised: Server,  # noqa: F811
    what: str,
) -> None:
    view, opened = OPENED[what]
    dashboard = visit(advised).open(run="faulty", view=view)
    settled(dashboard)
    place: Locator = opened(dashboard)
    offered = place.get_by_test_id("try-it").first
    change = offered.get_attribute("data-change") or ""
    offered.get_by_test_id("try").click()
    tried = place.get_by_test_id("tried").first
    expect(tried).to_have_attribute("data-value", gain_of(advised, change), timeout=WAIT_MS)
    tried.get_by_test_id("try-more").click()
    dashboard.shows("page-whatif")
    assert dashboard.state()["changes"] == change


def test_the_account_has_the_critical_path_of_the_what_if(
    visit: Callable[[Server], Dashboard],
    advised: Server,  # noqa: F811
) -> None:
    dashboard = visit(advised).open(run="faulty")
    path = advised.plugin("whatif?run=faulty&ranking=false").json["classes"]
    settled(dashboard)
    dashboard.get("account-small").click()
    dashboard.drawn()
    for one in path:
        cell = dashboard.get(f"account-path-{one['name']}")
        if cell.count():  # a class of the path that has no time of the account has no row
            expect(cell).to_have_attribute("data-value", str(one["path_ns"]), timeout=WAIT_MS)


def test_the_tour_is_closed_for_ever(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="mlp"))
    dashboard.get("tour-start").click()
    for step in range(1, 6):
        dashboard.shows("tour", value=step)
        expect(dashboard.inside.locator("[data-toured]")).to_have_count(1)
        dashboard.get("tour-next").click()
    expect(dashboard.get("tour")).to_have_count(0)
    dashboard.page.reload()
    settled(dashboard)
    expect(dashboard.get("tour-offer")).to_have_count(0)
    dashboard.get("help-open").click()
    dashboard.get("help-tour").click()
    dashboard.shows("tour", value=1)
    dashboard.page.keyboard.press("Escape")
    expect(dashboard.get("tour")).to_have_count(0)
