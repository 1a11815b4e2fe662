"""The search of the timeline, over more matches than it asks for at once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.support import make
from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.server import Server, serve

HITS = 250


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("search")
    path = folder / "run" / "w.1700000000000.pt.trace.json"
    path.parent.mkdir()
    events = [make.op(f"aten::op_{i}", 10 * i, 10 * i + 6) for i in range(HITS)]
    events += [make.kernel(f"gemm_{i}", 10 * i + 2, 10 * i + 9, i + 1) for i in range(HITS)]
    path.write_text(json.dumps(make.document(*events)))
    with serve("--logdir", folder) as server:
        yield server


def test_every_match_is_reached_both_ways(
    visit: Callable[[Server], Dashboard], server: Server
) -> None:
    page = visit(server).open(view="timeline")
    drawn = re.compile("[1-9]")
    expect(page.get("timeline-canvas")).to_have_attribute("data-drawn", drawn, timeout=WAIT_MS)
    box, hits = page.get("timeline-search"), page.get("timeline-hits")
    name = page.get("details-name")
    box.fill("aten")
    expect(hits).to_have_attribute("data-value", str(HITS))

    def shows(at: int) -> None:
        expect(hits).to_contain_text(f"{at + 1} of {HITS}")
        expect(name).to_have_text(f"aten::op_{at}", timeout=WAIT_MS)

    box.press("Shift+Enter")
    shows(HITS - 1)
    box.press("Enter")
    shows(0)
    box.press("Shift+Enter")
    shows(HITS - 1)
    for at in range(HITS - 2, HITS - 52, -1):
        box.press("Shift+Enter")
        if at in (HITS - 50, HITS - 51):  # from one page to the one before
            shows(at)
    box.press("Enter")
    shows(HITS - 50)


def test_the_kinds_of_what_is_found_are_walked_through_one_by_one(
    visit: Callable[[Server], Dashboard], server: Server
) -> None:
    page = visit(server).open(view="timeline", find="_1")
    hits, kinds = page.get("timeline-hits"), page.get("timeline-kinds")
    of_each = sum("_1" in f"_{i}" for i in range(HITS))
    expect(hits).to_have_attribute("data-value", str(2 * of_each), timeout=WAIT_MS)
    expect(kinds.get_by_role("button")).to_have_text(
        [f"all {2 * of_each}", f"device {of_each}", f"operators {of_each}"]
    )
    kinds.get_by_text(f"operators {of_each}").click()
    expect(hits).to_have_attribute("data-value", str(of_each))
    page.get("timeline-search").press("Enter")
    expect(page.get("details-name")).to_have_text("aten::op_1", timeout=WAIT_MS)
    page.get("timeline-search").fill("op_2")
    expect(kinds).to_have_count(0)
    expect(hits).to_have_attribute("data-value", str(sum("_2" in f"_{i}" for i in range(HITS))))


@pytest.mark.parametrize("width", [1600, 1200, 900])
def test_what_is_found_covers_nothing(
    visit: Callable[[Server], Dashboard], server: Server, width: int
) -> None:
    page = visit(server)
    page.page.set_viewport_size({"width": width, "height": 800})
    page.open(view="timeline", find="gemm")
    hits = page.get("timeline-hits")
    expect(hits).to_have_attribute("data-value", str(HITS), timeout=WAIT_MS)
    hits.get_by_role("button").first.click(timeout=WAIT_MS)
    expect(page.get("details-name")).to_have_text(f"GEMM {HITS - 1}", timeout=WAIT_MS)
    parts = page.inside.locator(".timeline > .toolbar > *").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(b => [b.left, b.right, b.top])"
    )
    end = hits.evaluate("found => found.getBoundingClientRect().right")
    assert parts[0][1] >= end - 1
    for (_, right, top), (left, _, below) in pairwise(parts):
        assert below > top or left >= right
