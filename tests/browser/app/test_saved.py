"""Every table of every page can be saved as CSV, and every chart as PNG."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.support.axe import settled
from tests.support.dashboard import Dashboard
from tests.support.page_states import PAGES

_WITHOUT = """() => {
    const inside = ".tooltip, [aria-hidden=true], button, a, .mark";
    const around = { csv: ".table, .withcsv, section",
        png: ".stackedbars, .areachart, .histogram, .heatmap, .timeline, .flame, .trendchart" };
    const shown = (e) => e.checkVisibility() && !e.closest(inside);
    const beside = (e, what) =>
        e.closest(around[what])?.querySelector(`[data-testid^="${what}"]`);
    const all = (names) => [...document.querySelectorAll(names)].filter(shown);
    const missing = (names, what) => all(names).filter((e) => !beside(e, what)).map(
        (e) => `${what}: ${e.outerHTML.slice(0, 120)}`);
    return [...missing("main table", "csv"), ...missing("main svg[width], main canvas", "png")];
}"""
"""Charts have a width of their own; icons have none."""

_CATCH = """() => {
    const offered = URL.createObjectURL;
    URL.createObjectURL = (blob) => {
        blob.text().then((text) => { window.saved = text; });
        return offered.call(URL, blob);
    };
    HTMLAnchorElement.prototype.click = () => undefined;
}"""
"""Chromium asks before it lets a page save more than ten files; other tests do save one."""


@pytest.mark.parametrize("run", ["ddp", "mlp"])
def test_nothing_is_without(dashboard: Dashboard, run: str) -> None:
    settled(dashboard.open(run=run, base="ddp"))
    dashboard.frame.evaluate(_CATCH)
    for name in PAGES:
        dashboard.go_to(name)
        dashboard.shows(f"page-{name}")
        settled(dashboard)
        if dashboard.get("all-rules").count():
            dashboard.get("all-rules").click()
        assert dashboard.frame.evaluate(_WITHOUT) == [], name
        for button in dashboard.inside.locator('main [data-testid^="csv"]:visible').all():
            dashboard.frame.evaluate("window.saved = null")
            button.click()
            dashboard.frame.wait_for_function("window.saved !== null")
            told = dashboard.frame.evaluate("window.saved")
            names, *rows = csv.reader(told.splitlines())
            assert len(set(names)) == len(names) > 1
            assert {len(row) for row in rows} <= {len(names)}
            assert "[object Object]" not in told


def test_the_search_finds_a_table_and_a_chart_without(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="host", view="recording"))
    dashboard.frame.evaluate(
        """() => document.querySelector("main").insertAdjacentHTML("beforeend",
            "<table><tbody><tr><td>x</td></tr></tbody></table><svg width=9 height=9></svg>")"""
    )
    found = dashboard.frame.evaluate(_WITHOUT)
    assert [line.partition(":")[0] for line in found] == ["csv", "png"]


@pytest.mark.parametrize(
    ("where", "chart"),
    [
        ({"view": "overview"}, "png-steps"),
        ({"view": "timeline"}, "png-timeline"),
        ({"view": "flame"}, "png"),
        ({"view": "distributed"}, "png-ranks"),
        ({"view": "distributed"}, "png-rank-grid"),
        ({"view": "history"}, "png-runs"),
    ],
)
def test_a_chart_is_a_picture(dashboard: Dashboard, where: dict[str, str], chart: str) -> None:
    settled(dashboard.open(run="ddp", **where))
    with dashboard.page.expect_download() as saved:
        dashboard.get(chart).click()
    data = Path(saved.value.path()).read_bytes()
    assert data.startswith(b"\x89PNG")
    assert len(data) > 2_000


@pytest.mark.parametrize(("view", "chart"), [("overview", "png-steps"), ("flame", "png")])
def test_a_picture_says_what_time_it_is_of(dashboard: Dashboard, view: str, chart: str) -> None:
    settled(dashboard.open(run="ddp", view=view))
    dashboard.frame.evaluate(
        """() => {
            const write = CanvasRenderingContext2D.prototype.fillText;
            window.written = [];
            CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
                window.written.push(text);
                return write.call(this, text, ...at);
            };
        }"""
    )
    with dashboard.page.expect_download():
        dashboard.get(chart).click()
    answer = dashboard.server.plugin(f"{view}?run=ddp").json
    window = answer["provenance"]["window"]["text"]
    assert any(window in text for text in dashboard.frame.evaluate("window.written"))
