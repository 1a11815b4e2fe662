"""Everything for those who do not see the page, or use no mouse: names, contrast, the keyboard."""

from __future__ import annotations

import pytest

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


def test_the_rail_has_all_pages(dashboard: Dashboard) -> None:
    rail = dashboard.open(run="ddp").inside.locator("nav.rail a")
    names = rail.evaluate_all("all => all.map(a => a.dataset.testid)")
    assert names == [f"rail-{name}" for name in PAGES]


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
