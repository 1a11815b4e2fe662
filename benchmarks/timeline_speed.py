"""The timeline of large traces: the server's windows and the browser's frames.

``python -m benchmarks.timeline_speed [--folder DIR] [--json FILE]``

The traces are a real one repeated (``read_traces``), of 10^5 and 10^7 events, and read beforehand
(``tb-privateuse1 ingest``). With ``--folder`` they and their cache are kept there.

``server``: 400 windows of any place and length (a millionth to all of the recording), 2,400 parts,
all tracks unfolded; to the packed bytes, in this process; by the clock, and of the processor.

``browser``: Chromium, and a TensorBoard that has just been started. ``first picture`` is from the
click on another run, whose trace is stored, to its rectangles on the screen; ``cold`` from the
call of the address, with TensorBoard's own pages. For each move of panning: all JavaScript that ran
for it, as Chromium counts it, and what was drawn. ``search`` is from the last letter to the number
of matches.

``long_tasks``: what blocked the browser's main thread for more than 50 ms (the Long Tasks API,
which tells of no shorter ones) while the timeline was zoomed 20 times, from the whole recording
on, and panned 60 times: by keys, by the wheel and by dragging. Where others use the processor too,
the clock counts their time as well: ``longest_task_cpu_ms`` is of Chromium's own main thread.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.read_traces import ROOT, write
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import derived
from tb_privateuse1.storage.store import Store
from tb_privateuse1.views.encoding import encode_columns
from tb_privateuse1.views.timeline import timeline
from tests.support.chromium import launch

EVENTS = {"small": 10**5, "large": 10**7}
WINDOWS, PARTS, MOVES = 400, 2400, 60
TEXTS = ("gemm", "conv", "aten::", "a", "nowhere")
PATIENCE_MS = 600_000

DRAWN = """() => {
    const frame = [...document.querySelectorAll("iframe")].find(f => f.src.includes("privateuse1"));
    const inside = frame ? frame.contentDocument : document;
    const canvas = inside?.querySelector("[data-testid=timeline-canvas]");
    return canvas && Number(canvas.dataset.drawn) > 0 && canvas.dataset.stop > %d ? true : false;
}"""
Figures = dict[str, float]


def made(folder: Path, cache: Path, name: str, **asked: int) -> Path:
    """The directory of a trace, a run of its own, which is stored; see ``read_traces.write``."""
    path = folder / "log" / name / "worker.1.pt.trace.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, **asked)
    command = [sys.executable, "-m", "tb_privateuse1.cli", "ingest", str(path.parent)]
    subprocess.run(command, check=True, env=environment(cache), stderr=subprocess.DEVNULL)
    return path.parent


def environment(cache: Path) -> dict[str, str]:
    """For processes of ours."""
    return {**os.environ, "TB_PRIVATEUSE1_CACHE": str(cache), "PYTHONPATH": str(ROOT)}


def windows(log: Path, cache: Path) -> Figures:
    """Milliseconds and bytes of any windows of a stored trace."""
    began = time.perf_counter()
    trace = Store(jobs=0, cache_dir=cache).trace(catalog.scan(str(log), READERS).find())
    ready = derived.DerivedData(trace)
    first = encode_columns(timeline(trace, ready.pyramid, ready.curves, width=PARTS))
    opened = time.perf_counter() - began
    assert first is not None
    random = np.random.default_rng(1)
    took, worked, size = [], [], []
    for _ in range(WINDOWS):
        span = trace.end_ns * 10 ** -random.uniform(0, 6)
        start = int(random.uniform(-0.3 * span, trace.end_ns - 0.7 * span))
        began, busy = time.perf_counter(), time.process_time()
        found = timeline(trace, ready.pyramid, ready.curves, start_ns=start,
                         stop_ns=start + int(span) + 1, width=PARTS)  # fmt: skip
        body = encode_columns(found)
        took.append(1000 * (time.perf_counter() - began))
        worked.append(1000 * (time.process_time() - busy))
        assert body is not None
        size.append(len(body))
    return {
        "ranges": sum(len(getattr(trace, t)) for t in ("ops", "frames", "launches", "kernels")),
        "opened_s": opened,
        "median_ms": float(np.median(took)),
        "p95_ms": float(np.percentile(took, 95)),
        "cpu_median_ms": float(np.median(worked)),
        "cpu_p95_ms": float(np.percentile(worked, 95)),
        "largest_kb": max(size) / 1000,
    }


@contextlib.contextmanager
def serving(command: list[str], cache: Path) -> Iterator[str]:
    """A TensorBoard's address."""
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=environment(cache), start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout
        for line in process.stdout:
            if found := re.search(r"(http://[^\s#]+)", line):
                yield found[1].rstrip("/") + "/"
                return
        raise RuntimeError("TensorBoard did not start")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def ours(log: Path) -> list[str]:
    """The command for our plugin alone."""
    return ["-m", "tb_privateuse1.cli", "demo", str(log), "--no-browser"]


def address(url: str, page: str = "#privateuse1&", **state: str) -> str:
    """Our timeline with a selection."""
    told = {"view": "timeline", **state}
    return url + page + "&".join(f"p.privateuse1.{k}={v}" for k, v in told.items())


def picture(page: Page, url: str, stop_ns: int) -> float:
    """Seconds until a timeline that reaches so far is drawn."""
    began = time.perf_counter()
    page.goto(url)
    page.wait_for_function(DRAWN % stop_ns, polling="raf", timeout=PATIENCE_MS)
    return time.perf_counter() - began


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Without a window."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


