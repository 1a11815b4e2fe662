"""The roofline page: chart, bar, lists, keys and links; without shapes, and with many points."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.support import make
from tests.support.axe import violations
from tests.support.dashboard import Dashboard, number
from tests.support.repeats import sampled
from tests.support.server import Server, serve
from tests.unit.analysis.work.calls import tensor, texts

EXAMPLES = Path(__file__).parents[3] / "examples" / "runs"
FIGURES = ("device_ns", "calls", "tflop_per_s", "gb_per_s", "roof_share", "above_roof_ns")
SOME = ((1024, 500), (1024, 900), (512, 300), (256, 150), (128, 120))
"""Sizes of products, and their times in us."""


SLOW = ((tensor(1024, 1024), tensor(1024, 1024)), (tensor(4096, 256), tensor(256, 1024)))
"""Products with the same FLOPs, the second kind three times as slow."""


def recording(products: tuple[tuple[int, float], ...]) -> dict[str, Any]:
    """Return a trace of products and additions, one kernel each, within a frame of a program."""
    events: list[Any] = []
    at = 1.0
    for i, (n, duration) in enumerate(products, 1):
        name = "aten::add" if i % 4 == 0 else "aten::mm"
        events += [
            make.op(name, at, at + 5, **texts(name, tensor(n, n), tensor(n, n))),
            make.launch(at + 1, at + 2, i),
            make.kernel("gemm" if name == "aten::mm" else "add", at + 10, at + 10 + duration, i),
        ]
        at += duration + 20.001
    frame = make.frame("/home/me/train.py(7): step", 0, at)
    return make.document(frame, make.kernel("ncclAllReduce", at, at + 100), *events)


def slow_shape() -> dict[str, Any]:
    """Return a trace of calls of both kinds."""
    events: list[Any] = []
    for i in range(10):
        kind, at = i // 5, 1.0 + 400 * i
        events += [
            make.op("aten::mm", at, at + 5, **texts("aten::mm", *SLOW[kind])),
            make.launch(at + 1, at + 2, i + 1),
            make.kernel("gemm", at + 10, at + 10 + 100.001 * (1 + 2 * kind), i + 1),
        ]
    return make.document(*events)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("roofline")

    def write(run: str, document: object) -> None:
        (folder / run).mkdir()
        (folder / run / "w.1700000000000.pt.trace.json").write_text(json.dumps(document))

    write("some", recording(SOME))
    write("slow", slow_shape())
    write("many", recording(tuple((64 + 4 * i, 20 + 1.3 * i) for i in range(1000))))
    plain = (make.op("aten::mm", 0, 9), make.launch(1, 2, 7), make.kernel("gemm", 3, 8, 7))
    write("plain", make.document(*plain))
    write("host", make.document(make.op("aten::mm", 0, 9)))
    shutil.copytree(EXAMPLES / "transformer-inferred", folder / "inferred")
    with serve("--logdir", folder) as server:
        yield server


@pytest.fixture
def page(visit: Callable[[Server], Dashboard], server: Server) -> Dashboard:
    return visit(server)


def opened(page: Dashboard, run: str = "some", **state: str) -> Locator:
    """Open the page and return the chart."""
    page.open(run=run, view="roofline", **state)
    chart = page.shows("roofline-chart")
    page.rests()
    return chart


def result(page: Dashboard, query: str) -> Any:
    return page.server.plugin(f"roofline?{query}").json


@pytest.mark.parametrize("by", ["operator", "shape", "module", "kernel"])
def test_rows_and_bar_are_those_of_the_result(page: Dashboard, by: str) -> None:
    opened(page, run="inferred", by=by)
    answer = result(page, f"run=inferred&by={by}")
    wanted = {str(row["longest_row"]): row for row in answer["rows"]}
    shown = page.rows("roofline")
    assert shown
    for key, cells in shown.items():
        for name in FIGURES:
            assert number(cells[name]) == pytest.approx(wanted[key][name]), name
    parts = (
        page.get("roofline-distances")
        .locator("li")
        .evaluate_all("all => all.map(e => [e.dataset.key, Number(e.dataset.value)])")
    )
    assert sum(ns for _, ns in parts) == answer["device_ns"]
    assert dict(parts) == {
        d["distance"]: d["device_ns"] for d in answer["distances"] if d["device_ns"]
    }
    assert page.value("roofline-stake") == str(answer["above_roof_ns"])


def test_keys_go_from_point_to_point_and_open_one(page: Dashboard) -> None:
    chart = opened(page, by="shape")
    expect(chart).to_have_attribute("data-points", "4")
    chart.locator("svg").focus()
    rows = sorted(result(page, "run=some&by=shape")["rows"], key=lambda r: -r["device_ns"])
    placed = [str(r["longest_row"]) for r in rows if r["flops_per_byte"]]
    press = page.page.keyboard.press
    for key, at in (("ArrowUp", 0), ("ArrowDown", 1), ("End", 3), ("Home", 0)):
        press(key)
        expect(chart).to_have_attribute("data-at", placed[at])
    expect(page.get("roofline-tooltip")).to_contain_text("aten::mm")
    press("Enter")
    page.shows("roofline-details", value=placed[0])
    assert page.state()["selected"] == placed[0]
    chosen = page.get("table-roofline").locator("tr.selected")
    expect(chosen).to_have_attribute("data-key", placed[0])
    press("Escape")
    expect(page.get("roofline-tooltip")).to_have_count(0)
    page.page.go_back()
    expect(page.get("roofline-details")).to_have_count(0)


def test_the_pointer_shows_a_point_and_a_click_opens_it(page: Dashboard) -> None:
    chart = opened(page)
    largest = chart.locator(".roofchart-points path:not(.whiskers)").first
    box = largest.bounding_box()
    assert box is not None
    page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.get("roofline-tooltip")).to_be_visible()
    page.page.mouse.down()
    page.page.mouse.up()
    page.shows("roofline-details")
    expect(page.get("roofline-details")).to_contain_text("train.py:7")
    page.get("roofline-to-table").click()
    assert (page.state()["view"], page.state()["filter"]) == ("operators", 'name = "aten::mm"')
    page.page.go_back()
    page.get("show-on-timeline").click()
    page.shows("details-name")
    expect(page.get("details-name")).to_have_text("gemm")


def test_a_row_opens_its_point(page: Dashboard) -> None:
    chart = opened(page)
    page.get("table-roofline").locator("tbody tr", has_text="aten::add").click()
    expect(page.get("roofline-details")).to_contain_text("aten::add")
    expect(chart.locator(".chosen")).to_have_count(1)
    page.get("roofline-details-close").click()
    expect(chart.locator(".chosen")).to_have_count(0)


def test_a_part_of_the_bar_leads_to_its_rows(page: Dashboard) -> None:
    chart = opened(page)
    page.get("distance-no_roof").click()
    rows = page.rows("roofline")
    assert [cells["name"] for cells in rows.values()] == ["NCCL all-reduce"]
    assert [number(cells["no_roof_ns"]) for cells in rows.values()] == [100_000]
    faded = chart.locator(".roofchart-points path.hidden")
    expect(faded).to_have_count(int(chart.get_attribute("data-points") or 0))


def test_lists_types_and_files(page: Dashboard, tmp_path: Path) -> None:
    opened(page)
    for name, table in (("outliers", "outliers"), ("unknown", "unknown-work"), ("roofs", "roofs")):
        page.get(f"group-{name}").click()
        page.shows(f"table-{table}")
        assert page.state()["list"] == name
    answer = result(page, "run=some")["roofs"]
    shown = page.rows("roofs")
    assert {k: number(v["rate"]) for k, v in shown.items()} == {
        r["name"]: r["rate"] for r in answer
    }
    page.get("group-points").click()
    with page.page.expect_download() as download:
        page.get("csv").click()
    download.value.save_as(tmp_path / "points.csv")
    lines = csv.DictReader((tmp_path / "points.csv").read_text("utf-8-sig").splitlines())
    assert sum(int(line["device_ns"]) for line in lines) == result(page, "run=some")["device_ns"]
    with page.page.expect_download() as picture:
        page.get("png-roofline").click()
    picture.value.save_as(tmp_path / "roofline.png")
    assert (tmp_path / "roofline.png").read_bytes()[:4] == b"\x89PNG"


def test_an_outlier_has_its_evidence_and_its_point(page: Dashboard) -> None:
    chart = opened(page, run="slow", list="outliers")
    (outlier,) = result(page, "run=slow")["outliers"]
    (cells,) = page.rows("outliers").values()
    assert (cells["kind"], number(cells["extra_ns"])) == ("shape", outlier["extra_ns"])
    page.get("table-outliers").locator("tbody tr[data-key]").get_by_text("slow shape").click()
    details = page.shows("roofline-details", value=outlier["longest_row"])
    for text in (outlier["evidence"], outlier["check"]):
        expect(details).to_contain_text(text)
    assert violations(page) == []
    page.get("outlier-to-point").click()
    expect(chart.locator(".roofchart-points path.hidden")).to_have_count(1)
    (row,) = page.rows("roofline").values()
    assert row["input_shapes"] == outlier["input_shapes"]


@pytest.mark.parametrize(("run", "testid"), [
    ("plain", "roofline-no-shapes"), ("some", "roofline-no-sheet"), ("host", "no-device-times"),
])  # fmt: skip
def test_what_is_missing_is_said(page: Dashboard, run: str, testid: str) -> None:
    page.open(run=run, view="roofline")
    page.shows(testid)
    expect(page.get("roofline-chart")).to_have_count(1 if run == "some" else 0)


def test_a_thousand_points(page: Dashboard) -> None:
    """A moved cursor draws one outline and no point again."""
    chart = opened(page, run="many", by="shape")
    assert int(chart.get_attribute("data-points") or 0) > 900
    points = chart.locator(".roofchart-points")
    watch = "new MutationObserver(() => { all.dataset.drawn = 'again'; })"
    points.evaluate(
        f"all => {watch}.observe(all, {{ attributes: true, childList: true, subtree: true }})"
    )
    box = chart.bounding_box()
    assert box is not None
    for i in range(40):
        page.page.mouse.move(box["x"] + 100 + 20 * i, box["y"] + 40 + 5 * i)
    chart.locator("svg").focus()
    for _ in range(5):
        page.page.keyboard.press("ArrowRight")
    expect(page.get("roofline-tooltip")).to_be_visible()
    assert points.get_attribute("data-drawn") is None


def test_a_link_to_a_point_shows_its_row(page: Dashboard) -> None:
    last = str(result(page, "run=many&by=shape")["rows"][-1]["longest_row"])
    opened(page, run="many", by="shape", selected=last)
    row = page.get("table-roofline").locator("tr.selected")
    expect(row).to_have_attribute("data-key", last)
    expect(row).to_be_in_viewport()


@pytest.mark.parametrize("run", sampled(["some", "inferred", "plain"]))
def test_nothing_is_objected_to(page: Dashboard, run: str) -> None:
    page.open(run=run, view="roofline")
    page.rows("roofline")
    page.get("table-roofline").locator("tbody tr[data-key]").first.click()
    page.shows("roofline-details")
    assert violations(page) == []
