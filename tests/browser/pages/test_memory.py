"""The memory page shows the result, and a part of it where one is selected."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.support.dashboard import Dashboard, number

FIGURES = ("peak_bytes", "at_start_bytes", "at_end_bytes", "allocated_bytes", "freed_bytes")


def same(dashboard: Dashboard, query: str) -> None:
    """The figures and the curve are those of a result."""
    now = dashboard.server.plugin(f"memory?{query}").json
    points = len(now["curve"])
    chart = dashboard.shows("memory-chart", points=points)
    window = now["window"]
    assert chart.get_attribute("data-start") == str(now["curve"][0]["time_ns"])
    assert chart.get_attribute("data-end") == str(now["curve"][-1]["time_ns"])
    assert {key: dashboard.figure(key) for key in FIGURES} == {key: window[key] for key in FIGURES}
    assert number(dashboard.value("peak")) == window["peak_bytes"]


def test_memory_is_that_of_the_result(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="memory")
    same(dashboard, "run=mlp")
    now = dashboard.server.plugin("memory?run=mlp").json
    codes = [note["code"] for note in now["notes"]]
    notes = dashboard.get("memory-note").evaluate_all("rows => rows.map(r => r.dataset.code)")
    assert notes == codes == ["memory_grows"]

    dashboard.get("group-steps").click()
    steps = dashboard.rows("memory-steps")
    assert [number(cells["peak_bytes"]) for cells in steps.values()] == [
        step["peak_bytes"] for step in now["steps"]
    ]
    dashboard.get("group-allocations").click()
    rows = dashboard.rows("allocations").values()
    assert [number(cells["allocated_ns"]) for cells in rows] == [
        row["allocated_ns"] for row in now["rows"]
    ]


def test_a_part_is_selected_by_step_or_by_dragging(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="memory", step=11)
    same(dashboard, "run=mlp&step=11")
    dashboard.get("clear-step").click()
    expect(dashboard.get("clear-step")).to_have_count(0)
    same(dashboard, "run=mlp")

    box = dashboard.get("memory-chart").bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    dashboard.page.mouse.move(box["x"] + box["width"] * 0.4, y)
    dashboard.page.mouse.down()
    dashboard.page.mouse.move(box["x"] + box["width"] * 0.9, y, steps=5)
    dashboard.page.mouse.up()
    dashboard.shows("clear-range")
    start, end = dashboard.state()["range"].split("..")
    same(dashboard, f"run=mlp&start_ns={start}&end_ns={end}")
    assert 0 < int(start) < int(end) < 3_000_000


def test_what_memory_is_for(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="memory")
    now = dashboard.server.plugin("memory?run=mlp").json
    dashboard.get("group-category").click()
    dashboard.shows("memory-chart", points=len(now["category_curve"]))
    dashboard.get("group-categories").click()
    rows = dashboard.rows("memory-categories")
    assert {key: number(cells["at_peak_bytes"]) for key, cells in rows.items()} == {
        row["category"]: row["at_peak_bytes"] for row in now["categories"]
    }
    dashboard.get("table-memory-categories").locator("tr[data-key=unknown]").click()
    found = dashboard.rows("allocations").values()
    assert {cells["category"] for cells in found} == {"unknown"}
    assert dashboard.state()["by"] == "category"


def test_a_trace_without_memory_events_says_so(dashboard: Dashboard) -> None:
    dashboard.open(run="host", view="memory")
    expect(dashboard.shows("no-memory", code="no_memory_events")).to_contain_text("profile_memory")


def test_the_life_of_a_row_goes_with_the_row(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="memory", group="allocations")
    dashboard.rows("allocations")
    rows = dashboard.get("table-allocations").locator("tbody tr[data-key]")
    band = dashboard.get("memory-chart").locator("rect.band")
    rows.first.click()
    expect(band).to_have_count(1)
    dashboard.get("group-steps").click()
    expect(dashboard.get("table-memory-steps")).to_be_visible()
    expect(band).to_have_count(0)
    dashboard.get("group-allocations").click()
    rows.nth(1).click()
    expect(band).to_have_count(1)
    dashboard.pick("step", 12)
    same(dashboard, "run=mlp&step=12")
    expect(band).to_have_count(0)
    expect(dashboard.get("table-allocations").locator("tr.selected")).to_have_count(0)


def test_what_was_not_released_follows_the_part(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="memory", group="remaining")
    for query in ("run=mlp", "run=mlp&step=11"):
        rows = dashboard.server.plugin(f"memory?{query}").json["remaining_functions"]
        dashboard.shows("table-memory-remaining", rows=len(rows))
        cells = dashboard.get("table-memory-remaining").locator(
            'tr[data-key] td[data-column="bytes"]'
        )
        expect(cells.first).to_have_attribute("data-value", str(rows[0]["bytes"]))
        dashboard.pick("step", 11)
    dashboard.get("group-remaining_modules").click()
    dashboard.shows("table-memory-remaining")
    assert dashboard.state()["group"] == "remaining_modules"


def test_what_changed_over_the_part(dashboard: Dashboard) -> None:
    """The tab compares the start and the end of the part, by three kinds of rows."""
    dashboard.open(run="mlp", view="memory", group="change_functions", step=11)
    answer = dashboard.server.plugin("memory?run=mlp&step=11").json["difference"]
    assert answer["functions"]
    for by in ("functions", "modules", "categories"):
        dashboard.get(f"group-change_{by}").last.click()
        table = dashboard.shows("table-memory-change", rows=len(answer[by]))
        cells = table.locator('tr[data-key] td[data-column="change_bytes"]')
        expect(cells.first).to_have_attribute("data-value", str(answer[by][0]["change_bytes"]))
