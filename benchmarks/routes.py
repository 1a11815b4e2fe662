"""How fast every route answers for a large trace that is stored, beside torch-tb-profiler's.

``python -m benchmarks.routes [--events 1e6] [--of FOLDER] [--repeat 7] [--no-peer] [--json FILE]``
``python -m benchmarks.routes --largest FOLDER`` tells each view's largest answer to a page.

A real trace (the one in ``--of``) is repeated and read once, so that it is in the cache. Then every
route is asked over HTTP of a real TensorBoard: ``restarted`` is the first answer of one that has
just come up and has nothing but the cache on disk, ``first`` the first one where the trace is open,
in a TensorBoard that answered nothing else of it, and ``again`` the mean of further ones. Nothing
keeps whole answers. torch-tb-profiler, where it is installed, answers from what it holds in memory
once its TensorBoard has read the trace (``loaded``).

Processor time of the server, in steps of 10 ms (Linux), and beside it that of the wall, which on a
machine that others use is theirs, too.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.many_runs import PLUGIN, ROOT
from benchmarks.read_traces import REAL, write
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.signature import options_of

ROUTES = (
    "overview?brief=true",
    "overview",
    "overview?step={step}",
    "hotspots",
    "hotspots?by=kernel",
    "hotspots?by=module",
    "hotspots?by=function",
    "hotspots?by=annotation",
    "advice",
    "timeline",
    "timeline?start_ns={from}&stop_ns={to}",
    "operators",
    "operators?group=shapes",
    "operators?group=stack",
    "operators?group=module",
    "kernels",
    "kernels?group=name",
    "kernels?group=launch",
    "runtime",
    "memory",
    "modules",
    "flame?by=device",
    "flame?by=host",
    "distributed",
    "diff",
    "diff?by=kernels",
    "quality",
    "method",
    "search?text=conv",
    "area?start_ns={from}&stop_ns={to}",
    "kernel_instances",
    "links",
    "event?table=ops&row={row}",
)
PEER = "data/plugin/pytorch_profiler/"
PEER_ROUTES = (
    "overview",
    "operation?group_by=Operation",
    "operation/table?group_by=Operation",
    "operation/table?group_by=OperationAndInputShape",
    "kernel?group_by=Kernel",
    "kernel/table?group_by=Kernel",
    "kernel/table?group_by=KernelNameAndOpName",
    "kernel/tc_pie",
    "trace",
    "memory",
    "memory_curve",
    "memory_events",
    "module",
    "tree",
    "diff?exp_run={run}&exp_worker={worker}&exp_span={span}",
)
_PEER_LOADS_S = 900


@dataclass(frozen=True)
class Server:
    """A TensorBoard: the address of its plugin, and its process."""

    url: str
    pid: int

    def ask(self, path: str, accept: str = "application/octet-stream, */*") -> tuple[int, bytes]:
        """The status and the body of an answer; a page accepts columns as bytes."""
        headers = {"Accept": accept}
        request = urllib.request.Request(self.url + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def json(self, path: str) -> Any:
        """The content of an answer."""
        return json.loads(self.ask(path, "application/json")[1])

    def timed(self, path: str, times: int = 1) -> dict[str, float]:
        """Seconds of the server's processor and of the wall that an answer takes."""
        cpu, began = self._cpu_s(), time.perf_counter()
        for _ in range(times):
            self.ask(path)
        wall = time.perf_counter() - began
        return {"cpu_s": (self._cpu_s() - cpu) / times, "wall_s": wall / times}

    def _cpu_s(self) -> float:
        told = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def tensorboard(command: list[str], cache: Path, plugin: str) -> Iterator[Server]:
    """A TensorBoard in a process group of its own. It and all it started ends."""
    environment = {**os.environ, "TB_PRIVATEUSE1_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, env=environment, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout
        for line in process.stdout:
            if found := re.search(r"(http://[^\s#]+)", line):
                break
        else:
            raise RuntimeError("TensorBoard did not start")
        yield Server(found[1].rstrip("/") + "/" + plugin, process.pid)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def ours(logdir: Path, cache: Path) -> Iterator[Server]:
    """One with our plugin, which has found the trace."""
    command = ["tb_privateuse1.cli", "demo", str(logdir), "--no-browser"]
    with tensorboard(command, cache, PLUGIN) as server:
        while server.json("runs")["scanning"]:
            time.sleep(0.02)
        yield server


def figures(logdir: Path, cache: Path, repeat: int) -> dict[str, dict[str, Any]]:
    """Seconds and bytes of each route."""
    with ours(logdir, cache) as server:  # reads and stores the trace
        overview = server.json("overview")
        server.ask("timeline")
    named = [s["name"].rpartition("#")[2] for s in overview["steps"] if "#" in s["name"]]
    end = overview["duration_ns"]
    place = {"step": (named or ["0"])[0], "from": end // 2, "to": end // 2 + end // 50, "row": 9}
    found: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        path = route.format(**place)
        if "step=" in path and not named:
            continue
        with ours(logdir, cache) as server:
            restarted = server.timed(path)
        with ours(logdir, cache) as server:
            server.ask("method")  # opens the trace
            first, again = server.timed(path), server.timed(path, repeat)
            status, body = server.ask(path)
        times = {"restarted": restarted, "first": first, "again": again}
        found[route] = {**times, "bytes": len(body), "status": status}
    return found


def peer(logdir: Path, cache: Path, repeat: int) -> dict[str, Any] | None:
    """The same of torch-tb-profiler; None where it is not installed."""
    began = time.perf_counter()
    command = ["tensorboard.main", "--logdir", str(logdir), "--port", "0", "--host", "127.0.0.1"]
    with tensorboard(command, cache, PEER) as server:
        while True:
            if server.ask("runs")[0] != 200:
                return None
            listed = server.json("runs")
            if listed["runs"] and not listed["loading"]:
                break
            if time.perf_counter() - began > _PEER_LOADS_S:
                raise RuntimeError(f"torch-tb-profiler needs more than {_PEER_LOADS_S} s")
            time.sleep(0.2)
        loaded = time.perf_counter() - began
        run = listed["runs"][0]
        views = server.json(f"views?run={run}")
        worker = server.json(f"workers?run={run}&view={urllib.parse.quote(views[0])}")[0]
        span = server.json(f"spans?run={run}&worker={worker}")[0]
        place = {"run": run, "worker": worker, "span": span}
        found: dict[str, Any] = {}
        for route in PEER_ROUTES:
            name, _, query = route.partition("?")
            rest = "&" + query.format(**place) if query else ""
            path = f"{name}?{urllib.parse.urlencode(place)}{rest}"
            first, again = server.timed(path), server.timed(path, repeat)
            status, body = server.ask(path)
            found[route] = {"first": first, "again": again, "bytes": len(body), "status": status}
    return {"loaded_s": loaded, "views": views, "routes": found}


@dataclass(frozen=True)
class Largest:
    """The largest answer of a view: its bytes before and after gzip, the run and the options."""

    plain_bytes: int
    gzip_bytes: int
    run: str
    options: dict[str, Any]


def largest_answers(logdir: Path, cache: Path) -> dict[str, Largest]:
    """The largest answer of each view over all runs of a logdir, with each choice of each option.

    Of a run the first rank and the last span; of the timeline also halves and tenths.
    """
    found: dict[str, Largest] = {}
    with ours(logdir, cache) as server:
        for run in server.json("runs")["runs"]:
            worker = run["workers"][0]
            place = {"run": run["run"], "rank": worker["rank"], "span": worker["spans"][-1]["span"]}
            told = server.json("overview?" + _query({**place, "brief": "true"}))
            for view, options in _questions(told.get("duration_ns") or 1):
                status, body = server.ask(f"{view}?{_query({**place, **options})}")
                if status == 200 and (view not in found or len(body) > found[view].plain_bytes):
                    zipped = len(gzip.compress(body, 1))
                    found[view] = Largest(len(body), zipped, run["run"], options)
    return found


def _query(values: dict[str, Any]) -> str:
    return urllib.parse.urlencode({k: v for k, v in values.items() if v is not None})


def _questions(end_ns: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, view in VIEWS.items():
        yield name, {}
        for option in options_of(view):
            for choice in option["choices"] or ():
                yield name, {option["name"]: choice}
    for parts in (1, 2, 10):
        for i in range(parts):
            window = {"start_ns": end_ns * i // parts, "stop_ns": end_ns * (i + 1) // parts}
            yield "timeline", {**window, "width": 4000, "modules": "true"}


def _tell_largest(found: dict[str, Largest]) -> None:
    print("| view | kB | gzip | of |\n|---|---|---|---|")
    for view, of in sorted(found.items(), key=lambda item: -item[1].plain_bytes):
        kilobytes = f"{of.plain_bytes / 1000:,.0f} | {of.gzip_bytes / 1000:,.0f}"
        print(f"| `{view}?{_query(of.options)}` | {kilobytes} | {of.run} |")


def table(result: dict[str, Any]) -> None:
    """All figures in Markdown, as docs/internals/performance.md has them."""
    print(f"{result['events']:,} events, {result['bytes'] / 1e6:.0f} MB\n")
    _rows(result["ours"], ("restarted", "first", "again"))
    if result["peer"]:
        print(f"\ntorch-tb-profiler has the trace after {result['peer']['loaded_s']:.0f} s.\n")
        _rows(result["peer"]["routes"], ("first", "again"))


def _rows(routes: dict[str, Any], times: tuple[str, ...]) -> None:
    print(f"| route | {' | '.join(times)} | again, wall | answer kB |")
    print("|---" * (len(times) + 3) + "|")
    for route, of in routes.items():
        told = [f"{1000 * of[key]['cpu_s']:,.0f}" for key in times]
        told.append(f"{1000 * of['again']['wall_s']:,.0f}")
        failed = "" if of["status"] == 200 else f" (HTTP {of['status']})"
        print(f"| `{route}`{failed} | {' | '.join(told)} | {of['bytes'] / 1000:,.0f} |")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--events", type=float, default=1e6)
    parser.add_argument("--of", type=Path, default=REAL, help="the folder of the repeated trace")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--json", type=Path, help="also write all figures there")
    parser.add_argument("--largest", type=Path, help="a logdir of which the largest answers count")
    options = parser.parse_args()
    if options.largest:
        with tempfile.TemporaryDirectory() as folder:
            _tell_largest(largest_answers(options.largest, Path(folder)))
        return
    with tempfile.TemporaryDirectory() as folder:
        logdir, cache = Path(folder, "log"), Path(folder, "cache")
        (logdir / "run").mkdir(parents=True)
        path = logdir / "run" / "worker.1700000000000.pt.trace.json"
        events = write(path, events=int(options.events), of=options.of)
        result = {
            "events": events,
            "bytes": path.stat().st_size,
            "ours": figures(logdir, cache, options.repeat),
            "peer": None if options.no_peer else peer(logdir, cache, options.repeat),
        }
    table(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
