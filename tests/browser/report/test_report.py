"""A report opens from the disk without a network, and has the pages' figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tb_privateuse1 import cli
from tests.support.axe import violations_of
from tests.support.repeats import sampled

EXAMPLES = Path(__file__).parents[3] / "examples" / "runs"
RUNS = ("transformer-inferred", "two-ranks", "without-device-times")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    for run in RUNS:
        assert cli.main(["report", str(EXAMPLES / run), "-o", str(folder / f"{run}.html")]) == 0
    pair = [str(EXAMPLES / name) for name in ("transformer-measured", "transformer-inferred")]
    assert cli.main(["report", *pair, "-o", str(folder / "diff.html")]) == 0
    chinese = [str(EXAMPLES / "two-ranks"), "--language", "zh", "-o", str(folder / "zh.html")]
    assert cli.main(["report", *chinese]) == 0
    return folder


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page without a network, on which nothing may go wrong and nothing may be asked for."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda one: wrong.append(one.url) if one.url[:5] != "file:" else None)
    yield page
    context.close()
    assert wrong == []


def opened(page: Page, file: Path) -> Page:
    page.goto(file.as_uri())
    expect(page.get_by_test_id("part-summary")).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)
    return page


def view(capsys: pytest.CaptureFixture[str], name: str, run: str, *options: str) -> Any:
    capsys.readouterr()
    assert cli.main(["view", name, str(EXAMPLES / run), *options, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", sampled([*RUNS, "diff", "zh"], 3))
def test_nothing_is_objected_to(reports: Path, page: Page, name: str) -> None:
    opened(page, reports / f"{name}.html")
    assert violations_of(page) == []
    page.get_by_test_id("theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert violations_of(page) == []
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_figures_are_those_of_the_views(
    reports: Path, page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    run = "transformer-inferred"
    opened(page, reports / f"{run}.html")
    overview = view(capsys, "overview", run)
    for name in ("average_step_ns", "utilization", "duration_ns"):
        figure = page.get_by_test_id(f"figure-{name}")
        expect(figure).to_have_attribute("data-value", str(overview[name]))
    account = page.get_by_test_id("account-classes")
    for one in overview["account"]["classes"]:
        row = account.locator(f'tr[data-key="{one["name"]}"]')
        expect(row).to_have_attribute("data-value", str(one["ns"]))
        expect(row).to_have_attribute("data-bound", str(one["bound_ns"]))
    for by in ("operator", "kernel", "module", "function"):
        rows = page.get_by_test_id(f"hotspots-{by}").locator("tr[data-key]")
        shown = rows.evaluate_all("all => all.map(row => Number(row.dataset.value))")
        found = view(capsys, "hotspots", run, "--by", by, "--limit", "12")["rows"]
        assert shown == [row["step_ns"] for row in found]
    assert page.get_by_test_id("verdict").inner_text().startswith(overview["verdict"]["sentence"])


def test_findings_are_those_of_the_view(
    reports: Path, page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    opened(page, reports / "two-ranks.html")
    shown = page.get_by_test_id("finding").evaluate_all(
        "all => all.map(one => [one.dataset.key, one.dataset.value])"
    )
    rows = view(capsys, "advice", "two-ranks")["rows"]
    assert shown == [[row["rule"], str(row["saving_ns"] or "")] for row in rows]
    expect(page.get_by_test_id("rank-chart")).to_be_visible()


def test_the_timeline_zooms_within_its_levels(reports: Path, page: Page) -> None:
    opened(page, reports / "two-ranks.html")
    timeline = page.get_by_test_id("timeline")
    canvas = page.get_by_test_id("timeline-canvas")
    expect(timeline).to_have_attribute("data-level", "level-0")
    merged = int(page.get_by_test_id("detail").get_attribute("data-merged") or 0)
    end = int(canvas.get_attribute("data-stop") or 0)
    page.get_by_test_id("verdict-interval").click()
    expect(timeline).not_to_have_attribute("data-level", "level-0")
    assert int(page.get_by_test_id("detail").get_attribute("data-merged") or 0) < merged
    assert int(canvas.get_attribute("data-stop") or 0) < end
    page.locator(".timecanvas").focus()
    start = canvas.get_attribute("data-start") or ""
    page.keyboard.press("w")
    expect(canvas).not_to_have_attribute("data-start", start)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("picked")).to_be_visible()
    page.keyboard.press("0")
    expect(timeline).to_have_attribute("data-level", "level-0")


def test_links_stay_in_the_report(reports: Path, page: Page) -> None:
    opened(page, reports / "two-ranks.html")
    links = page.locator("a[href]").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert links
    assert [one for one in links if not one.startswith("#")] == []
    missing = page.evaluate(
        "() => [...document.querySelectorAll('a[href^=\"#\"]')]"
        ".map(a => a.getAttribute('href').slice(1)).filter(id => !document.getElementById(id))"
    )
    assert missing == []


def test_below_the_title_stands_the_window(
    page: Page, reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run, places in ((RUNS[0], 1), ("diff", 2)):
        opened(page, reports / f"{run}.html")
        lines = page.get_by_test_id("place")
        expect(lines).to_have_count(places)
        result = view(capsys, "overview", RUNS[0] if places == 1 else "transformer-inferred")
        expect(lines.last).to_contain_text(result["provenance"]["window"]["text"])
