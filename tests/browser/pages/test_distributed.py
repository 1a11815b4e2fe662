"""All ranks of a run on one page, whichever of them can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support import make, trace_files
from tests.support.dashboard import Dashboard, number
from tests.support.server import Server, serve

TIMES = ("step_ns", "computation_ns", "communication_ns", "overlap_ns", "exposed_ns", "copy_ns",
         "idle_ns", "transferring_ns", "synchronizing_ns", "caused_ns")  # fmt: skip


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve ranks of three steps, of which rank 5 computes longer."""
    folder = tmp_path_factory.mktemp("ranks")
    for rank in range(12):
        events: list[make.Event] = []
        for i in range(3):
            at = 1000.0 * i
            events += [
                make.step(i, at, at + 900), make.op("aten::mm", at + 10, at + 30),
                make.launch(at + 11, at + 12, i + 1),
                make.kernel("gemm", at + 40, at + 240 + rank + 100 * (rank == 5), i + 1),
            ]  # fmt: skip
        told = {"backend": "nccl", "rank": rank, "world_size": 12}
        path = folder / "r" / f"host_{rank}.1.pt.trace.json"
        trace_files.write(path, make.document(*events, distributedInfo=told))
    return folder


@pytest.fixture(scope="module")
def many(log: Path) -> Iterator[Server]:
    with serve("--logdir", log) as server:
        server.plugin("distributed")  # reads all traces
        yield server


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Three ranks, of which the last one comes late to each collective."""
    folder = tmp_path_factory.mktemp("late")
    for rank in range(3):
        events: list[make.Event] = []
        for i in range(6):
            at, works = 1000.0 * i, 100 + 200 * (rank == 2)
            events += [
                make.step(i, at, at + 900), make.op("aten::mm", at, at + 9),
                make.launch(at + 1, at + 2, 10 * i), make.launch(at + 3, at + 4, 10 * i + 1),
                make.kernel("gemm", at + 10, at + 10 + works, 10 * i),
                make.kernel(
                    "ncclAllReduce", at + 10 + works, at + 350, 10 * i + 1, stream=9,
                    **{"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
                       "Out msg nelems": 1000, "Group size": 3, "Process Group Name": "0"},
                ),
            ]  # fmt: skip
        told = {"backend": "nccl", "rank": rank, "world_size": 3}
        path = folder / "late" / f"host_{rank}.1.pt.trace.json"
        trace_files.write(path, make.document(*events, distributedInfo=told))
    with serve("--logdir", folder) as server:
        server.plugin("distributed")
        yield server


def result(dashboard: Dashboard, query: str = "distributed?run=ddp") -> Any:
    return dashboard.server.plugin(query).json


def test_ranks_are_those_of_the_result(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="distributed")
    dashboard.shows("rank-chart", bars=2)
    rows = dashboard.rows("ranks")
    told = result(dashboard)["rows"]
    assert list(rows) == ["0", "1"]
    for row in told:
        cells = rows[str(row["rank"])]
        assert {key: number(cells[key]) for key in TIMES} == {key: row[key] for key in TIMES}


def test_collectives_and_steps(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="distributed")
    dashboard.get("group-collectives").click()
    (cells,) = dashboard.rows("collectives").values()
    (told,) = result(dashboard)["collectives"]
    assert (cells["kind"], number(cells["calls"])) == ("all_reduce", 6.0)
    assert number(cells["total_ns"]) == told["total_ns"]
    dashboard.get("group-steps").click()
    assert len(dashboard.rows("rank-steps")) == 6
    assert dashboard.state()["group"] == "steps"
    dashboard.pick("step", 1)
    expect(dashboard.get("table-rank-steps")).to_have_attribute("data-rows", "2")


def test_ranks_by_steps_with_pointer_and_keys(
    visit: Callable[[Server], Dashboard], many: Server
) -> None:
    told = many.plugin("distributed?measure=computation").json["grid"]
    page = visit(many).open(view="distributed")
    grid = page.shows("rank-grid", rows=12, columns=3, lines=12, first="0")
    page.get("group-computation").click()
    page.get("group-worst").click()
    page.shows("rank-grid", first="5")
    assert page.state()["by"] == "computation"
    grid.focus()
    for key in ("ArrowDown", "ArrowUp", "ArrowRight"):
        page.page.keyboard.press(key)
    page.shows("rank-grid", row="5")
    value = told["values"][told["ranks"].index(5) * 3 + 1]
    page.shows("grid-value", value=value)
    page.page.keyboard.press("Enter")
    page.shows("rank-picker", value=5)
    page.shows("rank-grid", first="5")
    assert value > told["median_ns"]


def test_the_step_stays_on_another_rank(visit: Callable[[Server], Dashboard], many: Server) -> None:
    page = visit(many).open(view="distributed", step=1)
    page.shows("rank-chart", bars=12)
    page.get("table-ranks").locator("tr[data-key='5'] a").click()
    page.shows("page-overview")
    page.shows("rank-picker", value=5)
    page.shows("step-picker", value=1)
    assert (page.state()["rank"], page.state()["step"]) == ("5", "1")


def test_advice_leads_to_the_rank(visit: Callable[[Server], Dashboard], late: Server) -> None:
    dashboard = visit(late).open(run="late", view="distributed")
    told = late.plugin("distributed?run=late").json["advice"]
    dashboard.shows("rank-advice", rows=len(told))
    found = dashboard.get("rank-finding").evaluate_all("all => all.map(f => f.dataset.key)")
    assert found == [row["rule"] for row in told]
    item = dashboard.inside.locator("[data-testid=rank-finding][data-key=straggler]")
    head = item.locator("button.headline")
    head.focus()
    head.press("Enter")
    expect(head).to_have_attribute("aria-expanded", "true")
    evidence = item.get_by_test_id("rank-evidence")
    expect(evidence).to_have_attribute("data-rank", "2")
    evidence.locator("a").first.click()
    dashboard.shows("page-advice")
    dashboard.shows("rank-picker", value=2)


def test_from_a_rank_to_its_overview_and_back(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="distributed")
    dashboard.rows("ranks")
    dashboard.get("table-ranks").locator('tr[data-key="1"] a').click()
    dashboard.shows("rank-picker", value=1)
    dashboard.shows("page-overview")
    dashboard.page.go_back()
    dashboard.shows("page-distributed")


@pytest.mark.parametrize("run", ["mlp", "host"])
def test_a_run_of_one_rank_is_shown_too(dashboard: Dashboard, run: str) -> None:
    dashboard.open(run=run, view="distributed")
    dashboard.shows("rank-chart", bars=1)
    codes = dashboard.get("rank-note").evaluate_all("notes => notes.map(n => n.dataset.code)")
    assert set(codes) == {"one_rank", "no_communication"}


def test_a_rank_that_cannot_be_read_is_a_row_with_its_problem(dashboard: Dashboard) -> None:
    dashboard.watch.expected.append("422")  # the overview of that rank, for the badges
    dashboard.open(run="unreadable", view="distributed")
    (cells,) = dashboard.rows("ranks").values()
    assert cells["problem"]
    assert cells["step_ns"] == ""
