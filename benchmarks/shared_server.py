"""A server that a team shares: many clients at once, and many that ask for the same.

``python -m benchmarks.shared_server [--clients 50] [--seconds 40] [--of FOLDER] [--json FILE]``

Clients ask a real TensorBoard for views of real traces at random, as pages do: with ``wait_ms``,
again until the answer is there, or they leave. ``longest_s`` is that of a single request,
``answer_s`` from the first question to the answer. Memory is the server's; what it has left of
threads, descriptors and processes is counted some seconds after the last client left.

``herd`` is one heavy request, and eight of the same at a time: the processor time of the server.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.many_runs import PLUGIN
from benchmarks.read_traces import REAL
from benchmarks.routes import Server, tensorboard

VIEWS = (
    "overview", "advice", "timeline", "operators", "operators?group=shapes", "kernels", "runtime",
    "memory", "modules", "flame?by=device", "distributed", "diff", "whatif", "whatif?limit=5",
    "critical", "roofline", "counters", "quality", "hotspots", "search?text=conv",
    "diff?by=kernels",
)  # fmt: skip
_TICKS = os.sysconf("SC_CLK_TCK")
_SETTLE_S = 8.0
_PATIENCE_S = 10.0
"""Behind the end, for answers that are on their way."""
_LEAVE = 0.1
"""The share of pages that are closed before their answer is there."""


class Load:
    """What the clients have seen."""

    def __init__(self, server: Server, runs: list[tuple[str, int]], seconds: float) -> None:
        self.server, self.runs = server, runs
        self.end_s = time.monotonic() + seconds
        self.statuses: Counter[int] = Counter()
        self.request_s: list[float] = []
        self.answer_s: list[float] = []
        self.failures: list[str] = []
        self._lock = threading.Lock()

    def client(self, seed: int) -> None:
        """Ask at random until the end."""
        rng = random.Random(seed)
        while time.monotonic() < self.end_s:
            view = rng.choice(VIEWS)
            run, rank = rng.choice(self.runs)
            mark = "&" if "?" in view else "?"
            asked = f"{view}{mark}run={urllib.request.quote(run)}&rank={rank}&wait_ms=300"
            began, is_leaving = time.monotonic(), rng.random() < _LEAVE
            while (
                self._ask(asked) == 202
                and not is_leaving
                and time.monotonic() < self.end_s + _PATIENCE_S
            ):
                pass
            with self._lock:
                self.answer_s.append(time.monotonic() - began)
            time.sleep(rng.random())

    def _ask(self, path: str) -> int:
        began = time.monotonic()
        try:
            status, body = self.server.ask(path)
        except (OSError, urllib.error.URLError) as error:
            status, body = 0, repr(error).encode()
        with self._lock:
            self.statuses[status] += 1
            self.request_s.append(time.monotonic() - began)
            if status not in (200, 202):
                self.failures.append(f"{status} {path}: {body[:200]!r}")
        return status


def serve(logs: Path, cache: Path) -> contextlib.AbstractContextManager[Server]:
    """Return a TensorBoard with our plugin alone: others would read the traces, too."""
    return tensorboard(["tb_privateuse1.cli", "demo", str(logs), "--no-browser"], cache, PLUGIN)


def usage(pid: int) -> dict[str, Any]:
    """Return what a process holds now; ``peak_bytes`` is its highest resident memory."""
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().split("\n") if line
    )
    return {
        "bytes": int(status["VmRSS"].split()[0]) << 10,
        "peak_bytes": int(status["VmHWM"].split()[0]) << 10,
        "threads": int(status["Threads"]),
        "descriptors": len(list(Path(f"/proc/{pid}/fd").iterdir())),
        "processes": len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()),
    }


def cpu_s(pid: int) -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def quantile(values: list[float], share: float) -> float:
    """Return a quantile in ms-exact seconds."""
    return round(sorted(values)[min(int(share * len(values)), len(values) - 1)], 3)


def herd(server: Server, path: str, clients: int) -> float:
    """Return the processor time of the same request by so many clients at a time."""
    before = cpu_s(server.pid)
    threads = [threading.Thread(target=server.ask, args=(path,)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return round(cpu_s(server.pid) - before, 2)


def listed(server: Server) -> list[tuple[str, int]]:
    """Return all runs with their ranks, once the search has ended."""
    while (runs := server.json("runs"))["scanning"]:
        time.sleep(0.2)
    return [(run["run"], worker["rank"]) for run in runs["runs"] for worker in run["workers"]]


def measure(logs: Path, clients: int, seconds: float) -> dict[str, Any]:
    """Return the figures of one server under load."""
    with tempfile.TemporaryDirectory() as cache, serve(logs, Path(cache)) as server:
        runs = listed(server)[:50]
        pid = server.pid
        before = usage(pid)
        load = Load(server, runs, seconds)
        threads = [threading.Thread(target=load.client, args=(i,)) for i in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        spent_s = cpu_s(pid)
        print(f"{len(load.request_s)} requests, {dict(load.statuses)}", flush=True)
        time.sleep(_SETTLE_S)
        return {
            "clients": clients,
            "traces": len(runs),
            "requests": len(load.request_s),
            "statuses": dict(load.statuses),
            "longest_s": quantile(load.request_s, 1),
            "request_p95_s": quantile(load.request_s, 0.95),
            "answers": len(load.answer_s),
            "answer_p50_s": quantile(load.answer_s, 0.5),
            "answer_p95_s": quantile(load.answer_s, 0.95),
            "cpu_s": round(spent_s, 1),
            "before": before,
            "after": usage(pid),
            "failures": load.failures[:10],
        }


def measure_herd(logs: Path) -> dict[str, float]:
    """Return the processor time of one request and of eight, each of a fresh server."""
    figures = {}
    with tempfile.TemporaryDirectory() as cache:
        for clients in (1, 1, 8):  # the first one reads the trace
            with serve(logs, Path(cache)) as server:
                listed(server)
                server.ask("method")
                figures[f"{clients}_at_once_s"] = herd(server, "whatif", clients)
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", type=Path, default=REAL.parents[1])
    parser.add_argument("--only", choices=["load", "herd"])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    if options.only != "herd":
        figures["load"] = measure(options.of, options.clients, options.seconds)
    if options.only != "load":
        with tempfile.TemporaryDirectory() as one:
            traces = options.of.glob("*/*/*.pt.trace.json*")
            shutil.copy(max(traces, key=lambda path: path.stat().st_size), one)
            figures["herd"] = measure_herd(Path(one))
    text = json.dumps(figures, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
