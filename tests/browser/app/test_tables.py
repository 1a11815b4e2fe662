"""Tables: the result's rows, sorted, filtered, grouped, and saved as CSV."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.axe import settled
from tests.support.dashboard import Dashboard, number

OPERATOR = ("calls", "host_self_ns", "host_total_ns", "device_self_ns", "device_total_ns")
KERNEL = ("calls", "total_ns", "mean_ns", "median_ns", "min_ns", "max_ns", "share")


def result(dashboard: Dashboard, query: str) -> Any:
    return dashboard.server.plugin(query).json


@pytest.mark.parametrize("group", ["name", "shapes"])
def test_operators_are_those_of_the_result(dashboard: Dashboard, group: str) -> None:
    now = result(dashboard, f"operators?run=mlp&group={group}")
    dashboard.open(run="mlp", view="operators", **({"group": group} if group == "shapes" else {}))
    rows = dashboard.rows("operators")
    assert len(rows) == len(now["rows"]) > 2
    for row in now["rows"]:
        shapes = row["input_shapes"] or ""
        cells = rows[f"{row['name']} {shapes}" if group == "shapes" else row["name"]]
        assert {key: number(cells[key]) for key in OPERATOR} == {key: row[key] for key in OPERATOR}
        assert cells.get("input_shapes", "") == shapes
    totals = dashboard.get("totals-row").locator('td[data-column="device_self_ns"]')
    assert number(totals.get_attribute("data-value") or "") == now["device_self_ns"]


@pytest.mark.parametrize("group", ["operator", "name"])
def test_kernels_are_those_of_the_result(dashboard: Dashboard, group: str) -> None:
    dashboard.open(run="ddp", view="kernels")
    dashboard.rows("kernels")
    dashboard.get(f"group-{group}").click()
    rows = dashboard.rows("kernels")
    now = result(dashboard, f"kernels?run=ddp&group={group}")
    assert len(rows) == len(now["rows"]) == 3
    for row in now["rows"]:
        cells = rows[f"{row['kind']} {row['full_name']} {row['operator'] or ''}"]
        assert {key: number(cells[key]) for key in KERNEL} == {key: row[key] for key in KERNEL}
        assert (cells["name"], cells["kind"]) == (row["full_name"], row["kind"])


def test_the_activities_of_a_kernel(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="kernels", group="name")
    row = result(dashboard, "kernels?run=ddp&group=name")["rows"][0]
    key = f"{row['kind']} {row['full_name']} "
    dashboard.get("table-kernels").locator(f'tr[data-key="{key}"]').get_by_test_id("drill").click()
    asked = f"kernel_instances?run=ddp&group=name&index={row['longest_row']}"
    now = result(dashboard, f"{asked}&order=typical")
    rows = dashboard.rows("instances")
    assert list(rows) == [str(item["index"]) for item in now["items"]]
    dashboard.shows("histogram-durations", value=row["calls"], bins=len(now["histogram"]))
    assert dashboard.state()["selected"] == str(row["longest_row"])
    first = now["items"][0]["index"]
    place = dashboard.get("table-instances").locator(f'tr[data-key="{first}"]')
    place.locator('td[data-column="start_ns"] a').click()
    dashboard.get("timeline-canvas").wait_for()
    assert (dashboard.state()["view"], dashboard.state()["item"]) == (
        "timeline",
        f"kernels:{first}",
    )


def test_a_row_opens_its_calls_and_names_the_typical_one(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="kernels", group="name")
    first = dashboard.get("table-kernels").locator("tbody tr[data-key]").first
    name = first.get_attribute("data-key")
    for target in ("name", "share", "calls"):  # all of the row has one target
        first.locator(f'td[data-column="{target}"]').click(position={"x": 4, "y": 4})
        dashboard.shows("table-instances")
        row = result(dashboard, "kernels?run=ddp&group=name")["rows"][0]
        assert name == f"{row['kind']} {row['full_name']} "
        place = f"kernel_instances?run=ddp&group=name&index={row['longest_row']}"
        typical = result(dashboard, place)["typical"]
        dashboard.shows("typical", value=typical["index"])
        dashboard.get("instances-close").click()
    first.click()
    dashboard.shows("typical", value=typical["index"])


def test_no_bar_is_behind_the_button_of_its_picture(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="kernels", group="name")
    dashboard.rows("kernels")
    dashboard.get("drill").first.click()
    chart = dashboard.shows("histogram-durations")
    button = chart.get_by_test_id("png-durations").bounding_box()
    bars = [bar.bounding_box() for bar in chart.locator("rect.bar").all()]
    assert button is not None
    assert bars
    for bar in bars:
        assert bar is not None
        assert bar["x"] + bar["width"] <= button["x"]


@pytest.mark.parametrize(
    ("view", "chart"),
    [("overview", "png-steps"), ("memory", "png-memory"), ("timeline", "png-timeline")],
)
def test_a_chart_is_saved_as_a_picture(dashboard: Dashboard, view: str, chart: str) -> None:
    dashboard.open(run="mlp", view=view)
    with dashboard.page.expect_download() as saved:
        dashboard.shows(chart).click()
    data = Path(saved.value.path()).read_bytes()
    assert data.startswith(b"\x89PNG")
    assert len(data) > 5_000


def test_operators_by_category_lead_to_theirs(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="operators", group="category")
    now = result(dashboard, "operators?run=mlp&group=category")
    rows = dashboard.rows("operators")
    assert {key: number(cells["calls"]) for key, cells in rows.items()} == {
        row["name"]: row["calls"] for row in now["rows"]
    }
    dashboard.get("table-operators").locator('tr[data-key="gemm"]').click()
    expect(dashboard.get("table-operators")).to_have_attribute("data-shown", "1")
    assert list(dashboard.rows("operators")) == ["aten::mm"]


def test_operators_by_module_and_their_stacks(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="operators", group="module")
    now = result(dashboard, "operators?run=ddp&group=module")
    rows = dashboard.rows("operators").values()
    assert [c["module"] for c in rows] == [r["module"] or "" for r in now["rows"]]
    dashboard.get("group-stack").click()
    dashboard.get("table-operators").locator("th[data-column=stack]").wait_for()
    first = next(
        r for r in result(dashboard, "operators?run=ddp&group=stack")["rows"] if r["stack"]
    )
    row = f'tr[data-key="{first["name"]} {first["longest_row"]}"]'
    dashboard.get("table-operators").locator(row).click()
    panel = dashboard.shows("stack-panel")
    assert panel.locator("li").all_text_contents() == first["stack"].split(";")
    assert dashboard.state()["selected"] == str(first["longest_row"])
    dashboard.shows("typical")
    dashboard.get("instances-close").click()
    expect(dashboard.get("stack-panel")).to_have_count(0)


def test_columns_are_chosen_and_kept(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="operators")
    assert "category" not in dashboard.rows("operators")["aten::mm"]
    dashboard.get("columns").click()
    dashboard.get("column-category").check()
    dashboard.get("column-calls").uncheck()
    cells = dashboard.rows("operators")["aten::mm"]
    assert (cells["category"], "calls" in cells) == ("gemm", False)
    assert dashboard.state()["columns"] == "operators:category,-calls"
    dashboard.open(run="mlp", view="operators")
    assert dashboard.rows("operators")["aten::mm"]["category"] == "gemm"
    dashboard.open(run="mlp", view="operators", columns="operators:-kernels")
    cells = dashboard.rows("operators")["aten::mm"]
    assert ("kernels" in cells, "category" in cells, "calls" in cells) == (False, False, True)
    dashboard.get("columns").click()
    dashboard.get("columns-reset").click()
    assert "kernels" in dashboard.rows("operators")["aten::mm"]


def test_a_click_on_a_head_sorts(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="operators", group="shapes")
    dashboard.rows("operators")

    def column(key: str) -> list[str]:
        return [cells[key] for cells in dashboard.rows("operators").values()]

    head = dashboard.get("table-operators").locator('th[data-column="name"]')
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert column("name") == sorted(column("name"))
    assert dashboard.state()["sort"] == "name"
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert column("name") == sorted(column("name"), reverse=True)

    calls = dashboard.get("table-operators").locator('th[data-column="calls"] button')
    calls.click(modifiers=["Shift"])
    assert dashboard.state()["sort"] == "-name,-calls"
    pairs = list(zip(column("name"), map(int, column("calls")), strict=True))
    assert pairs == sorted(pairs, reverse=True)


def test_the_filter_hides_and_says_what_it_does_not_understand(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="operators")
    dashboard.rows("operators")
    table = dashboard.get("table-operators")
    box = dashboard.get("filter")
    box.fill("relu")
    expect(table).to_have_attribute("data-shown", "1")
    assert list(dashboard.rows("operators")) == ["aten::relu"]
    expect(dashboard.get("row-count")).to_have_text("1 of 3 operators")
    box.fill("-relu calls >= 6")
    expect(table).to_have_attribute("data-shown", "2")
    box.fill("calls > many")
    expect(dashboard.get("filter-error")).to_be_visible()
    expect(table).to_have_attribute("data-shown", "3")
    box.fill("nothing like it")
    expect(dashboard.get("no-rows")).to_be_visible()
    expect(table).to_have_attribute("data-shown", "0")
    dashboard.page.wait_for_function("location.hash.includes('p.privateuse1.filter')")


def test_csv_has_what_is_shown(dashboard: Dashboard, tmp_path: Path) -> None:
    dashboard.open(run="mlp", view="operators", filter="-relu", sort="name")
    shown = dashboard.rows("operators")
    with dashboard.page.expect_download() as download:
        dashboard.get("csv").click()
    assert download.value.suggested_filename == "operators.csv"
    download.value.save_as(tmp_path / "saved.csv")
    with (tmp_path / "saved.csv").open(newline="") as file:
        saved = list(csv.DictReader(file))
    assert [row["name"] for row in saved] == list(shown) == ["aten::add", "aten::mm"]
    answer = result(dashboard, "operators?run=mlp")
    assert {row["window"] for row in saved} == {answer["provenance"]["window"]["text"]}
    told = {row["name"]: row for row in answer["rows"]}
    for row in saved:
        assert {key: number(row[key]) for key in OPERATOR} == {
            key: told[row["name"]][key] for key in OPERATOR
        }


def test_an_operator_leads_to_its_kernels(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="operators")
    dashboard.get("table-operators").locator('tr[data-key="aten::mm"]').click()
    dashboard.get("operator-kernels").click()
    dashboard.shows("page-kernels")
    assert {cells["operator"] for cells in dashboard.rows("kernels").values()} == {"aten::mm"}
    expect(dashboard.get("filter")).to_have_value('operator = "aten::mm"')


def test_a_step_limits_the_tables(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="kernels", step=1)
    rows = dashboard.rows("kernels")
    assert sum(int(cells["calls"]) for cells in rows.values()) == 8
    assert result(dashboard, "kernels?run=ddp&step=1")["calls"] == 8


@pytest.mark.parametrize(
    ("view", "choice"), [("operators", "category"), ("kernels", "name"), ("diff", "kernels")]
)
def test_a_choice_made_by_key_keeps_the_focus(dashboard: Dashboard, view: str, choice: str) -> None:
    settled(dashboard.open(run="ddp", view=view, base="ddp", baserank=1))
    button = dashboard.get(f"group-{choice}")
    button.focus()
    dashboard.page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    dashboard.rests()
    expect(button).to_be_focused()


@pytest.mark.parametrize("view", ["operators", "kernels"])
def test_the_calls_of_another_step_are_not_those_that_were_opened(
    dashboard: Dashboard, view: str
) -> None:
    settled(dashboard.open(run="ddp", view=view))
    dashboard.get(f"table-{view}").get_by_test_id("drill").first.click()
    dashboard.shows("table-instances")
    dashboard.pick("step", 2)
    dashboard.shows("step-picker", value=2)
    expect(dashboard.get("table-instances")).to_have_count(0)
    assert "selected" not in dashboard.state()
