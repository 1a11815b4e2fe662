"""Take the pictures of the READMEs and of the five tasks: ``make pictures``.

Needs the test extra (playwright), the system's Chromium and a Chinese font. The tasks are on
recordings that are not in the repository: without them, their pictures stay as they are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, FrameLocator, sync_playwright

from tests.support.chromium import launch
from tests.support.server import FOLLOWS_LINKS, Server, serve
from tests.support.shared_traces import FOLDER

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
SAMPLES = {
    "overview": ("run=transformer-inferred", "en-US"),
    "overview.zh": ("run=transformer-inferred", "zh-CN"),
    "timeline": ("run=transformer-inferred view=timeline step=2", "en-US"),
}
"""By name: the selection, and the reader's language."""

Act = Callable[[FrameLocator], object]


def nothing(_: FrameLocator) -> None:
    """Take the page as it opens."""


def tries(frame: FrameLocator) -> None:
    """Try the first issue."""
    frame.get_by_test_id("try").first.click()
    frame.get_by_test_id("tried").first.wait_for()


TASKS: dict[str, tuple[str, str, Act]] = {
    "why": ("more/rocm/mi300_resnet_ddp_no_pool", "", tries),
    "kernel": (
        "traces/cuda/h100_qwen",
        "",
        lambda f: f.get_by_test_id("hotspots").get_by_test_id("group-kernel").click(),
    ),
    "limit": ("more/cuda/dlrm_graphs_rank0", "", nothing),
    "changed": (
        "traces/cuda/v100_resnet50_workers0",
        "view=diff base=v100_resnet50_workers4",
        nothing,
    ),
    "peak": ("traces/cuda/h100_timesformer", "view=memory", nothing),
}
"""By name: the recording, the selection beside its run, and what is done there."""

SETTLES_MS = 3000
"""Cards come one by one; a picture shows all of them."""


def take(browser: Browser, server: Server, name: str, query: str, locale: str, act: Act) -> None:
    """Open a selection (``key=value``, separated by spaces) and save what it looks like."""
    page = browser.new_page(viewport={"width": 1280, "height": 800}, locale=locale)
    page.add_init_script("localStorage.setItem('tb_privateuse1.tour', 'closed')")
    selection = "&".join(f"p.privateuse1.{part}" for part in query.split())
    page.goto(f"{server.url}#privateuse1&{selection}")
    frame = page.frame_locator("iframe")
    frame.get_by_test_id("source-badge").wait_for(timeout=30_000)
    page.wait_for_timeout(SETTLES_MS)
    act(frame)
    page.wait_for_timeout(SETTLES_MS)
    path = IMAGES / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    page.screenshot(path=path)
    page.close()


def take_tasks(browser: Browser) -> None:
    """Take the pictures of the tasks."""
    with tempfile.TemporaryDirectory() as folder:
        for place in {place for place, _, _ in TASKS.values()} | {
            "traces/cuda/v100_resnet50_workers4"
        }:
            (Path(folder) / Path(place).name).symlink_to(FOLDER.parent / place)
        with serve("--logdir", Path(folder), variables=FOLLOWS_LINKS) as server:
            for name, (place, query, act) in TASKS.items():
                selection = f"run={Path(place).name} {query}"
                take(browser, server, f"tasks/{name}", selection, "en-US", act)


def main() -> None:
    """Serve the recordings, open each page and save what it looks like."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        with serve("--logdir", ROOT / "examples" / "runs") as server:
            for name, (query, locale) in SAMPLES.items():
                take(browser, server, name, query, locale, nothing)
        if FOLDER.is_dir():
            take_tasks(browser)
        browser.close()


if __name__ == "__main__":
    main()
