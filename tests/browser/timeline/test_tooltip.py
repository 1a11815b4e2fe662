"""The timeline's tooltip, wherever the pointer is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.support import make
from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.server import Server, serve

DEEP = 60
LONG = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Operators with long names, as many below each other as no screen is high."""
    folder = tmp_path_factory.mktemp("tooltip")
    path = folder / "run" / "w.1700000000000.pt.trace.json"
    path.parent.mkdir()
    path.write_text(json.dumps(make.document(*(make.op(LONG, i, 1000 - i) for i in range(DEEP)))))
    with serve("--logdir", folder) as server:
        yield server


def edges(found: Locator) -> tuple[float, float]:
    box = found.bounding_box()
    assert box
    return box["y"], box["y"] + box["height"]


@pytest.mark.parametrize("height", [1000, 520])
def test_it_is_seen_whole(
    visit: Callable[[Server], Dashboard], server: Server, height: int
) -> None:
    page = visit(server)
    page.page.set_viewport_size({"width": 1400, "height": height})
    page.open(view="timeline")
    canvas, tip = page.get("timeline-canvas"), page.get("timeline-tooltip")
    drawn = re.compile("[1-9]")
    expect(canvas).to_have_attribute("data-drawn", drawn, timeout=WAIT_MS)
    first, last = edges(canvas)
    for up in (6, 60):
        canvas.hover(position={"x": 500, "y": last - first - up})
        expect(tip).to_contain_text("vectorized_elementwise")
        top, bottom = edges(tip)
        assert bottom - top > 96
        assert first <= top
        assert bottom <= last
