"""Where device times are from, of a measured, an inferred and a refused trace; the way there."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support import make
from tests.support.dashboard import Dashboard, number
from tests.support.server import Server, serve
from tests.support.simulate import LATENCY, Machine, Op, step

US = 1_000


def recording(hosted: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """A trace and its sidecar: the device is behind, and then waits for the host."""
    machine = Machine(shapes={"Input Dims": [[8, 8]]})
    ops = [Op("aten::mm", 8 * US, US, 40 * US) for _ in range(12)]
    alone = [Op("aten::relu", 60 * US, US, 5 * US) for _ in range(4)]
    read = Op("aten::_local_scalar_dense", 3 * US, 500, 2 * US, blocking=True)
    talk = [Op("gloo:all_reduce", 300 * US, US, category="user_annotation")] if hosted else []
    for i in range(3):
        machine.run(step(i, *ops, read, *alone, *talk))
    document = make.document(*machine.events)
    return document, make.sidecar(machine.elapsed, launch_latency_ns=LATENCY)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("method")

    def write(run: str, trace: object, sidecar: object = None) -> None:
        stem = folder / run / "w.1700000000000"
        stem.parent.mkdir()
        stem.with_name(stem.name + ".pt.trace.json").write_text(json.dumps(trace))
        if sidecar is not None:
            stem.with_name(stem.name + ".kernel_event.json").write_text(json.dumps(sidecar))

    write("inferred", *recording(hosted=False))
    write("gloo", *recording(hosted=True))
    ops = [make.op("aten::mm", 100 * i, 100 * i + 50, id=i + 1) for i in range(20)]
    write(
        "refused", make.document(*ops), make.sidecar({i + 1: 1000.0 * (i % 7) for i in range(20)})
    )
    kernels = [make.launch(1, 2, 7), make.kernel("gemm", 3, 8, 7)]
    write("measured", make.document(make.op("aten::mm", 0, 9), *kernels))
    write("host", make.document(make.op("aten::mm", 0, 9)))
    with serve("--logdir", folder) as server:
        yield server


@pytest.fixture
def page(visit: Callable[[Server], Dashboard], server: Server) -> Dashboard:
    return visit(server)


def told(page: Dashboard, query: str) -> Any:
    return page.server.plugin(f"method?{query}").json


def rows(page: Dashboard, testid: str, *data: str) -> list[list[str]]:
    found = page.get(testid).locator("tr[data-key]")
    return [
        [row.get_attribute(f"data-{name}") or "" for name in ("key", *data)] for row in found.all()
    ]


def test_an_inferred_timeline(page: Dashboard) -> None:
    page.open(run="inferred", view="recording", section="method")
    page.shows("method", kind="event")
    expect(page.get("method")).to_be_in_viewport()
    now = told(page, "run=inferred")
    for name in (
        "activities", "device_ns", "median_start_bound_ns", "median_duration_bound_ns", "timed",
    ):  # fmt: skip
        assert page.figure(name) == now[name], name
    expect(page.get("figure-device_ns")).to_contain_text("±")
    expect(page.get("figure-device_ns")).to_contain_text("statistical ±")
    expect(page.get("figure-shift_bound_ns")).to_contain_text("±")
    shown = rows(page, "method-evidence", "value", "look")
    assert [[e["evidence"], str(e["kernels"])] for e in now["evidence"]] == [r[:2] for r in shown]
    assert all(look == ("bounded" if key == "bound" else "inferred") for key, _, look in shown)
    limits = [(one["code"], one["bound_ns"]) for one in now["limits"]]
    assert [(key, number(value)) for key, value in rows(page, "limits", "value")] == limits
    assert rows(page, "constants", "value", "source") == [
        [c["name"], str(c["value_ns"]), c["source"]] for c in now["constants"]
    ]
    assert dict(rows(page, "solution", "value"))["marks"] == str(now["marks"])
    advice = page.get("advice").locator("li[data-key]")
    assert [a.get_attribute("data-key") for a in advice.all()] == [a["code"] for a in now["advice"]]
    helps = page.get("limits").get_by_role("link").first
    helps.press("Enter")
    chosen = f"advice-{now['limits'][0]['advice']}"
    assert page.frame.evaluate("document.activeElement.id") == chosen
    page.pick("step", 1)
    page.shows("method")
    only = told(page, "run=inferred&step=1")
    expect(page.get("figure-activities")).to_have_attribute("data-value", str(only["activities"]))


@pytest.mark.parametrize("width", [900, 1200])
def test_nothing_is_beyond_the_edge(page: Dashboard, width: int) -> None:
    page.page.set_viewport_size({"width": width, "height": 800})
    page.open(run="inferred", view="recording").shows("method-evidence")
    main = page.inside.locator("main")
    assert main.evaluate("box => box.scrollWidth - box.clientWidth") == 0
    told = page.get("method-evidence").locator("td.muted").first
    box = told.bounding_box()
    assert box is not None
    assert box["width"] >= 200
    assert box["height"] <= 100


def test_no_table_of_the_overview_is_beyond_the_edge(page: Dashboard) -> None:
    page.page.set_viewport_size({"width": 760, "height": 800})
    page.open(run="inferred", view="overview").shows("idle-before")
    main = page.inside.locator("main")
    assert main.evaluate("box => box.scrollWidth - box.clientWidth") == 0


def test_a_table_as_csv(page: Dashboard, tmp_path: Path) -> None:
    page.open(run="inferred", view="recording").shows("constants")
    with page.page.expect_download() as caught:
        page.get("csv-constants").click()
    caught.value.save_as(tmp_path / "c.csv")
    lines = list(csv.DictReader((tmp_path / "c.csv").read_text().splitlines()))
    answer = told(page, "run=inferred")
    window = {"window": answer["provenance"]["window"]["text"]}
    rows = [{**constant, **window} for constant in answer["constants"]]
    assert lines == [{k: "" if v is None else str(v) for k, v in one.items()} for one in rows]


def test_a_refused_timeline_has_its_reason_and_what_to_change(page: Dashboard) -> None:
    page.open(run="refused", view="recording")
    page.shows("device-times", timeline="none", kind="coarse")
    expect(page.get("method-reason")).to_contain_text("multiples of 1 ms")
    expect(page.get("refused").locator("li")).to_have_attribute("data-code", "elapsed_coarse")
    expect(page.get("refused")).to_contain_text("microseconds")
    expect(page.get("advice").locator('[data-key="clock"] pre')).to_contain_text("elapsed")
    assert page.get("figure-activities").count() == page.get("limits").count() == 0
    page.get("refused").get_by_role("link").click()
    chosen = page.get("table-findings").locator("tr.selected")
    expect(chosen).to_have_attribute("data-code", "elapsed_coarse")
    expect(chosen).to_be_in_viewport()
    assert page.state()["filter"] == "elapsed_coarse"


def test_a_measured_timeline_needs_nothing(page: Dashboard) -> None:
    page.open(run="measured", view="recording", section="method")
    page.shows("device-times", timeline="measured")
    page.rests()
    for testid in (
        "method", "section-method", "advice", "limits", "constants", "solution", "refused",
    ):  # fmt: skip
        assert page.get(testid).count() == 0, testid


@pytest.mark.parametrize("view", ["overview", "timeline", "kernels", "recording"])
def test_the_badge_leads_to_it(page: Dashboard, view: str) -> None:
    page.open(run="inferred", view=view)
    page.get("source-badge").click()
    page.get("source-badge-panel").get_by_test_id("to-method").click()
    expect(page.shows("method")).to_be_in_viewport()
    assert page.get("source-badge-panel").count() == 0
    assert (page.state()["view"], page.state()["section"]) == ("recording", "method")


def test_the_host_alone(page: Dashboard) -> None:
    page.open(run="host", view="recording")
    page.shows("device-times", timeline="none", kind="")
    expect(page.get("refused").locator("li").first).to_have_attribute("data-code", "host_only")


def test_what_gloo_does_on_the_host_is_measured_and_the_rest_is_not(page: Dashboard) -> None:
    page.open(run="gloo").get("open-averages").click()
    swatches = page.get("averages").locator("tr[data-key]")
    looks = swatches.evaluate_all(
        "rows => rows.map(r => [r.dataset.key, r.querySelector('.swatch')?.className])"
    )
    assert ["kernel", "swatch inferred"] in looks
    assert ["cpu", "swatch measured"] in looks
    steps = page.server.plugin("overview?run=gloo").json["steps"]
    assert all(s["communication_host_ns"] == s["communication_ns"] > 0 for s in steps)


def test_inferred_cells_have_their_bounds(page: Dashboard) -> None:
    page.open(run="inferred", view="kernels")
    page.shows("table-kernels")
    result = page.server.plugin("kernels?run=inferred").json
    for row in result["rows"]:
        key = f"{row['kind']} {row['name']} {row['operator']}"
        cells = page.get("table-kernels").locator(f'tr[data-key="{key}"]')
        for name in ("total", "mean", "median", "min", "max"):
            cell = cells.locator(f'td[data-column="{name}_ns"]')
            bound = row["bound_ns"] if name == "total" else row[f"{name}_bound_ns"]
            assert number(cell.get_attribute("data-bound") or "") == bound
            expect(cell).to_have_class("time uncertain")
    assert page.open(run="measured", view="kernels").rows("kernels")
    assert page.get("table-kernels").locator("td.uncertain").count() == 0
