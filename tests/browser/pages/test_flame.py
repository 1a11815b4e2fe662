"""The flame graph turned, its ignored frames, and the one of two traces."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.support.dashboard import Dashboard

LEADING = {
    "full_name": None, "kind": "frame", "total_ns": 1000, "self_ns": 0, "calls": 1,
    "window_share": 1.0, "bound_ns": 0, "merged": 0, "merged_ns": 0,
}  # fmt: skip


def result(dashboard: Dashboard, query: str) -> Any:
    return dashboard.server.plugin(query).json


@pytest.fixture(autouse=True)
def forgetful(dashboard: Dashboard) -> Iterator[None]:
    """What a test has the browser store is not there for others."""
    yield
    dashboard.frame.evaluate("localStorage.clear()")


def test_from_own_time_to_the_callers_of_a_frame(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="flame", by="host")
    dashboard.get("group-bottom_up").click()
    answer = result(dashboard, "flame?run=ddp&by=host&direction=bottom_up")
    graph = dashboard.shows("flamegraph", boxes=len(answer["rows"]))
    graph.focus()
    dashboard.page.keyboard.press("ArrowDown")
    most = answer["rows"][0]
    dashboard.shows("flame-details", name=most["name"], value=most["total_ns"])
    expect(dashboard.get("flame-details")).not_to_have_attribute("data-share", "")
    dashboard.get("to-sandwich").click()
    dashboard.shows("sandwich", name=most["name"], value=most["total_ns"])
    middle = result(dashboard, f"flame?run=ddp&by=host&frame={quote(most['name'])}")
    above = dashboard.shows("flamegraph-callers", boxes=len(middle["callers"]))
    above.focus()
    for key in ("ArrowUp", "ArrowUp"):
        dashboard.page.keyboard.press(key)
    caller = middle["callers"][1]["name"]
    dashboard.shows("flamegraph-callers", focus=caller)
    dashboard.page.keyboard.press("Enter")
    dashboard.shows("sandwich", name=caller)
    dashboard.page.go_back()
    dashboard.shows("sandwich", name=most["name"])
    dashboard.get("flamegraph").press("Escape")
    expect(dashboard.get("sandwich")).to_have_count(0)


def test_the_sandwich_of_what_fills_the_width(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="flame", by="host", zoom="Net_0;Linear_0")
    dashboard.shows("flame-details", name="Linear_0")
    dashboard.get("group-sandwich").click()
    dashboard.shows("sandwich", name="Linear_0")
    dashboard.get("group-top_down").click()
    expect(dashboard.get("sandwich")).to_have_count(0)
    expect(dashboard.get("crumbs")).to_have_count(0)


def test_ignored_frames_stay_ignored(dashboard: Dashboard) -> None:
    """In the URL, and on the next visit."""
    dashboard.open(run="ddp", view="flame", by="host")
    whole = result(dashboard, "flame?run=ddp&by=host")
    dashboard.shows("flamegraph", boxes=len(whole["rows"]))
    dashboard.get("ignore").click()
    dashboard.get("ignore-libraries").check()
    dashboard.get("ignore-patterns").fill("Linear_")
    dashboard.get("ignore-patterns").press("Enter")
    answer = result(dashboard, "flame?run=ddp&by=host&ignore_libraries=true&ignore=Linear_")
    assert answer["total_ns"] == whole["total_ns"]
    assert len(answer["rows"]) < len(whole["rows"])
    dashboard.shows("flamegraph", boxes=len(answer["rows"]))
    dashboard.shows("ignore", value=2)
    dashboard.open(run="ddp", view="flame", by="host")
    dashboard.shows("flamegraph", boxes=len(answer["rows"]))
    assert "ignore=Linear_" in dashboard.page.url
    dashboard.get("ignore").click()
    dashboard.get("ignore-nothing").click()
    dashboard.shows("flamegraph", boxes=len(whole["rows"]))
    dashboard.shows("ignore", value=0)


def test_a_box_is_ignored_by_its_name(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="flame", by="host", zoom="Net_0")
    dashboard.shows("flame-details", name="Net_0")
    dashboard.get("ignore-this").click()
    dashboard.shows("ignore", value=1)
    answer = result(dashboard, "flame?run=ddp&by=host&ignore=Net_0")
    dashboard.shows("flamegraph", boxes=len(answer["rows"]))


def test_the_frames_above_are_one_row_that_opens(dashboard: Dashboard) -> None:
    """Of four frames with all of the time the innermost stays."""
    dashboard.open(run="ddp", view="flame", by="host")
    dashboard.frame.wait_for_selector("[data-testid=flamegraph]")
    rows = [{**LEADING, "name": f"f{i}", "parent": i - 1 if i else None} for i in range(4)] + [
        {**LEADING, "name": "g", "parent": 3, "total_ns": 500}
    ]
    answer = result(dashboard, "flame?run=ddp&by=host")
    body = json.dumps({**answer, "rows": rows, "total_ns": 1000})
    dashboard.page.route(
        re.compile(r"/flame\?"),
        lambda route: route.fulfill(body=body, content_type="application/json"),
    )
    dashboard.open(run="ddp", view="flame", by="host", levels="operators")
    graph = dashboard.shows("flamegraph", boxes=5, folded=3)
    graph.focus()
    dashboard.page.keyboard.press("ArrowDown")
    expect(graph).to_have_attribute("data-focus", re.compile("^3 frames above"))
    dashboard.shows("flame-details", name="f2")
    dashboard.page.keyboard.press("Enter")
    dashboard.shows("flamegraph", folded=0)
    dashboard.page.keyboard.press("Escape")
    dashboard.shows("flamegraph", folded=3)
    graph.locator("canvas").click(position={"x": 60, "y": 9})
    dashboard.shows("flamegraph", folded=0)
    dashboard.page.unroute_all()


def test_two_traces_in_one_graph(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="diff", base="mlp", by="host")
    dashboard.get("group-flame").click()
    query = "flame_diff?run=ddp&base_run=mlp&by=host&group=class"
    answer = result(dashboard, query)
    graph = dashboard.shows("flamegraph-diff", boxes=len(answer["rows"]))
    expect(dashboard.get("diff-legend").locator("li")).to_have_count(7)
    graph.focus()
    dashboard.page.keyboard.press("ArrowDown")
    first = answer["rows"][0]
    dashboard.shows("flame-details", name=first["name"], value=first["change_ns"])
    dashboard.page.keyboard.press("Enter")
    inside = result(dashboard, f"{query}&root={quote(first['name'])}")
    dashboard.shows("flamegraph-diff", boxes=len(inside["rows"]))
    expect(dashboard.get("crumbs")).to_contain_text(first["name"])
    dashboard.get("group-now").click()
    expect(dashboard.get("group-now")).to_have_attribute("aria-pressed", "true")
    dashboard.get("group-operators").first.click()
    expect(dashboard.get("table-diff")).to_be_visible()
