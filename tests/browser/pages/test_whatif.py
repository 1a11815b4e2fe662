"""The what-if page: changes kept in the URL, what gains most, and the path on the timeline."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support import make
from tests.support.dashboard import Dashboard
from tests.support.server import Server, serve


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Three steps, each of which waits for its kernel of 40 us."""
    events = []
    for i in range(3):
        at = 100 * i
        events += [
            make.step(i, at, at + 100),
            make.op("aten::mm", at + 10, at + 20, id=i + 1),
            make.launch(at + 12, at + 15, i + 1),
            make.kernel("gemm", at + 17, at + 57, i + 1),
            make.span("cuda_runtime", "cudaStreamSynchronize", at + 30, at + 60),
        ]
    folder = tmp_path_factory.mktemp("whatif")
    path = folder / "run" / "w.1700000000000.pt.trace.json"
    path.parent.mkdir()
    path.write_text(json.dumps(make.document(*events)))
    with serve("--logdir", folder) as server:
        yield server


@pytest.fixture
def page(visit: Callable[[Server], Dashboard], server: Server) -> Dashboard:
    return visit(server)


def told(page: Dashboard, changes: str) -> Any:
    return page.server.plugin(f"whatif?run=run&ranking=false&changes={changes}").json


def test_changes_are_predicted_and_kept_in_the_url(page: Dashboard) -> None:
    page.open(run="run", view="whatif").shows("table-gains")
    assert page.figure("measured_ns") == page.figure("predicted_ns") == 100_000
    page.get("change-text").fill("gemm=0.5")
    page.get("change-add").click()
    # The end of the kernel, 20 us earlier, is what the host waits for.
    expect(page.get("figure-predicted_ns")).to_have_attribute("data-value", "80000")
    assert told(page, "gemm%3D0.5")["predicted_ns"] == 80_000
    assert "changes=gemm%3D0.5" in page.page.url
    page.get("change-synchronization").click()
    expect(page.get("changes").locator("li")).to_have_count(2)
    page.page.go_back()
    expect(page.get("changes").locator("li")).to_have_count(1)
    page.get("change-remove").click()
    expect(page.get("figure-predicted_ns")).to_have_attribute("data-value", "100000")


def test_what_is_no_change_is_said(page: Dashboard) -> None:
    page.watch.expected.append("the server responded with a status of 400")
    page.open(run="run", view="whatif", changes="aten::mn=0.5")
    expect(page.shows("change-refused", code="bad_change")).to_contain_text("aten::mm")
    page.shows("table-gains")  # the page stays
    assert page.figure("measured_ns") == 100_000
    page.get("change-clear").click()
    expect(page.get("change-refused")).to_have_count(0)


def test_a_row_is_tried(page: Dashboard) -> None:
    page.open(run="run", view="whatif").shows("table-gains")
    row = page.get("table-gains").locator("tr[data-key='kernel gemm']")
    expect(row.locator("[data-column=half_gain_ns]")).to_have_attribute("data-value", "20000")
    row.get_by_test_id("try-free").click()
    expect(page.get("figure-gain_share")).not_to_have_attribute("data-value", "")
    assert "changes=kernel%3Agemm%3D0" in page.page.url


def test_the_critical_path_is_on_the_timeline(page: Dashboard) -> None:
    page.open(run="run", view="whatif").shows("path-classes")
    kernel = page.get("path-classes").locator("tr[data-key=kernel]")
    expect(kernel).to_have_attribute("data-value", "40000")
    page.get("to-timeline").click()
    expect(page.get("critical-path")).to_have_attribute("aria-pressed", "true")
    pieces = page.server.plugin("critical?run=run").json
    expect(page.get("critical-path")).to_have_attribute("data-value", str(len(pieces["pieces"])))
    page.get("critical-path").click()
    expect(page.get("critical-path")).to_have_attribute("aria-pressed", "false")
    assert "critical=" not in page.page.url


def test_a_ranking_that_fails_says_so(page: Dashboard) -> None:
    page.watch.expected.append("status of 500")
    wrong = re.compile(r"/whatif\?(?!.*ranking=false)")
    page.page.route(wrong, lambda route: route.fulfill(status=500, body="broken"))
    page.open(run="run", view="whatif").shows("error", status=500)
    assert page.figure("measured_ns") == 100_000
    page.page.unroute(wrong)
    page.get("retry").click()
    page.shows("table-gains")
