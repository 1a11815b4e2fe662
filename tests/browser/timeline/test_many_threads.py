"""A recording of more threads than the timeline has tracks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tb_privateuse1.analysis.timeline.level_of_detail import MOST_OWNERS
from tests.support import make, trace_files
from tests.support.dashboard import Dashboard
from tests.support.server import Server, serve
from tests.support.timeline_canvas import canvas

TOO_MANY = 7


@pytest.fixture
def many(tmp_path: Path) -> Iterator[Server]:
    threads = [
        make.span("cpu_op", "aten::mm", 10.0 * n, 10.0 * n + 5, thread=n + 1)
        for n in range(MOST_OWNERS + TOO_MANY)
    ]
    trace_files.write(tmp_path / "many" / "host_0.1.pt.trace.json", make.document(*threads))
    with serve("--logdir", tmp_path) as server:
        yield server


def test_the_page_says_how_many_threads_have_no_track(
    many: Server, visit: Callable[[Server], Dashboard]
) -> None:
    dashboard = visit(many)
    canvas(dashboard, run="many")
    expect(dashboard.get("tracks-left-out")).to_contain_text(f"{TOO_MANY} threads")
