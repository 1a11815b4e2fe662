"""The SQL page: a query from the keyboard, its rows, its link, and what is said of mistakes."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.support.dashboard import WAIT_MS, Dashboard


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


def ask(dashboard: Dashboard, query: str) -> None:
    dashboard.get("sql-text").fill(query)
    dashboard.get("sql-run").click()


def test_another_query_has_all_its_columns(dashboard: Dashboard) -> None:
    dashboard.open(view="sql", run="mlp", sql="select 1 as a, 2 as n, 3 as c")
    dashboard.rows("sql")
    dashboard.get("columns").click()
    dashboard.get("column-n").click()
    heads = dashboard.get("table-sql").locator("th[data-column]")
    expect(heads).to_have_count(2)
    link = dashboard.state()
    ask(dashboard, "select 4 as b, 5 as n, 6 as d")
    expect(dashboard.get("table-sql").locator("td[data-column=n]")).to_have_text("5")
    expect(heads).to_have_count(3)
    dashboard.page.go_back()  # the first one is as it was left
    expect(dashboard.get("table-sql").locator("td[data-column=c]")).to_have_text("3")
    expect(heads).to_have_count(2)
    dashboard.open(**link)
    dashboard.rows("sql")
    expect(heads).to_have_count(2)


def test_large_whole_numbers_are_exact(dashboard: Dashboard, tmp_path: Path) -> None:
    large = [9007199254740993, -9007199254740993, 9007199254740992, 5, 10**30]
    values = ", ".join(f"({n}::hugeint)" for n in large)
    dashboard.open(
        view="sql", run="mlp", sql=f"select v, 1 as w, 2 as x from (values {values}) t(v)"
    )
    dashboard.rows("sql")

    def shown() -> list[int]:
        return [int(cells["v"]) for cells in dashboard.rows("sql").values()]

    assert shown() == large
    first = dashboard.get("table-sql").locator("td[data-column=v]").first
    expect(first).to_contain_text("9,007,199,254,740,993")
    head = dashboard.get("table-sql").locator("th[data-column=v] button")
    head.click()
    assert shown() == sorted(large, reverse=True)
    head.click()
    expect(first).to_have_attribute("data-value", str(min(large)))
    assert shown() == sorted(large)
    with dashboard.page.expect_download() as caught:
        dashboard.get("csv").click()
    caught.value.save_as(tmp_path / "sql.csv")
    lines = csv.DictReader((tmp_path / "sql.csv").read_text().splitlines())
    assert [int(line["v"]) for line in lines] == sorted(large)
