"""From rows of every table to the timeline, and from a range there to every table it is in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.support.axe import settled
from tests.support.dashboard import Dashboard
from tests.support.make import annotation, document, frame, kernel, launch, memory, op, step
from tests.support.server import Server, serve


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two ranks with all kinds of ranges."""
    folder = tmp_path_factory.mktemp("logdir")
    for rank in (0, 1):
        events = []
        for n in range(2):
            at, own = 1000 * n, 10 * n
            events += [
                step(n, at, at + 1000), frame("train.py(9): train", at + 1, at + 900),
                frame("nn.Module: Net_0", at + 5, at + 400), annotation("part", at + 6, at + 300),
                op("aten::mm", at + 10, at + 60, id=own + 1), memory(at + 12, 4096, 4096 * (n + 1)),
                launch(at + 20, at + 25, own + 1), kernel("gemm", at + 50, at + 90, own + 1),
                op("c10d::allreduce_", at + 100, at + 120, id=own + 2),
                launch(at + 105, at + 110, own + 2),
                kernel("ncclDevKernel_AllReduce", at + 200, at + 260 + 50 * rank, own + 2),
            ]  # fmt: skip
        info = {"rank": rank, "world_size": 2, "backend": "nccl"}
        path = folder / "all" / f"host_{rank}.1700000000000.pt.trace.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document(*events, distributedInfo=info)))
    with serve("--logdir", folder) as server:
        yield server


@pytest.fixture
def dashboard(visit: Callable[[Server], Dashboard], server: Server) -> Dashboard:
    return visit(server)


@pytest.mark.parametrize(
    ("view", "group", "link", "then"),
    [
        ("overview", "", "step-timeline", {"step": "0"}),
        ("memory", "allocations", "allocation-timeline", {}),
        ("modules", "", "module-timeline", {"find": "nn.Module: Net"}),
        ("distributed", "collectives", "collective-timeline", {"rank": "1"}),
        ("distributed", "steps", "rank-step-timeline", {"rank": "0", "step": "0"}),
    ],
)
def test_from_a_row_to_the_timeline(
    dashboard: Dashboard, view: str, group: str, link: str, then: dict[str, str]
) -> None:
    settled(dashboard.open(run="all", view=view, group=group))
    dashboard.get(link).first.click()
    dashboard.shows("page-timeline")
    state = dashboard.state()
    assert {key: state.get(key) for key in then} == then
    if link == "collective-timeline":
        canvas = dashboard.shows("timeline-canvas")
        shown = [int(canvas.get_attribute(f"data-{end}") or "") for end in ("start", "stop")]
        assert shown[0] < 200_000 < 310_000 < shown[1] < 400_000  # the longest call, rank 1's
    if "find" in then:
        expect(dashboard.shows("timeline-hits")).to_have_attribute("data-value", "2")


@pytest.mark.parametrize(
    ("item", "link", "view", "table"),
    [
        ("kernels:0", "to-kernels", "kernels", "kernels"),
        ("kernels:0", "to-module", "modules", "modules"),
        ("kernels:1", "to-collective", "distributed", "collectives"),
        ("aten::mm", "to-operators", "operators", "operators"),
        ("aten::mm", "to-memory", "memory", "allocations"),
        ("part", "to-all", "timeline", ""),
    ],
)
def test_from_a_range_to_its_tables(
    dashboard: Dashboard, item: str, link: str, view: str, table: str
) -> None:
    if ":" not in item or "::" in item:
        found = dashboard.server.plugin(f"search?run=all&text={item}&exact=true").json
        item = f"ops:{found['items'][0]['index']}"
    settled(dashboard.open(run="all", view="timeline", item=item))
    dashboard.get(link).click()
    dashboard.shows(f"page-{view}")
    settled(dashboard)
    if table:
        assert len(dashboard.rows(table)) == 1
    else:
        dashboard.shows("timeline-hits", value=2)


def test_from_the_memory_of_an_operator_to_its_allocations(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="all", view="memory", group="operators"))
    dashboard.rows("memory-operators")
    cell = dashboard.get("table-memory-operators").locator('td[data-column="calls"]')
    cell.first.click()
    assert {cells["operator"] for cells in dashboard.rows("allocations").values()} == {"aten::mm"}


def test_changed_modules_lead_to_them(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="all", view="diff", base="all", baserank=1, group="modules"))
    dashboard.get("table-diff").locator("tbody tr", has_text="Net_0").first.click()
    dashboard.get("diff-row-now").click()
    dashboard.shows("page-modules")
    assert list(dashboard.rows("modules")) == ["Net_0"]
