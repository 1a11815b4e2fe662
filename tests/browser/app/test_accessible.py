"""Everything for those who do not see the page, or use no mouse: names, contrast, the keyboard."""

from __future__ import annotations

import pytest

from tests.support.axe import settled, violations
from tests.support.dashboard import Dashboard
from tests.support.page_states import PAGES, STATES


@pytest.mark.parametrize("run", ["ddp", "mlp", "host"])
def test_no_page_is_objected_to(dashboard: Dashboard, run: str) -> None:
    dashboard.open(run=run, base="mlp" if run == "ddp" else "ddp")
    found: dict[str, list[str]] = {}
    rail = dashboard.inside.locator("nav.rail a").evaluate_all(
        "all => all.map(a => a.dataset.testid)"
    )
    assert rail == [f"rail-{name}" for name in PAGES]
    for name in PAGES:
        dashboard.get(f"rail-{name}").click()
        dashboard.shows(f"page-{name}")
        if said := violations(dashboard):
            found[name] = said
    assert found == {}


@pytest.mark.parametrize("state", STATES)
def test_nothing_that_opens_is_objected_to(dashboard: Dashboard, state: str) -> None:
    dashboard.watch.expected.append("status of 4")
    where, open_it = STATES[state]
    settled(dashboard.open(**dict(word.split("=") for word in where.split())))
    open_it(dashboard)
    assert violations(dashboard) == []


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
