"""Two traces side by side: what is compared, the changes, the tables, and the link to it all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support import make, trace_files
from tests.support.axe import settled
from tests.support.dashboard import Dashboard, number
from tests.support.server import Server, serve

TIMES = ("base_ns", "now_ns", "change_ns", "noise_ns", "host_change_ns", "base_calls", "now_calls")


def slow(factor: float) -> list[make.Event]:
    """Three steps with two modules, whose kernel takes so many times 30 us."""
    events: list[make.Event] = []
    for i in range(3):
        at, n = 1000.0 * i, 10 * i
        events += [
            make.step(i, at, at + 900),
            make.frame("nn.Module: Net_0", at + 5, at + 400),
            make.frame("nn.Module: Linear_0", at + 6, at + 200),
            make.op("aten::mm", at + 10, at + 30),
            make.memory(at + 15, int(1024 * factor), int(4096 + 1024 * factor), device_type=1),
            make.memory(at + 700, -int(1024 * factor), 4096, device_type=1),
            make.launch(at + 11, at + 12, n + 1),
            make.kernel("gemm", at + 40, at + 40 + (30 + i / 10) * factor, n + 1),
            make.op("aten::relu" if factor == 1 else "aten::gelu", at + 300, at + 310),
            make.op("aten::add", at + 320, at + 325),
            make.launch(at + 301, at + 302, n + 2),
            make.kernel("pointwise", at + 400, at + 402, n + 2),
        ]
    return events


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("diff")
    for name, factor in (("base", 1), ("now", 2)):
        path = folder / name / "w.1.pt.trace.json"
        path.parent.mkdir()
        trace_files.write(path, make.document(*slow(factor)))
    return folder


@pytest.fixture(scope="module")
def both(log: Path) -> Iterator[Server]:
    with serve("--logdir", log) as server:
        yield server


@pytest.fixture
def two(visit: Callable[[Server], Dashboard], both: Server) -> Dashboard:
    return visit(both)


def result(dashboard: Dashboard, query: str = "") -> Any:
    return dashboard.server.plugin(f"diff?run=now&base_run=base{query}").json


def test_changes_are_those_of_the_result(two: Dashboard) -> None:
    two.open(run="now", view="diff", base="base")
    rows, answer = two.rows("diff"), result(two)
    assert list(rows) == [r["name"] for r in answer["rows"]]
    for row in answer["rows"]:
        cells = rows[row["name"]]
        assert {key: number(cells[key]) for key in TIMES} == {key: row[key] for key in TIMES}
    assert rows["aten::mm"]["verdict"] == "longer"
    assert (rows["aten::gelu"]["status"], rows["aten::relu"]["status"]) == ("new", "gone")
    whole = answer["figures"][0]
    assert two.figure("change_ns") == whole["change_ns"]
    assert two.figure("total_change_ns") == answer["now_total_ns"] - answer["base_total_ns"] > 0
    parts = two.get("account-changes").locator("tr")
    shown = {p.get_attribute("data-key"): p.get_attribute("data-value") for p in parts.all()}
    assert shown == {f["name"]: str(f["change_ns"]) for f in answer["account"]}
    assert sum(map(int, filter(None, shown.values()))) == whole["change_ns"]


def test_the_base_is_chosen_swapped_and_in_the_link(two: Dashboard) -> None:
    two.open(run="now", view="diff")
    two.shows("baserun-picker", value="base")  # the other run
    before = two.figure("total_change_ns")
    assert before is not None
    two.get("swap").click()
    two.shows("run-picker", value="base")
    two.shows("baserun-picker", value="now")
    expect(two.get("figure-total_change_ns")).to_have_attribute("data-value", str(int(-before)))
    two.pick("baserun", "base")
    note = two.get("diff-note").filter(has_text="same trace")
    note.wait_for()
    two.shows("no-change")
    two.pick("basestep", 1)
    expect(two.get("figure-base_ns").locator(".note")).to_have_text("1 step")
    state = two.state()
    assert (state["base"], state["basestep"]) == ("base", "1")
    two.page.go_back()
    two.page.go_back()
    two.shows("baserun-picker", value="now")


def test_kernels_modules_and_steps(two: Dashboard) -> None:
    two.open(run="now", view="diff", base="base")
    two.get("group-kernels").click()
    assert set(two.rows("diff")) == {"gemm kernel", "pointwise kernel"}
    two.get("group-modules").click()
    expect(two.get("table-diff").locator('tr[data-key="Net_0 / Linear_0"]')).to_be_visible()
    answer = {r["name"]: r for r in result(two, "&by=modules")["rows"]}
    rows = two.rows("diff")
    assert set(rows) == set(answer)
    assert number(rows["Net_0"]["change_ns"]) == answer["Net_0"]["change_ns"] > 0
    two.get("group-host").click()
    expect(two.get("table-diff").locator('th[data-column="device_change_ns"]')).to_be_visible()
    assert number(two.rows("diff")["Net_0"]["change_ns"]) == 0
    two.get("group-steps").click()
    assert len(two.rows("diff-steps")) == 3
    assert two.state()["group"] == "steps"


@pytest.mark.parametrize("size", [(1280, 500), (900, 560)])
def test_the_table_has_rows_on_a_low_screen(two: Dashboard, size: tuple[int, int]) -> None:
    two.page.set_viewport_size({"width": size[0], "height": size[1]})
    for group in ("operators", "modules"):
        two.open(run="now", view="diff", base="base", group=group)
        two.rows("diff")
        room = two.get("table-diff").locator(".scroller").evaluate("box => box.clientHeight")
        assert room >= 8 * 24
        two.get("totals-row").scroll_into_view_if_needed()
        expect(two.get("totals-row")).to_be_in_viewport()


def test_a_filter_opens_what_it_finds(two: Dashboard) -> None:
    two.open(run="now", view="diff", base="base", group="modules", filter="Linear_0")
    net = two.get("table-diff").locator("tbody tr[data-key]").first
    expect(net).to_have_attribute("aria-expanded", "true")
    expect(net.get_by_test_id("twist")).to_have_text("▾")
    expect(net.get_by_test_id("twist")).to_be_disabled()


@pytest.mark.parametrize("of", ["now", "base"])
def test_from_a_change_to_its_operator_in_each_run(two: Dashboard, of: str) -> None:
    two.open(run="now", view="diff", base="base")
    two.get("row-changes").locator('tr[data-key="aten::mm"] a').click()
    panel = two.shows("diff-row")
    assert two.state()["view"] == "diff"
    expect(two.get("table-diff").locator("tr[aria-selected=true]")).to_have_attribute(
        "data-key", "aten::mm"
    )
    panel.get_by_test_id(f"diff-row-{of}").click()
    two.shows("page-operators")
    assert two.state()["run"] == of
    assert list(two.rows("operators")) == ["aten::mm"]
    two.page.go_back()
    two.shows("page-diff")


def test_a_row_of_the_comparison_opens_and_closes_beside_it(two: Dashboard) -> None:
    two.open(run="now", view="diff", base="base")
    row = two.get("table-diff").locator('tr[data-key="aten::mm"]')
    row.click()
    sides = two.shows("diff-row-sides")
    assert sides.locator("tbody tr").count() >= 2
    two.get("diff-row-close").press("Escape")
    expect(two.get("diff-row")).to_have_count(0)
    row.click()
    expect(two.get("diff-row")).to_be_visible()
    two.page.go_back()
    expect(two.get("diff-row")).to_have_count(0)
    expect(two.get("page-diff")).to_be_visible()
    row.click()
    two.get("diff-row-close").click()
    expect(two.get("diff-row")).to_have_count(0)


def test_inferred_changes_have_their_bounds(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="diff")
    dashboard.shows("basespan-picker", value="1")  # the span before
    answer = dashboard.server.plugin("diff?run=mlp&base_span=1").json
    rows = dashboard.rows("diff")
    for row in answer["rows"]:
        assert number(rows[row["name"]]["bound_ns"]) == row["bound_ns"]
    codes = dashboard.get("diff-note").evaluate_all("notes => notes.map(n => n.dataset.code)")
    assert "inferred" in codes


@pytest.fixture(scope="module")
def alone(log: Path) -> Iterator[Server]:
    with serve("--logdir", log / "now") as server:
        yield server


def test_a_trace_alone_compares_its_steps(
    visit: Callable[[Server], Dashboard], alone: Server
) -> None:
    page = visit(alone).open(view="diff")
    page.get("no-base").get_by_role("button").click()
    page.shows("basespan-picker", value="1")
    page.pick("step", 2)
    page.pick("basestep", 0)
    expect(page.get("figure-change_ns")).to_have_attribute("data-value", "0")
    assert number(page.rows("diff")["aten::mm"]["change_ns"]) == 400


def test_memory_side_by_side(two: Dashboard) -> None:
    two.open(view="diff", run="now", base="base", group="memory")
    answer = {row["name"]: row for row in result(two)["memory"]}
    assert (answer["peak"]["base"], answer["peak"]["now"]) == (5120, 6144)
    expect(two.get("figure-change_peak_bytes")).to_contain_text("+1.00 KiB")
    figures = two.get("table-diff-memory")
    peak = figures.locator('[data-key="CUDA 0 peak"]')
    expect(peak).to_contain_text("5.00 KiB")
    expect(peak).to_contain_text("+1.00 KiB")
    expect(peak).to_contain_text("more")
    operator = two.get("table-diff-allocators").locator('[data-key="CUDA 0 aten::mm"]')
    expect(operator).to_contain_text("2.00 KiB")
    two.get("group-operators").click()
    expect(two.get("table-diff-memory")).to_have_count(0)
    expect(two.get("table-diff")).to_be_visible()


def test_live_memory_side_by_side(two: Dashboard) -> None:
    """At the peak of each, or at the end; without addresses the page says why there is nothing."""
    two.open(view="diff", run="now", base="base", group="memory")
    for instant in ("peak", "end"):
        two.get(f"group-{instant}").click()
        (answer,) = result(two, f"&alive_at={instant}")["alive"]
        for by in ("modules", "categories", "functions"):
            two.get(f"group-change_{by}").click()
            table = two.shows("table-memory-change", rows=len(answer[by]))
            cells = table.locator('tr[data-key] td[data-column="now_bytes"]')
            expect(cells.first).to_have_attribute("data-value", str(answer[by][0]["now_bytes"]))
        assert two.state()["alive"] == instant
    two.get("group-none").click()
    two.shows("table-diff-allocators")


def test_a_comparison_of_two_ranks_says_so(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="diff", base="ddp", baserank=1)
    expect(dashboard.shows("ranks-differ")).to_contain_text("rank 0 is compared with rank 1")
    dashboard.open(run="ddp", view="diff", base="ddp", baserank=0, basestep=1).shows("base")
    settled(dashboard)
    expect(dashboard.get("ranks-differ")).to_have_count(0)


def test_why_the_step_changed_sums_to_the_change(two: Dashboard) -> None:
    two.open(run="now", view="diff", base="base")
    section = two.shows("why")
    why = result(two)["explanation"]
    reasons = section.get_by_test_id("reason")
    expect(reasons).to_have_count(len(why["reasons"]))
    assert why["reasons"], "the kernel takes twice as long"
    for i, reason in enumerate(why["reasons"]):
        expect(reasons.nth(i)).to_contain_text(reason["sentence"])
        expect(reasons.nth(i)).to_have_attribute("data-value", str(reason["change_ns"]))
    rest = section.get_by_test_id("why-rest")
    expect(rest).to_have_attribute("data-value", str(why["rest_ns"]))
    expect(section.get_by_test_id("why-sum")).to_contain_text("Change of the step")
    parts = sum(reason["change_ns"] for reason in why["reasons"])
    assert parts + why["rest_ns"] == why["change_ns"]


def test_from_a_reason_to_its_row_and_back(two: Dashboard) -> None:
    two.open(run="now", view="diff", base="base", group="memory")
    one = two.shows("why").locator('[data-testid=reason][data-kind="speed"]').first
    one.get_by_test_id("reason-link").click()
    two.shows("diff-row-sides")
    expect(two.get("table-diff").locator("tr[aria-selected=true]")).to_have_attribute(
        "data-key", "aten::mm"
    )
    assert two.state()["view"] == "diff"
    two.page.go_back()
    expect(two.get("diff-row")).to_have_count(0)
    expect(two.get("table-diff-memory")).to_be_visible()


def test_the_default_base_says_why_it_is_the_base(two: Dashboard) -> None:
    two.open(run="now", view="diff")
    expect(two.shows("base-reason")).to_contain_text("by default: ")
    two.open(run="now", view="diff", base="base")
    two.shows("why")
    expect(two.get("base-reason")).to_have_count(0)


def test_what_differs_is_said_in_one_line(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="diff", base="ddp")
    expect(dashboard.shows("diff-conditions")).to_contain_text("device times measured → inferred")


def test_another_program_is_no_default_base(
    visit: Callable[[Server], Dashboard], tmp_path: Path
) -> None:
    for name, operator in (("model", "aten::mm"), ("other", "aten::conv2d")):
        path = tmp_path / name / "w.1.pt.trace.json"
        path.parent.mkdir()
        events = [make.step(1, 0, 100), make.op(operator, 10, 50)]
        trace_files.write(path, make.document(*events))
    with serve("--logdir", tmp_path) as server:
        page = visit(server).open(run="model", view="diff")
        expect(page.shows("no-default-base")).to_contain_text("0 % of their operators")
        page.get("compare-anyway").click()
        page.rows("diff")
        assert page.state()["base"] == "other"
