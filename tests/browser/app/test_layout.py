"""Nothing on a page is cut, covered or wider than the page, on wide and on narrow screens."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.support.axe import settled
from tests.support.dashboard import Dashboard
from tests.support.page_states import each_page, each_state
from tests.support.repeats import sampled
from tests.support.server import FOLLOWS_LINKS, Server, serve
from tests.support.shared_traces import FOLDER, needs_traces

_FAULTS = """() => {
    const ellipsis = (e) =>
        e && (getComputedStyle(e).textOverflow === "ellipsis" || ellipsis(e.parentElement));
    const seen = (e, box) => {
        let { left, top, right, bottom } = box;
        for (; e && e !== document.documentElement; e = e.parentElement) {
            const { overflowX, overflowY } = getComputedStyle(e);
            if (overflowX === "visible" && overflowY === "visible") continue;
            const around = e.getBoundingClientRect();
            [left, right] = [Math.max(left, around.left), Math.min(right, around.right)];
            [top, bottom] = [Math.max(top, around.top), Math.min(bottom, around.bottom)];
        }
        return { left, top, right, bottom };
    };
    const faults = new Set(), texts = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const text = walker.currentNode.textContent.trim(), e = walker.currentNode.parentElement;
        if (!text || e.closest(".unseen, option, thead, tfoot") || !e.checkVisibility()) continue;
        const range = document.createRange();
        range.selectNodeContents(walker.currentNode);
        for (const whole of range.getClientRects()) {
            const box = seen(e, whole);
            if (box.right - box.left < 2 || box.bottom - box.top < 2) continue;
            const scrolls = e.closest(".scroller, .evidence, .method section, pre");
            if (whole.right - box.right > 2 && !ellipsis(e) && !scrolls)
                faults.add(`cut: ${text}`);
            for (const other of texts) {
                if (other.e.contains(e) || e.contains(other.e)) continue;
                const o = other.box;
                const wide = Math.min(box.right, o.right) - Math.max(box.left, o.left);
                const high = Math.min(box.bottom, o.bottom) - Math.max(box.top, o.top);
                // The rows of a table pass below its head, its foot and its first column.
                const rows = e.closest("td") && other.e.closest("td");
                if (wide > 3 && high > 5 && !rows)
                    faults.add(`one over the other: ${text} | ${other.text}`);
            }
            texts.push({ e, box, text });
        }
    }
    for (const e of document.querySelectorAll(".scroller td:not(.text)"))
        if (e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1)
            faults.add(`narrow: ${e.textContent}`);
    for (const head of document.querySelectorAll(".scroller th"))
        if (head.querySelector(".name")?.getBoundingClientRect().left
                < head.getBoundingClientRect().left - 1)
            faults.add(`head without its begin: ${head.textContent}`);
    const main = document.querySelector("main");
    if (main.scrollWidth > main.clientWidth + 1)
        faults.add(`the page scrolls: ${main.scrollWidth}`);
    return [...faults];
}"""


WIDTHS = (1440, 1024, 600)
HEIGHT = 900


def faults_of_page(dashboard: Dashboard) -> dict[int, list[str]]:
    """What is wrong on the open page in windows of each width.

    The first is the one that the window has, or the next to it: each change draws all anew.
    """
    found = {}
    size = dashboard.page.viewport_size
    assert size is not None
    for width in sorted(WIDTHS, key=lambda width: abs(width - size["width"])):
        if width != size["width"]:
            dashboard.page.set_viewport_size({"width": width, "height": HEIGHT})
            settled(dashboard)
        dashboard.drawn()
        if wrong := dashboard.frame.evaluate(_FAULTS):
            found[width] = wrong
    return found


def faults(dashboard: Dashboard, run: str, base: str) -> dict[str, dict[int, list[str]]]:
    """What is wrong on each page of a run."""
    dashboard.page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
    pages = each_page(dashboard, run, base)
    return {name: wrong for name in pages if (wrong := faults_of_page(dashboard))}


@pytest.mark.long
@pytest.mark.parametrize("run", sampled(["ddp", "mlp"]))
def test_every_page_has_room(dashboard: Dashboard, run: str) -> None:
    assert faults(dashboard, run, "ddp") == {}


@pytest.mark.long
def test_every_page_has_room_in_chinese_and_dark(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp").frame.evaluate(
        "() => localStorage.setItem('tb_privateuse1.language', 'zh')"
    )
    dashboard.page.emulate_media(color_scheme="dark")
    assert faults(dashboard, "mlp", "ddp") == {}
    expect(dashboard.inside.locator("html")).to_have_attribute("lang", "zh")
    expect(dashboard.inside.locator("html")).to_have_attribute("data-theme", "dark")


INSPECTED = (
    "record", "raw record", "memory event", "activities", "operator", "stack", "range", "point",
)  # fmt: skip
"""The states with an open inspector."""


@pytest.mark.long
def test_every_inspector_has_room(dashboard: Dashboard) -> None:
    states = each_state(dashboard, INSPECTED)
    assert {name: wrong for name in states if (wrong := faults_of_page(dashboard))} == {}


RECORDINGS = (
    "cuda/h100_timesformer", "cuda/two_ranks_of_128", "rocm/sglang_decode", "mtia/inference",
)  # fmt: skip
"""One step with stacks; ranks and long names; graph replays; another vendor without stacks."""


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("recordings")
    for name in RECORDINGS:
        (folder / name.replace("/", "_")).symlink_to(FOLDER / name)
    with serve("--logdir", folder, variables=FOLLOWS_LINKS) as server:
        yield server


@needs_traces
@pytest.mark.long
@pytest.mark.parametrize("name", sampled(RECORDINGS))
def test_every_page_of_a_real_recording_has_room(
    visit: Callable[[Server], Dashboard], recordings: Server, name: str
) -> None:
    run, base = (one.replace("/", "_") for one in (name, RECORDINGS[0]))
    assert faults(visit(recordings), run, base) == {}


def test_the_table_of_kernels_fits(dashboard: Dashboard) -> None:
    dashboard.page.set_viewport_size({"width": 1440, "height": HEIGHT})
    settled(dashboard.open(run="ddp", view="kernels"))
    scroller = dashboard.get("table-kernels").locator(".scroller")
    assert scroller.evaluate("e => e.scrollWidth - e.clientWidth") == 0


def test_the_error_of_a_filter_stays_in_its_box(dashboard: Dashboard) -> None:
    dashboard.page.set_viewport_size({"width": 600, "height": HEIGHT})
    settled(dashboard.open(run="ddp", view="kernels", filter="total > " + "x" * 20))
    error = dashboard.shows("filter-error")
    assert error.evaluate("e => e.scrollWidth - e.clientWidth") == 0
