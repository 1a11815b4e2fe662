"""All recordings of a logdir on one page: their trend, what changed it, two side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support import make, trace_files
from tests.support.dashboard import Dashboard
from tests.support.server import Server, serve
from tests.support.web import until

LENGTHS_MS = (1.0, 1.01, 0.99, 1.0, 1.3, 1.31, 1.29, 1.3)
DAY_S = 86_400


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight nightly runs, the last four slower, and one that cannot be read."""
    folder = tmp_path_factory.mktemp("nightly")
    for night, length_ms in enumerate(LENGTHS_MS):
        events: list[make.Event] = []
        for step in range(2):
            at = 100 + 1000 * length_ms * step
            events += [
                make.step(step, at, at + 1000 * length_ms),
                make.op("aten::mm", at + 10, at + 90),
            ]
        path = folder / f"night{night}" / "host_0.1.pt.trace.json"
        trace_files.write(path, make.document(*events))
        at_s = 1_790_000_000 + DAY_S * night
        os.utime(path, (at_s, at_s))
    broken = folder / "broken" / "host_0.1.pt.trace.json"
    broken.parent.mkdir()
    broken.write_text("{")
    return folder


@pytest.fixture(scope="module")
def nightly(log: Path) -> Iterator[Server]:
    with serve("--logdir", log) as server:
        until(lambda: len(server.plugin("runs").json["runs"]) == len(LENGTHS_MS) + 1)
        server.plugin("history")  # reads all traces
        yield server


@pytest.fixture
def page(visit: Callable[[Server], Dashboard], nightly: Server) -> Dashboard:
    dashboard = visit(nightly).open(run="night0", view="history")
    dashboard.rows("history")
    return dashboard


def test_a_change_leads_to_the_diff(page: Dashboard) -> None:
    change = page.get("changes").locator("li")
    expect(change).to_contain_text("Step time +30.0 % from night4")
    change.get_by_role("link").click()
    page.get("page-diff").wait_for()
    state = page.state()
    assert (state["run"], state["base"]) == ("night4", "night3")


def test_the_chart_has_a_point_for_each(page: Dashboard) -> None:
    points = page.get("trend").locator("circle")
    expect(points).to_have_count(len(LENGTHS_MS))
    assert page.get("trend").get_attribute("data-levels") == "2"
    label = page.get("trend").get_by_role("group").get_attribute("aria-label") or ""
    assert "9 recordings in order of time. Changes: night4 +30.0 %." in label


def test_keys_pick_recordings(page: Dashboard) -> None:
    page.get("trend").get_by_role("group").focus()
    for key in ("End", "Enter", "ArrowLeft", "Enter"):
        page.page.keyboard.press(key)
    expect(page.get("trend").get_by_role("status")).to_contain_text("night6, span 1: 1.29 ms")
    expect(page.get("picked")).to_contain_text("night7, span 1 and night6, span 1")
    expect(page.get("table-history").locator("tr.selected")).to_have_count(2)


def test_two_recordings_are_compared(page: Dashboard) -> None:
    for run in ("night6", "night1"):
        page.get("trend").locator(f"circle[data-key='{run}/1']").click()
    page.get("compare").click()
    page.get("page-diff").wait_for()
    state = page.state()
    # The older one is the base, whatever was picked first.
    assert (state["run"], state["base"]) == ("night6", "night1")


def test_what_cannot_be_read_says_why(page: Dashboard) -> None:
    rows = page.rows("history")
    assert rows["broken/1"]["step_ns"] == ""
    assert rows["broken/1"]["verdict"]


def test_names_choose_runs(page: Dashboard) -> None:
    box = page.get("matching")
    box.fill("night7")
    box.press("Enter")
    page.shows("table-history", rows=1)
    assert page.state()["matching"] == "night7"


def test_a_name_leads_to_the_run(page: Dashboard) -> None:
    page.inside.get_by_role("link", name="night2", exact=True).click()
    page.get("page-overview").wait_for()
    assert page.state()["run"] == "night2"
