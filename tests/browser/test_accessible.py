"""Everything for those who do not see the page, or use no mouse: names, contrast, the keyboard."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.axe import settled, violations
from tests.support.dashboard import Dashboard

PAGES = (
    "overview", "advice", "whatif", "timeline", "operators", "kernels", "memory", "modules",
    "flame", "distributed", "diff", "quality", "method", "sql", "about",
)  # fmt: skip


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


Open = Callable[[Dashboard], object]


def pressing(testid: str) -> Open:
    return lambda d: d.get(testid).first.click()


def showing(testid: str) -> Open:
    return lambda d: d.shows(testid)


def listing(table: str) -> Open:
    return lambda d: d.rows(table)


def first_row(table: str) -> Open:
    return lambda d: d.get(f"table-{table}").locator("tbody tr[data-key]").first.click()


STATES: dict[str, tuple[str, Open]] = {
    "keys": ("run=ddp", pressing("help-open")),
    "record": ("run=ddp view=kernels event=kernels/0", showing("record-name")),
    "run picker": ("run=ddp", pressing("run-picker")),
    "step picker": ("run=ddp", pressing("step-picker")),
    "source": ("run=mlp", pressing("source-badge")),
    "findings": ("run=mlp", pressing("findings-badge")),
    "columns": ("run=ddp view=operators", pressing("columns")),
    "filter error": ("run=ddp view=operators", lambda d: d.get("filter").fill("calls > many")),
    "no rows": ("run=ddp view=operators filter=nothing_like_it", showing("no-rows")),
    "activities": ("run=ddp view=kernels", pressing("drill")),
    "stack": ("run=ddp view=operators group=stack", first_row("operators")),
    "range": ("run=ddp view=timeline item=kernels:3", showing("details-name")),
    "export": ("run=ddp view=timeline", pressing("export")),
    "collectives": ("run=ddp view=distributed group=collectives", listing("collectives")),
    "steps of ranks": ("run=ddp view=distributed group=steps", listing("rank-steps")),
    "changed modules": ("run=ddp view=diff base=ddp baserank=1 group=modules", listing("diff")),
    "changed memory": ("run=ddp view=diff base=mlp group=memory", listing("diff-memory")),
    "changed steps": ("run=ddp view=diff base=mlp group=steps", listing("diff-steps")),
    "allocations": ("run=mlp view=memory group=allocations", listing("allocations")),
    "unreadable": ("run=unreadable", showing("error")),
    "unknown run": ("run=nowhere", showing("error")),
}


@pytest.mark.parametrize("state", STATES)
def test_nothing_that_opens_is_objected_to(dashboard: Dashboard, state: str) -> None:
    dashboard.watch.expected.append("status of 4")
    where, open_it = STATES[state]
    settled(dashboard.open(**dict(word.split("=") for word in where.split())))
    open_it(dashboard)
    assert violations(dashboard) == []


def test_the_check_finds(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="host", view="about"))
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
