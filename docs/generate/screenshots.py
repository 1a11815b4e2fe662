"""Take the READMEs' pictures of the sample runs: ``python -m docs.generate.screenshots``.

Needs the test extra (playwright) and the system's Chromium.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.support.chromium import launch

IMAGES = Path(__file__).parents[1] / "images"
PICTURES = {
    "overview": ("run=transformer-inferred", "en-US"),
    "overview.zh": ("run=transformer-inferred", "zh-CN"),
    "timeline": (
        "run=transformer-inferred&p.privateuse1.view=timeline&p.privateuse1.step=2",
        "en-US",
    ),
}
"""By name: the selection, and the reader's language (Chinese needs a font for it)."""


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def main() -> None:
    """Serve the sample runs, open each page and save what it looks like."""
    port = free_port()
    command = [sys.executable, "-m", "tb_privateuse1.cli", "demo", "--no-browser"]
    server = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.DEVNULL)
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
                break
            except OSError:
                time.sleep(0.5)
        with sync_playwright() as playwright:
            browser = launch(playwright)
            IMAGES.mkdir(exist_ok=True)
            for name, (query, locale) in PICTURES.items():
                page = browser.new_page(viewport={"width": 1280, "height": 800}, locale=locale)
                page.goto(f"http://127.0.0.1:{port}/#privateuse1&p.privateuse1.{query}")
                page.reload()
                frame = page.frame_locator("iframe")
                frame.get_by_test_id("source-badge").wait_for(timeout=30_000)
                page.wait_for_timeout(3000)
                page.screenshot(path=IMAGES / f"{name}.png")
                page.close()
            browser.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
