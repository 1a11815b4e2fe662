"""The SQL page: a query from the keyboard, its rows, its link, and what is said of mistakes."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.browser.dashboard import WAIT_MS, Dashboard


def result(dashboard: Dashboard, query: str) -> Any:
    return dashboard.server.plugin(query).json


def test_a_query_and_its_link(dashboard: Dashboard) -> None:
    dashboard.open(view="sql", run="mlp")
    box = dashboard.get("sql-text")
    expect(box).to_be_visible(timeout=WAIT_MS)
    expect(dashboard.get("sql-empty")).to_be_visible()
    box.fill("select count(*) as n, '<b>x' as text, true as yes from ops")
    box.press("Control+Enter")
    table = dashboard.get("table-sql")
    expect(table).to_have_attribute("data-rows", "1", timeout=WAIT_MS)
    wanted = result(dashboard, "sql?run=mlp&query=select%20count(*)%20from%20ops")["rows"][0][0]
    expect(table.locator("td[data-column=n]")).to_have_attribute("data-value", str(wanted))
    expect(table.locator("td[data-column=text]")).to_have_text("<b>x")
    expect(table.locator("td[data-column=yes]")).to_have_text("true")
    query = dashboard.state()["sql"]
    dashboard.open(view="sql", run="mlp", sql=query)
    expect(table.locator("td[data-column=n]")).to_have_attribute(
        "data-value", str(wanted), timeout=WAIT_MS
    )
    expect(box).to_have_value(query)


def test_columns_are_put_into_the_query(dashboard: Dashboard) -> None:
    dashboard.open(view="sql", run="mlp")
    dashboard.get("sql-text").fill("select ")
    tables = dashboard.get("sql-tables")
    tables.locator("summary", has_text="steps").click()
    tables.locator("[data-column='steps.duration_ns']").click()
    expect(dashboard.get("sql-text")).to_have_value("select duration_ns")


def test_a_mistake_is_told_in_words(dashboard: Dashboard) -> None:
    dashboard.watch.expected.append("the server responded with a status of 422")
    dashboard.open(view="sql", run="mlp", sql="copy ops to '/tmp/x'")
    error = dashboard.get("error")
    expect(error).to_have_attribute("data-code", "sql_error", timeout=WAIT_MS)
    expect(error).to_contain_text("not COPY")
    expect(dashboard.get("sql-text")).to_have_value("copy ops to '/tmp/x'")
