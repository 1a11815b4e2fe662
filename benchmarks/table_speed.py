"""A table of 100,000 rows in Chromium: sorting, filtering, scrolling.

``python -m benchmarks.table_speed [--json FILE]``

The allocations of a run with so many (``tests/support/large_trace.py``), all of them in the page.
Of each act: ``script_ms``, all JavaScript that ran for it as Chromium counts it, and ``seen_ms``,
from the act until the second frame after the rows that belong there are in the page. Scrolling goes
by the wheel, a screen each time: also the longest time between two frames.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from playwright.sync_api import CDPSession, Locator, Page

from benchmarks.timeline_speed import Figures, address, chromium, ours, serving, show
from tests.support import large_trace

ACTS, SCROLLS = 5, 60
ROWS = 100_000
_FRAMES = """() => {
    window.frames_ms = [];
    let last = performance.now();
    const next = (now) => {
        window.frames_ms.push(now - last);
        last = now;
        requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
}"""
_PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Looking:
    """What Chromium counts of a page."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._session: CDPSession = page.context.new_cdp_session(page)
        self._session.send("Performance.enable")

    def _script_s(self) -> float:
        told = self._session.send("Performance.getMetrics")["metrics"]
        return next(float(m["value"]) for m in told if m["name"] == "ScriptDuration")

    @contextlib.contextmanager
    def act(self, script: list[float], seen: list[float]) -> Iterator[None]:
        """Appends the ms of what is done within."""
        before, began = self._script_s(), time.perf_counter()
        yield
        self._page.evaluate(_PAINTED)
        seen.append(1000 * (time.perf_counter() - began))
        script.append(1000 * (self._script_s() - before))


def measured(page: Page, table: Locator) -> dict[str, Figures]:
    """Of each act, the median and the greatest."""
    look = Looking(page)
    first = table.locator("tbody tr[data-key]").first
    found = {}
    filtered = page.frame_locator("iframe[src*='privateuse1']").get_by_test_id("filter")

    def sort(column: str) -> None:
        head = table.locator(f'th[data-column="{column}"]')
        before = head.get_attribute("aria-sort")
        head.get_by_role("button").click()
        head.and_(table.locator(f'th[aria-sort]:not([aria-sort="{before}"])')).wait_for()
        first.wait_for()

    def narrow(text: str) -> None:
        filtered.fill(text)
        shown = ROWS // 50 if text else ROWS
        page.frame_locator("iframe[src*='privateuse1']").locator(
            f'[data-testid=table-allocations][data-shown="{shown}"]'
        ).wait_for()

    acts: dict[str, Callable[[int], None]] = {
        "sort by a number": lambda _: sort("bytes"),
        "sort by a text": lambda _: sort("operator"),
        "filter": lambda i: narrow("" if i % 2 else 'operator = "aten::op7"'),
    }
    for name, act in acts.items():
        script: list[float] = []
        seen: list[float] = []
        for i in range(2 * ACTS):
            with look.act(script, seen):
                act(i)
        found[name] = summary(script, seen)
    table.locator(".scroller").hover()
    page.evaluate(_FRAMES)
    script, seen = [], []
    for i in range(SCROLLS):
        with look.act(script, seen):
            page.mouse.wheel(0, 600 if i < SCROLLS - 10 else -20_000)
    frames = page.evaluate("window.frames_ms")
    found["scroll"] = summary(script, seen) | {
        "frame_median_ms": float(np.median(frames)), "frame_max_ms": float(np.max(frames)),
    }  # fmt: skip
    return found


def summary(script: list[float], seen: list[float]) -> Figures:
    """Medians and greatest ones."""
    return {
        "script_median_ms": float(np.median(script)), "script_max_ms": float(np.max(script)),
        "seen_median_ms": float(np.median(seen)), "seen_max_ms": float(np.max(seen)),
    }  # fmt: skip


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="also write all figures there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        large_trace.write(folder, ROWS)
        with serving(ours(folder), folder / "cache") as url:
            page = browser.new_page(viewport={"width": 1600, "height": 1000})
            page.goto(address(url, run="large", view="memory", group="allocations"))
            frame = page.frame_locator("iframe[src*='privateuse1']")
            frame.get_by_test_id("all-allocations").click(timeout=120_000)
            table = frame.get_by_test_id("table-allocations")
            frame.locator(f'[data-testid=table-allocations][data-rows="{ROWS}"]').wait_for(
                timeout=120_000
            )
            show(measured(page, table), options.json)


if __name__ == "__main__":
    main()
