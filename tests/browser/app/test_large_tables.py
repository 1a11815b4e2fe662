"""A table of 30,000 rows: only what is seen is in the page, wherever one scrolls and sorts."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support import large_trace
from tests.support.axe import settled
from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.make import document, op
from tests.support.server import Server, serve

ROWS = 30_000

MOST_ROWS = 80
"""In the page: a screen, and a margin above and below."""

MOST_PRINTED_ROWS = 2_000
"""On paper; as use-grid.ts has it."""

_SEEN = """table => {
    const scroller = table.querySelector(".scroller");
    const body = scroller.querySelector("tbody");
    const edges = scroller.getBoundingClientRect();
    const rows = [...body.querySelectorAll("tr[data-key]")];
    const visible = rows.filter((r) => {
        const box = r.getBoundingClientRect();
        return box.bottom > edges.top + 24 && box.top < edges.bottom - 24;
    });
    return { rows: rows.length, all: body.rows.length,
        indices: visible.map((r) => Number(r.getAttribute("aria-rowindex"))),
        bytes: visible.map((r) => Number(r.querySelector('[data-column="bytes"]').dataset.value)) };
}"""


_COVERED = """() => {
    const scroller = document.querySelector('[data-testid="table-allocations"] .scroller');
    const { left, top, height } = scroller.getBoundingClientRect();
    const foot = scroller.querySelector("tfoot").getBoundingClientRect().height;
    const at = (share) => document.elementFromPoint(left + 20, top + share * (height - foot));
    return [0.2, 0.5, 0.95].every((share) => at(share)?.closest("tr[data-key]"));
}"""
"""Whether rows have come to where it was scrolled to."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = large_trace.write(tmp_path_factory.mktemp("logdir"), ROWS)
    with serve("--logdir", folder) as server:
        yield server


@pytest.fixture
def dashboard(visit: Callable[[Server], Dashboard], server: Server) -> Dashboard:
    """The page with all of the table's rows."""
    dashboard = visit(server).open(run="large", view="memory", group="allocations")
    dashboard.get("all-allocations").click(timeout=3 * WAIT_MS)
    table = dashboard.get("table-allocations")
    expect(table).to_have_attribute("data-rows", str(ROWS), timeout=3 * WAIT_MS)
    return settled(dashboard)


def test_rows_in_the_page_stay_few_and_right(dashboard: Dashboard, tmp_path: Path) -> None:
    table = dashboard.get("table-allocations")
    scroller = table.locator(".scroller")
    for share in (0, 0.001, 0.25, 0.5, 0.75, 0.999, 1):
        scroller.evaluate("(s, share) => { s.scrollTop = share * s.scrollHeight; }", share)
        dashboard.frame.wait_for_function(_COVERED)
        seen = table.evaluate(_SEEN)
        assert 5 < seen["rows"] <= MOST_ROWS
        assert seen["all"] <= seen["rows"] + 2  # what stands for the rest, above and below
        first = seen["indices"][0]
        assert seen["indices"] == list(range(first, first + len(seen["indices"])))
        # The largest first; the second row of the grid has the largest, after the head.
        assert seen["bytes"] == [512 * (ROWS + 2 - i) for i in seen["indices"]]
    assert seen["indices"][-1] == ROWS + 1
    table.locator('th[data-column="bytes"] button').click()
    scroller.evaluate("s => { s.scrollTop = 0; }")
    expect(table.locator("tbody tr[data-key]").first).to_have_attribute("aria-rowindex", "2")
    assert table.evaluate(_SEEN)["bytes"][:3] == [512, 1024, 1536]
    table.locator('th[data-column="allocated_ns"] button').click()
    first = table.locator('tbody tr[data-key] td[data-column="allocated_ns"]').first
    expect(first).to_have_attribute("data-value", str((10 * (ROWS - 1) + 1) * 1000))


def test_the_keyboard_and_the_filter_reach_all(dashboard: Dashboard, tmp_path: Path) -> None:
    table = dashboard.get("table-allocations")
    table.get_by_role("grid").focus()
    dashboard.page.keyboard.press("End")
    expect(table.locator("tr.active")).to_have_attribute("aria-rowindex", str(ROWS + 1))
    dashboard.page.keyboard.press("Home")
    expect(table.locator("tr.active")).to_have_attribute("aria-rowindex", "2")
    dashboard.get("filter").fill('operator = "aten::op7"')
    expect(table).to_have_attribute("data-shown", str(ROWS // 50))
    with dashboard.page.expect_download() as download:
        dashboard.get("csv").click()
    download.value.save_as(tmp_path / "saved.csv")
    with (tmp_path / "saved.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == ROWS // 50


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """More operators than the page takes: the server looks for words, and sorts."""
    folder = tmp_path_factory.mktemp("names")
    events = [op(f"aten::op{i}", 10 * i, 10 * i + 8, id=i + 1) for i in range(20_100)]
    (folder / "names").mkdir()
    path = folder / "names" / "host.1700000000000.pt.trace.json"
    path.write_text(json.dumps(document(*events)))
    with serve("--logdir", folder) as server:
        yield server


def test_who_types_keeps_the_field_while_the_server_looks(
    visit: Callable[[Server], Dashboard], names: Server
) -> None:
    dashboard = visit(names).open(run="names", view="operators")
    dashboard.rows("operators")
    dashboard.shows("others")
    box = dashboard.get("filter")
    box.click()
    for letter in "op7":
        dashboard.page.keyboard.press(letter)
        dashboard.page.wait_for_timeout(400)  # until the address and the server know
    expect(box).to_be_focused()
    expect(box).to_have_value("op7")
    dashboard.rests()
    assert dashboard.state()["filter"] == "op7"
    assert all("op7" in row["name"] for row in dashboard.rows("operators").values())


def test_paper_has_the_first_rows_and_says_so(dashboard: Dashboard) -> None:
    table = dashboard.get("table-allocations")
    rows = table.locator("tbody tr[data-key]")
    dashboard.page.emulate_media(media="print")
    expect(rows).to_have_count(MOST_PRINTED_ROWS)
    expect(rows.last).to_have_attribute("aria-rowindex", str(MOST_PRINTED_ROWS + 1))
    note = f"The first {MOST_PRINTED_ROWS:,} of {ROWS:,} allocations are printed"
    expect(dashboard.get("printed-rows")).to_contain_text(note)
    wide = table.locator(".scroller")
    assert wide.evaluate("box => box.querySelector('table').offsetWidth <= box.offsetWidth")
    dashboard.page.emulate_media(media="null")
    expect(dashboard.get("printed-rows")).to_have_count(0)
    assert rows.count() <= MOST_ROWS