def browsing(browser: Browser, log: Path, cache: Path) -> Figures:
    """The large trace in Chromium."""
    trace = Store(jobs=0, cache_dir=cache).trace(catalog.scan(str(log / "small"), READERS).find())
    found: Figures = {}
    with serving(ours(log), cache) as url:
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        picture(page, address(url, run="small"), 0)
        found["first_picture_s"] = picture(page, address(url, run="large"), 2 * trace.end_ns)
        frame = next(f for f in page.frames if "name=privateuse1" in f.url)
        found |= panned(page, frame)
        found |= long_tasks(browser, page, frame)
        box = frame.get_by_test_id("timeline-search")
        for text in TEXTS:
            box.fill(text)
            began = time.perf_counter()
            frame.wait_for_function(
                "text => { const hits = document.querySelector('[data-testid=timeline-hits]');"
                "return new URL(parent.location.href).hash.endsWith('find=' + text) && hits; }",
                arg=text.replace(":", "%3A"), polling="raf", timeout=PATIENCE_MS,
            )  # fmt: skip
            found[f"search_{text}_s"] = time.perf_counter() - began
            box.fill("")
            page.wait_for_timeout(300)
        page.close()
    with serving(ours(log), cache) as url:
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        found["cold_s"] = picture(page, address(url, run="large"), 0)
        page.close()
    return found


def panned(page: Page, frame: Any) -> Figures:
    """What a move costs: JavaScript as Chromium counts it, and rectangles that were drawn."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    canvas = frame.get_by_test_id("timeline-canvas")
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 200)
    frame.locator(".timecanvas").focus()
    for _ in range(12):
        page.keyboard.press("w")
    page.wait_for_timeout(1500)

    def script_s() -> float:
        told = session.send("Performance.getMetrics")["metrics"]
        return next(float(m["value"]) for m in told if m["name"] == "ScriptDuration")

    took, drawn, painted = [], [], []
    for move in range(MOVES):
        before = script_s()
        page.keyboard.press("d" if move % 20 < 10 else "a")
        page.wait_for_timeout(100)
        took.append(1000 * (script_s() - before))
        drawn.append(int(canvas.get_attribute("data-drawn")))
        painted.append(float(canvas.get_attribute("data-ms")))
    return {
        "script_median_ms": float(np.median(took)), "script_p95_ms": float(np.percentile(took, 95)),
        "paint_median_ms": float(np.median(painted)), "most_drawn": max(drawn),
    }  # fmt: skip


_WATCH = """() => {
    window.longTasks = [];
    const keep = list => window.longTasks.push(...list.getEntries().map(e => e.duration));
    new PerformanceObserver(keep).observe({ entryTypes: ["longtask"] });
}"""
ZOOMS, BETWEEN_MS = 20, 100


def long_tasks(browser: Browser, page: Page, frame: Any) -> Figures:
    """How many tasks took more than 50 ms, and the longest one, by what was done."""
    box = frame.get_by_test_id("timeline-canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + 200

    def zoom(number: int) -> None:
        page.mouse.move(x, y)
        page.keyboard.down("Control")
        page.mouse.wheel(0, -240 if number < ZOOMS * 3 // 4 else 240)
        page.keyboard.up("Control")

    def press(number: int) -> None:
        page.keyboard.press("d" if number % 20 < 10 else "a")

    def wheel(number: int) -> None:
        page.keyboard.down("Shift")
        page.mouse.wheel(0, 200 if number % 20 < 10 else -200)
        page.keyboard.up("Shift")

    def drag(number: int) -> None:
        way = 300 if number % 20 < 10 else -300
        page.keyboard.down("Shift")
        page.mouse.move(x - way / 2, y)
        page.mouse.down()
        page.mouse.move(x + way / 2, y, steps=8)
        page.mouse.up()
        page.keyboard.up("Shift")

    frame.evaluate(_WATCH)
    frame.locator(".timecanvas").focus()
    page.keyboard.press("0")
    page.wait_for_timeout(1500)
    found: Figures = {}
    browser.start_tracing(page=page, categories=["toplevel"])
    for act, times in ((zoom, ZOOMS), (press, MOVES // 3), (wheel, MOVES // 3), (drag, MOVES // 3)):
        for number in range(times):
            act(number)
            page.wait_for_timeout(BETWEEN_MS)
        page.wait_for_timeout(500)
        took = frame.evaluate("() => window.longTasks.splice(0)")
        found[f"long_tasks_{act.__name__}"] = len(took)
        found[f"longest_task_{act.__name__}_ms"] = max(took, default=0.0)
    found["longest_task_cpu_ms"] = longest_cpu_ms(browser.stop_tracing())
    return found


def longest_cpu_ms(trace: bytes) -> float:
    """The processor time of the longest task of a main thread in Chromium's own trace."""
    events = json.loads(trace)["traceEvents"]
    main = {
        (e["pid"], e["tid"])
        for e in events
        if e["name"] == "thread_name" and e["args"]["name"] == "CrRendererMain"
    }
    tasks = (e for e in events if e["name"].endswith("RunTask") and (e["pid"], e["tid"]) in main)
    return max(e.get("tdur", 0) for e in tasks) / 1000


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="keep the traces and their cache there")
    parser.add_argument("--json", type=Path, help="also write all figures there")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cache = folder / "cache"
        logs = {name: made(folder, cache, name, events=n) for name, n in EVENTS.items()}
        figures = {f"server, {name}": windows(log, cache) for name, log in logs.items()}
        with chromium() as browser:
            figures["browser"] = browsing(browser, folder / "log", cache)
    show(figures, options.json)


def show(figures: dict[str, Figures], target: Path | None) -> None:
    """Print them, and write them to a file."""
    for part, told in figures.items():
        print(f"\n| {part} | |\n|---|---|")
        for name, value in told.items():
            print(f"| {name} | {value:,.3f} |" if value < 1000 else f"| {name} | {value:,.0f} |")
    if target:
        target.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
