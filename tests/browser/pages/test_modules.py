"""The module tree and the flame graph: figures, keys, search, zoom and links."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.support.dashboard import Dashboard, number

FIGURES = ("share", "device_total_ns", "device_self_ns", "host_total_ns", "host_self_ns", "calls",
           "kernels")  # fmt: skip


def result(dashboard: Dashboard, query: str) -> Any:
    return dashboard.server.plugin(query).json


def test_the_tree_is_that_of_the_result(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="modules", group="instance")
    rows = dashboard.rows("modules")
    told = {r["path"]: r for r in result(dashboard, "modules?run=ddp")["rows"]}
    assert list(rows) == ["Net_0", "Net_0 / Linear_0", "Net_0 / Linear_1"] == list(told)
    for path, row in told.items():
        assert {k: number(rows[path][k]) for k in FIGURES} == {k: row[k] for k in FIGURES}
    outside = result(dashboard, "modules?run=ddp")["outside_device_ns"]
    assert float(dashboard.value("outside")) == outside > 0


def test_rows_open_and_close_by_mouse_and_keys(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="modules", group="instance")
    table = dashboard.get("table-modules")
    dashboard.rows("modules")
    dashboard.get("twist").click()
    expect(table).to_have_attribute("data-shown", "1")
    table.get_by_role("treegrid").focus()
    for key in ("ArrowDown", "ArrowRight"):
        dashboard.page.keyboard.press(key)
    expect(table).to_have_attribute("data-shown", "3")
    dashboard.page.keyboard.press("ArrowRight")  # to the first child
    dashboard.page.keyboard.press("Enter")
    chosen = table.locator("tr.selected")
    expect(chosen).to_have_attribute("data-key", "Net_0 / Linear_0")
    assert dashboard.state()["selected"] == "Net_0 / Linear_0"
    for key in ("ArrowLeft", "ArrowLeft"):  # to the row around, and close that
        dashboard.page.keyboard.press(key)
    expect(table).to_have_attribute("data-shown", "1")
    dashboard.get("filter").fill("linear_1")  # what is found is shown where it is
    expect(table).to_have_attribute("data-shown", "2")
    dashboard.open(run="ddp", view="modules", group="instance", selected="Net_0 / Linear_1")
    expect(dashboard.get("table-modules").locator("tr.selected")).to_be_visible()


def test_a_filter_opens_what_it_finds(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="modules", group="instance")
    dashboard.rows("modules")
    dashboard.get("close-all").click()
    table = dashboard.get("table-modules")
    net = table.locator('tr[data-key="Net_0"]')
    expect(net).to_have_attribute("aria-expanded", "false")
    expect(net.get_by_test_id("twist")).to_have_text("▸")
    dashboard.get("filter").fill("linear_1")
    expect(table).to_have_attribute("data-shown", "2")
    expect(net).to_have_attribute("aria-expanded", "true")
    expect(net.get_by_test_id("twist")).to_have_text("▾")
    for name in ("twist", "open-all", "close-all"):
        expect(dashboard.get(name)).to_be_disabled()
        expect(dashboard.get(name)).to_have_attribute("title", re.compile("filter"))
    dashboard.get("filter").fill("net_0")  # nothing inside is found: there is nothing to open
    expect(table).to_have_attribute("data-shown", "1")
    expect(net.get_by_test_id("twist")).to_have_count(0)
    assert net.get_attribute("aria-expanded") is None
    dashboard.get("filter").fill("")
    expect(net.get_by_test_id("twist")).to_have_text("▸")
    expect(dashboard.get("close-all")).to_be_enabled()


def test_modules_as_csv_are_told_apart_by_their_paths(dashboard: Dashboard, tmp_path: Path) -> None:
    dashboard.open(run="ddp", view="modules", group="instance", sort="name")
    dashboard.rows("modules")
    with dashboard.page.expect_download() as caught:
        dashboard.get("csv").click()
    caught.value.save_as(tmp_path / "modules.csv")
    lines = list(csv.DictReader((tmp_path / "modules.csv").read_text().splitlines()))
    told = result(dashboard, "modules?run=ddp")["rows"]
    assert [line["path"] for line in lines] == [r["path"] for r in told]
    assert [line["name"] for line in lines] == [r["name"] for r in told]


def test_classes_come_first(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="modules")
    linear = dashboard.get("table-modules").locator('tr[data-key="Net / Linear"]')
    expect(linear).to_contain_text(re.compile("Linear . 2"))
    classes = {r["path"]: r for r in result(dashboard, "modules?run=ddp&group=class")["rows"]}
    rows = dashboard.rows("modules")
    assert {p: number(rows[p]["device_self_ns"]) for p in rows} == {
        path: row["device_self_ns"] for path, row in classes.items()
    }
    linear.get_by_role("link", name="Linear").click()
    expect(dashboard.get("crumbs")).to_contain_text(re.compile("all . Net . Linear"))
    dashboard.page.go_back()
    dashboard.get("group-instance").click()
    expect(dashboard.get("table-modules").locator('tr[data-key="Net_0"]')).to_be_visible()
    assert dashboard.state()["group"] == "instance"


def test_without_modules_the_page_says_how_to_record_them(dashboard: Dashboard) -> None:
    dashboard.open(run="host", view="modules")
    dashboard.shows("no-modules", stacks="false")
    expect(dashboard.get("no-modules")).to_contain_text("with_stack=True")


def test_from_a_module_into_the_flame_graph_and_back(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="modules", group="instance")
    dashboard.rows("modules")
    dashboard.get("table-modules").get_by_text("Linear_1").click()
    expect(dashboard.get("crumbs")).to_contain_text(re.compile("all . Net_0 . Linear_1"))
    told = result(dashboard, "flame?run=ddp&by=device&levels=modules&root=Net_0;Linear_1")
    graph = dashboard.shows("flamegraph", boxes=len(told["rows"]))
    graph.focus()
    dashboard.page.keyboard.press("ArrowDown")
    dashboard.shows("flame-details", name="Linear_1", value=told["rows"][0]["total_ns"])
    dashboard.page.keyboard.press("ArrowDown")
    dashboard.shows("flamegraph", focus=told["rows"][1]["name"])
    dashboard.get("zoom-reset").click()
    expect(dashboard.get("crumbs")).to_have_count(0)
    dashboard.page.go_back()
    expect(dashboard.get("crumbs")).to_be_visible()
    dashboard.page.go_back()
    dashboard.shows("table-modules")


def test_the_flame_graph_zooms_searches_and_saves(dashboard: Dashboard, tmp_path: Path) -> None:
    dashboard.open(run="ddp", view="flame", by="host")
    told = result(dashboard, "flame?run=ddp&by=host")
    graph = dashboard.shows("flamegraph", boxes=len(told["rows"]))
    box = graph.locator("canvas").bounding_box()
    assert box is not None
    dashboard.page.mouse.click(box["x"] + 5, box["y"] + 30)  # the second level's widest
    expect(dashboard.get("crumbs")).to_contain_text(re.compile("Net_0 . Linear_0"))
    dashboard.get("flamegraph").press("Backspace")
    expect(dashboard.get("crumbs")).to_contain_text("Net_0")
    dashboard.get("zoom-reset").click()
    dashboard.get("flame-search").fill("linear")
    found = [r["total_ns"] for r in told["rows"] if r["name"].startswith("Linear")]
    dashboard.shows("flame-matched", value=sum(found))
    with dashboard.page.expect_download() as saved:
        dashboard.get("collapsed").click()
    lines = Path(saved.value.path()).read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == told["total_ns"]
    assert any(line.startswith("Net_0;Linear_0;aten::mm ") for line in lines)
    with dashboard.page.expect_download() as picture:
        dashboard.get("png").click()
    assert Path(picture.value.path()).read_bytes().startswith(b"\x89PNG")


def test_a_place_that_is_not_in_the_graph(dashboard: Dashboard) -> None:
    dashboard.watch.expected.append("404")
    dashboard.open(run="ddp", view="flame", zoom="nothing")
    dashboard.shows("error", code="unknown_node", status=404)
    dashboard.get("zoom-reset").click()
    dashboard.shows("flamegraph")


def test_what_is_searched_for_follows_the_way_back(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="flame", by="host", filter="linear")
    expect(dashboard.get("flame-search")).to_have_value("linear")
    dashboard.frame.evaluate("top.location.hash = top.location.hash.replace('linear', 'mm')")
    expect(dashboard.get("flame-search")).to_have_value("mm")
    dashboard.page.go_back()
    expect(dashboard.get("flame-search")).to_have_value("linear")
