"""Operators to take away: the script of a call, and why there is none."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.make import document
from tests.support.server import Server, serve
from tests.unit.export.taken.test_recorded_calls import MM, op


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A TensorBoard with a call that can run alone, and one that cannot."""
    folder = tmp_path_factory.mktemp("log")
    events = [op("aten::mm", 0, 9, **MM), op("record_param_comms", 20, 25, **MM)]
    (folder / "h_1.pt.trace.json").write_text(json.dumps(document(*events)))
    with serve("--logdir", folder) as server:
        yield server


def test_an_operator_becomes_a_script(visit: Callable[[Server], Dashboard], server: Server) -> None:
    dashboard = visit(server).open(view="operators", selected=0)
    with dashboard.page.expect_download(timeout=WAIT_MS) as download:
        dashboard.get("take-away").click()
    # operator.py is a module of Python's own: the script would import itself.
    assert download.value.suggested_filename == "aten_mm.py"
    assert ast.parse(download.value.path().read_text())
    expect(dashboard.get("take-away-failure")).to_have_count(0)


def test_what_cannot_run_alone_says_why(
    visit: Callable[[Server], Dashboard], server: Server
) -> None:
    dashboard = visit(server)
    dashboard.watch.expected.append("status of 422")
    dashboard.open(view="operators", selected=1)
    dashboard.get("take-away").click()
    expect(dashboard.get("take-away-failure")).to_contain_text("needs its other ranks")
    expect(dashboard.get("take-away")).to_have_attribute("aria-disabled", "false")
