"""The segments of a memory snapshot: the figures, the failed allocation, and each piece by key."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.support.axe import violations
from tests.support.dashboard import Dashboard
from tests.support.server import Server, serve
from tests.support.snapshots import Allocator, snapshot, write

MIB = 1 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A TensorBoard with a snapshot of one segment, whose middle is free."""
    allocator = Allocator(kind="large")
    allocator.allocate(MIB // 2, line=10)
    gone = allocator.allocate(MIB)
    allocator.allocate(MIB // 2, line=11)
    allocator.free(gone)
    allocator.refuse(3 * MIB // 2)
    folder = tmp_path_factory.mktemp("segments")
    write(folder / "host_1.1700000000000000000.memory_snapshot.pickle", snapshot(allocator))
    with serve("--logdir", folder) as server:
        yield server


def test_the_picture_is_read_by_pointer_and_by_keys(
    visit: Callable[[Server], Dashboard], server: Server
) -> None:
    dashboard = visit(server).open(view="memory")
    dashboard.get("open-memory-segments").click()
    dashboard.shows("memory-segments", value=1)
    assert dashboard.figure("free_bytes") == MIB
    refused = dashboard.get("refused").locator("li")
    expect(refused).to_have_attribute("data-key", "full")
    expect(refused).to_have_attribute("data-value", str(MIB // 2))
    bar, said = dashboard.inside.get_by_role("slider"), dashboard.get("segment-piece")
    bar.focus()
    expect(said).to_contain_text("/work/model0.py:10 in layer0")
    dashboard.page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("1.00 MiB free")
    expect(bar).to_have_attribute("aria-valuenow", "2")
    dashboard.page.keyboard.press("End")
    expect(said).to_contain_text("/work/model0.py:11 in layer0")
    bar.locator("i").first.hover()
    expect(said).to_contain_text("/work/model0.py:10 in layer0")
    assert violations(dashboard) == []


def test_the_picture_fits_a_narrow_screen(
    visit: Callable[[Server], Dashboard], server: Server
) -> None:
    dashboard = visit(server)
    dashboard.page.set_viewport_size({"width": 600, "height": 900})
    dashboard.open(view="memory").get("open-memory-segments").click()
    dashboard.shows("memory-segments", value=1)
    assert dashboard.inside.locator("main").evaluate("e => e.scrollWidth - e.clientWidth") <= 1
