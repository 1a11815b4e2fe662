"""Scripts come when they are needed: the first page loads a part of the bundle."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Request

from tb_privateuse1.server.static_files import BUNDLE
from tests.support.axe import settled
from tests.support.dashboard import ALONE, Dashboard
from tests.support.make import document, memory, op
from tests.support.page_states import PAGES
from tests.support.server import Server, serve
from tests.support.snapshots import snapshot, training, write

FIRST_PAGE_BYTES = {"en-US": 110_000, "zh-CN": 140_000}
"""Packed scripts and styles of the first page, at most. Another language comes beside English."""

SERVING = Path(__file__).parents[2] / "traces" / "generate_four"
"""A recording with iterations of generation: what shows them comes for such alone."""
COMPILED = SERVING.parent / "without_device" / "compiled"
"""A recording with compiled code, likewise."""

LETTERS = dict(zip("oawtpklrmunfdchis", PAGES, strict=True))
"""The keys behind ``g`` that lead to each page."""

STATIC = "/static/"


def packed(name: str) -> int:
    return len(gzip.compress((BUNDLE / name).read_bytes(), 9))


def names(requests: list[Request]) -> set[str]:
    """Return the files of the bundle among some requests."""
    paths = [urlsplit(request.url).path for request in requests]
    return {path.partition(STATIC)[2] for path in paths if STATIC in path}


def two_ranks(folder: Path) -> Path:
    """Write two ranks with memory, the first with a snapshot: the page shows more if asked for."""
    for rank in (0, 1):
        trace = document(
            op("aten::empty", 0, 50),
            memory(10, 4096, 4096 * (rank + 1)),
            distributedInfo={"rank": rank, "world_size": 2},
        )
        path = folder / f"host_{rank}.1700000000000.pt.trace.json"
        path.write_text(json.dumps(trace))
    write(folder / "host_0.1700000000000.memory_snapshot.pickle", snapshot(training()))
    return folder


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_the_first_page_is_small_and_the_pages_load_the_rest(
    browser: Browser, tensorboard: Server, locale: str, tmp_path: Path
) -> None:
    context = browser.new_context(locale=locale)
    page = context.new_page()
    asked: list[Request] = []

    def on_request(request: Request) -> None:
        asked.append(request)

    page.on("request", on_request)
    page.goto(f"{tensorboard.url}{ALONE}#p.privateuse1.run=ddp")
    page.get_by_test_id("figure-utilization").wait_for()
    page.get_by_test_id("waited-for").wait_for()  # it comes last
    first = names(asked)
    assert sum(map(packed, first)) < FIRST_PAGE_BYTES[locale]
    for letter, name in LETTERS.items():
        page.keyboard.press("g")
        page.keyboard.press(letter)
        page.get_by_test_id(f"page-{name}").wait_for()
        page.locator("main [data-testid=loading]").wait_for(state="detached")
    page.evaluate("() => { location.hash += '&p.privateuse1.event=kernels/0'; }")
    page.get_by_test_id("record-name").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.get_by_test_id("record-open").click()
    page.get_by_test_id("record-off").wait_for()
    for logdir, shown in ((SERVING, "serving-phases"), (COMPILED, "compile-phases")):
        with serve("--logdir", logdir) as server:
            page.goto(f"{server.url}{ALONE}")
            page.get_by_test_id(shown).wait_for()
    with serve("--logdir", two_ranks(tmp_path)) as server:
        page.goto(f"{server.url}{ALONE}#p.privateuse1.view=memory")
        page.get_by_test_id("open-memory-ranks").click()
        page.get_by_test_id("memory-ranks").wait_for()
        page.get_by_test_id("open-memory-segments").click()
        page.get_by_test_id("memory-segments").wait_for()
    scripts = {path.relative_to(BUNDLE).as_posix() for path in BUNDLE.rglob("*.js")}
    unused = {name for name in scripts - names(asked) if "assets/zh-" not in name}
    assert unused == set()
    assert any("assets/zh-" in name for name in first) == (locale == "zh-CN")
    context.close()


def test_a_script_that_cannot_be_loaded_is_an_error_with_a_way_out(dashboard: Dashboard) -> None:
    dashboard.watch.expected += ["Failed to load resource", "net::ERR_FAILED"]
    dashboard.page.route("**/assets/sql-*.js", lambda route: route.abort())
    settled(dashboard.open(run="ddp"))
    dashboard.go_to("sql")
    dashboard.shows("error", code="network")
    dashboard.page.unroute_all()
    dashboard.get("retry").click()
    dashboard.shows("sql-text")
    assert dashboard.state()["view"] == "sql"
