"""The timeline of a million events: keys, selection, search, arrows, links, as of a small one.

``benchmarks.timeline_speed`` drives one of ten million.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tb_privateuse1.trace.model import Trace
from tests.support import long_trace
from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.server import Server, serve
from tests.support.timeline_canvas import canvas, drag_along_a_heading, window

pytestmark = pytest.mark.long

MOST_DRAWN = 10_000


@pytest.fixture(scope="module")
def recorded(
    tmp_path_factory: pytest.TempPathFactory, cache: Path
) -> Iterator[tuple[Server, Trace]]:
    folder = tmp_path_factory.mktemp("long")
    trace = long_trace.write(folder, cache)
    with serve("--logdir", folder) as server:
        yield server, trace


@pytest.fixture
def trace(recorded: tuple[Server, Trace]) -> Trace:
    return recorded[1]


@pytest.fixture
def dashboard(visit: Callable[[Server], Dashboard], recorded: tuple[Server, Trace]) -> Dashboard:
    return visit(recorded[0])


def test_it_is_that_long(trace: Trace) -> None:
    tables = (trace.ops, trace.launches, trace.kernels)
    assert sum(map(len, tables)) >= 1_000_000
    assert (trace.ops.parent < len(trace.ops)).all()


def test_from_all_of_it_to_one_range(dashboard: Dashboard, trace: Trace) -> None:
    found = canvas(dashboard, run="long")
    start, stop = window(found)
    assert start <= 0
    assert stop >= trace.end_ns
    found.click(position={"x": 300, "y": 5})
    while (before := window(found))[1] - before[0] > 10 * long_trace.PASS_NS:
        dashboard.page.keyboard.press("w")
        expect(found).not_to_have_attribute("data-stop", str(before[1]))
        assert int(found.get_attribute("data-drawn") or "") <= MOST_DRAWN
    dashboard.page.keyboard.press("0")
    expect(found).to_have_attribute("data-start", str(start))


def test_what_runs_once_is_found(dashboard: Dashboard, trace: Trace) -> None:
    found = canvas(dashboard, run="long")
    whole = window(found)
    box = dashboard.get("timeline-search")
    box.fill(long_trace.RARE)
    expect(dashboard.get("timeline-hits")).to_have_attribute("data-value", "1", timeout=WAIT_MS)
    box.press("Enter")
    expect(dashboard.get("details-name")).to_have_text(long_trace.RARE)
    expect(found).not_to_have_attribute("data-start", str(whole[0]))
    start, stop = window(found)
    at = long_trace.RARE_PASS * long_trace.PASS_NS + 98_000
    assert start <= at < at + 1000 <= stop
    assert stop - start < 10 * long_trace.PASS_NS


def test_from_a_late_kernel_to_its_operator_and_back_by_url(
    dashboard: Dashboard, trace: Trace
) -> None:
    row = len(trace.kernels) - 3
    canvas(dashboard, run="long", item=f"kernels:{row}")
    name = dashboard.get("details-name")
    expect(name).to_have_text("gemm", timeout=WAIT_MS)
    dashboard.get("to-operator").click()
    expect(name).to_have_text("aten::addmm")
    assert dashboard.state()["item"] == f"ops:{trace.kernels.op[row]}"
    dashboard.page.reload()
    expect(name).to_have_text("aten::addmm", timeout=WAIT_MS)
    dashboard.get("to-kernel").first.click()
    expect(name).to_have_text("gemm")
    dashboard.page.go_back()
    expect(name).to_have_text("aten::addmm")


def test_a_drag_over_all_of_it_sums_up(dashboard: Dashboard, trace: Trace) -> None:
    canvas(dashboard, run="long")
    drag_along_a_heading(dashboard)
    rows = dict(dashboard.rows("area"))
    kernels = [cells for cells in rows.values() if cells["name"] == "gemm"]
    assert kernels
    assert int(kernels[0]["ranges"]) > 0.95 * len(trace.kernels)
