"""The page on runtime calls: the figures of its view, and the ways to single calls."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.support.dashboard import Dashboard, number


def test_rows_have_the_figures_of_the_view(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="runtime")
    result = dashboard.server.plugin("runtime?run=ddp").json
    dashboard.shows("table-runtime", rows=len(result["rows"]))
    shown = dashboard.rows("runtime")
    for row in result["rows"]:
        for name in ("calls", "total_ns", "share"):
            assert number(shown[row["name"]][name]) == row[name], name
    dashboard.pick("step", 1)
    only = dashboard.server.plugin("runtime?run=ddp&step=1").json["rows"][0]
    cell = dashboard.get("table-runtime").locator('tr[data-key] td[data-column="calls"]').first
    expect(cell).to_have_attribute("data-value", str(only["calls"]))


def test_a_row_and_its_links_open_single_calls(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="runtime")
    row = dashboard.server.plugin("runtime?run=ddp").json["rows"][0]
    dashboard.rows("runtime")
    table = dashboard.get("table-runtime")
    table.locator('tr[data-key] td[data-column="total_ns"]').first.click()
    record = dashboard.shows("record", event=f"launches/{row['typical_row']}")
    expect(dashboard.get("record-name")).to_contain_text(row["name"])
    dashboard.page.keyboard.press("Escape")
    expect(record).to_have_count(0)
    dashboard.get("call-record").nth(1).click()
    dashboard.shows("record", event=f"launches/{row['longest_row']}")


def test_a_recording_without_calls_says_so(dashboard: Dashboard) -> None:
    dashboard.open(run="host", view="runtime")
    dashboard.shows("no-calls")
    expect(dashboard.get("table-runtime")).to_have_count(0)
