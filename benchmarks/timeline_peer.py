"""The first picture of the same trace, ours and torch-tb-profiler's, and the bytes for it.

``python -m benchmarks.timeline_peer [--folder DIR] [--json FILE]``

A real trace repeated to 288 MB. Both without TensorBoard's own page around them, from the call of
an address to the first picture, each time in a new profile of Chromium; the median of some rounds.

``ours``: the timeline of the stored trace, until it is drawn; ``ours_within``: in TensorBoard.

``peer``: torch-tb-profiler's trace view, in an environment of its own (``read_speed``), which its
server has read (``reading``), with the polyfill that it loads from a CDN taken from npm. Its page
is driven as its own host does: the trace is fetched and given to the viewer, until that has its
model. Bytes are what came over the wire for the plugin, packed as it was.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from benchmarks.read_speed import peers_python
from benchmarks.timeline_speed import (
    PATIENCE_MS,
    Figures,
    address,
    chromium,
    made,
    ours,
    picture,
    serving,
    show,
)  # fmt: skip

BYTES = 288 * 10**6
ROUNDS = 5
OURS = "data/plugin_entry.html?name=privateuse1#"
PEER = "data/plugin/pytorch_profiler/"
POLYFILL = "webcomponents.js@0.7.24"
SHOW = """trace => {
    return fetch(trace).then(answer => answer.text()).then(text => new Promise(resolve => {
        window.postMessage({ name: "trace", data: text }, "*");
        const look = () => document.querySelector("#trace-viewer").model
            ? requestAnimationFrame(() => resolve(performance.now())) : setTimeout(look, 20);
        look();
    }));
}"""


@contextlib.contextmanager
def peer(log: Path) -> Iterator[str]:
    """The address of a TensorBoard with torch-tb-profiler; ends with all processes it started."""
    python = peers_python()
    if python is None:
        raise SystemExit("torch-tb-profiler cannot be installed here")
    command = [python, "-m", "tensorboard.main", "--logdir", str(log), "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )  # fmt: skip
    try:
        assert process.stdout
        found = None
        while found is None and (line := process.stdout.readline()):
            found = re.search(r"(http://[^\s#]+) \(Press", line)
        if found is None:
            raise RuntimeError("TensorBoard did not start")
        # Nobody reads on, and a full pipe would hold it up.
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield found[1].rstrip("/") + "/"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Received:
    """Bytes that a page got over the wire, by what their address has in it."""

    def __init__(self, page: Page) -> None:
        self._of: dict[str, tuple[str, int]] = {}
        self.session = page.context.new_cdp_session(page)
        self.session.send("Network.enable")
        self.session.on("Network.responseReceived", self._named)
        self.session.on("Network.loadingFinished", self._ended)

    def _named(self, event: dict[str, Any]) -> None:
        self._of[event["requestId"]] = event["response"]["url"], 0

    def _ended(self, event: dict[str, Any]) -> None:
        url, _ = self._of.get(event["requestId"], ("", 0))
        self._of[event["requestId"]] = url, event["encodedDataLength"]

    def of(self, part: str) -> int:
        """All whose address has this in it."""
        return sum(size for url, size in self._of.values() if part in url)


@contextlib.contextmanager
def visitor(browser: Browser) -> Iterator[tuple[Page, Received]]:
    """A page of somebody who has never been here."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    yield page, Received(page)
    context.close()


def against(browser: Browser, log: Path, cache: Path) -> Figures:
    """Both views of the same trace."""
    found: Figures = {}
    with serving(ours(log), cache) as url:
        with visitor(browser) as (page, _):
            found["ours_within_s"] = picture(page, address(url), 0)
        times = []
        for _ in range(ROUNDS):
            with visitor(browser) as (page, got):
                times.append(picture(page, address(url, OURS), 0))
                page.wait_for_timeout(500)
                found["ours_bytes"] = got.of("/privateuse1/")
    found |= _spread("ours", times)
    with peer(log) as url:
        began = time.perf_counter()
        while (told := _get(f"{url}{PEER}runs"))["loading"] or not told["runs"]:
            time.sleep(0.2)
        found["peer_reading_s"] = time.perf_counter() - began
        run = told["runs"][0]
        worker = _get(f"{url}{PEER}workers?run={run}&view=Trace")[0]
        span = _get(f"{url}{PEER}spans?run={run}&worker={worker}")[0]
        times = []
        for _ in range(ROUNDS):
            with visitor(browser) as (page, got), polyfill(page):
                began = time.perf_counter()
                page.goto(f"{url}{PEER}trace_embedding.html")
                page.locator("#trace-viewer").wait_for(state="attached")
                page.evaluate(SHOW, f"./trace?run={run}&worker={worker}&span={span}")
                times.append(time.perf_counter() - began)
                found["peer_bytes"] = got.of(PEER)
    return found | _spread("peer", times)


def _spread(name: str, times: list[float]) -> Figures:
    return {
        f"{name}_s": statistics.median(times),
        f"{name}_least_s": min(times),
        f"{name}_most_s": max(times),
    }


@contextlib.contextmanager
def polyfill(page: Page) -> Iterator[None]:
    """What the peer's page loads from a CDN, from npm."""
    with tempfile.TemporaryDirectory() as folder:
        pack = ["npm", "pack", "--silent", POLYFILL]
        subprocess.run(pack, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        archive = next(Path(folder).glob("*.tgz"))
        subprocess.run(["tar", "xzf", str(archive)], cwd=folder, check=True)
        text = Path(folder, "package", "webcomponents.min.js").read_text()
        page.route("**/webcomponents.min.js", lambda route: route.fulfill(
            body=text, content_type="text/javascript"))  # fmt: skip
        yield


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=PATIENCE_MS / 1000) as answer:
        return json.loads(answer.read())


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="keep the trace and its cache there")
    parser.add_argument("--json", type=Path, help="also write all figures there")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cache = folder / "cache"
        log = made(folder, cache, "same", size=BYTES)
        with chromium() as browser:
            figures = against(browser, log, cache)
    figures["times_sooner"] = figures["peer_s"] / figures["ours_s"]
    figures["times_sooner_at_least"] = figures["peer_least_s"] / figures["ours_most_s"]
    figures["times_less"] = figures["peer_bytes"] / figures["ours_bytes"]
    show({"both": figures}, options.json)


if __name__ == "__main__":
    main()
