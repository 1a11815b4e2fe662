"""A logdir of many runs: how long it is searched, and how soon the first page answers.

``python -m benchmarks.many_runs [--runs 200] [--files 2000] [--json FILE]``

Every file is a real trace with a rank of its own, gzipped. ``scan`` is one search in a process of
its own, first with no head known, then again. The rest is asked of a real TensorBoard that has
just come up, over HTTP, while it searches and, in the end, while it reads traces that other
clients ask for: ``first runs`` and ``first view`` are the first answers, ``all listed`` is when the
search has ended, ``runs while reading`` the answers of the page's polling. torch-tb-profiler is
measured, where it is installed, on its search for run directories alone: it goes on to parse all
it finds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PLUGIN = "data/plugin/privateuse1/"
READ_MEANWHILE = 20
"""Views of other runs that are asked for at once."""

SCAN = """
import json, sys, time, resource
from tb_privateuse1.readers import READERS
from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_head import Heads
heads, took = Heads(READERS), []
for _ in range(2):
    began = time.perf_counter()
    found = catalog.scan(sys.argv[1], READERS, heads=heads)
    took.append(time.perf_counter() - began)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"first_s": took[0], "again_s": took[1], "runs": len(found.runs.runs),
                  "files": len(found.files), "peak_bytes": peak}))
"""
PEER = """
import json, sys, time, types
from torch_tb_profiler.plugin import TorchProfilerPlugin
TorchProfilerPlugin._monitor_runs = TorchProfilerPlugin._receive_runs = lambda self: None
context = types.SimpleNamespace(logdir=sys.argv[1], flags=None)
plugin = TorchProfilerPlugin(context)
began = time.perf_counter()
found = sum(1 for _ in plugin._get_run_dirs())
print(json.dumps({"first_s": time.perf_counter() - began, "runs": found}))
"""


def make(folder: Path, runs: int, files: int) -> int:
    """Write the logdir; returns its size in bytes."""
    sample = next((ROOT / "examples" / "runs").glob("transformer-inferred/*.pt.trace.json.gz"))
    text = gzip.decompress(sample.read_bytes())
    size = 0
    for n in range(files):
        rank = n // runs
        path = folder / f"run{n % runs:03}" / f"host_{rank}.1700000000000.pt.trace.json.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        info = json.dumps({"distributedInfo": {"rank": rank, "world_size": files // runs}})
        path.write_bytes(gzip.compress(info[:-1].encode() + b",\n" + text.lstrip()[1:], 1))
        size += path.stat().st_size
    return size


def subject(code: str, folder: Path) -> dict[str, Any] | None:
    """What a process of its own prints; None if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True,
        env=environment, check=False,
    )  # fmt: skip
    if done.returncode:
        print(done.stderr.strip()[-300:], file=sys.stderr)
        return None
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def get(url: str) -> tuple[float, Any]:
    """How long an answer took, in seconds, and its content."""
    began = time.perf_counter()
    with urllib.request.urlopen(url, timeout=600) as answer:
        body = answer.read()
    return time.perf_counter() - began, json.loads(body)


def serving(folder: Path, cache: Path) -> dict[str, Any]:
    """The figures of a real TensorBoard with our plugin alone."""
    command = [sys.executable, "-m", "tb_privateuse1.cli", "demo", str(folder), "--no-browser"]
    environment = {**os.environ, "TB_PRIVATEUSE1_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout
        found = re.search(r"(http://\S+?)#", process.stdout.readline())
        assert found, "TensorBoard did not start"
        url = found[1] + PLUGIN
        began = time.perf_counter()
        result: dict[str, Any] = {}
        result["first_runs_s"], listed = get(url + "runs")
        view = threading.Thread(target=lambda: result.update(first_view_s=get(url + "overview")[0]))
        view.start()
        while listed["scanning"]:
            time.sleep(0.02)
            _, listed = get(url + "runs")
        result["all_listed_s"] = time.perf_counter() - began
        view.join()
        result["runs"] = len(listed["runs"])
        result["resident_bytes"] = resident(process.pid, "VmRSS")
        names = [run["run"] for run in listed["runs"][1 : 1 + READ_MEANWHILE]]
        readers = [
            threading.Thread(target=get, args=(f"{url}overview?run={name}",)) for name in names
        ]
        for reader in readers:
            reader.start()
        took = []
        while any(reader.is_alive() for reader in readers):
            took.append(get(url + "runs")[0])
            time.sleep(0.05)
        result["runs_while_reading_s"] = {"median": statistics.median(took), "worst": max(took)}
        result["peak_bytes"] = resident(process.pid, "VmHWM")
        return result
    finally:
        process.terminate()
        process.wait()


def resident(pid: int, key: str) -> int | None:
    """A figure of /proc in bytes; None where there is no /proc."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = re.search(rf"{key}:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else None


def table(result: dict[str, Any]) -> None:
    """All figures in Markdown, as docs/internals/performance.md has them."""
    scan, server, peer = result["scan"], result["server"], result["peer"]

    def mb(bytes: int | None) -> str:
        return "" if bytes is None else f"{bytes / 1e6:.0f} MB"

    rows = [
        ("search, first", f"{scan['first_s']:.3f} s"),
        ("search, again", f"{scan['again_s']:.3f} s"),
        ("search, peak memory", mb(scan["peak_bytes"])),
        ("first `runs`", f"{server['first_runs_s']:.3f} s"),
        ("first view", f"{server['first_view_s']:.3f} s"),
        ("all listed", f"{server['all_listed_s']:.3f} s"),
        ("`runs` while reading, median", f"{server['runs_while_reading_s']['median']:.3f} s"),
        ("`runs` while reading, worst", f"{server['runs_while_reading_s']['worst']:.3f} s"),
        ("TensorBoard's memory, all listed", mb(server["resident_bytes"])),
        ("TensorBoard's memory, peak", mb(server["peak_bytes"])),
    ]
    if peer:
        rows.append(("torch-tb-profiler: names of directories", f"{peer['first_s']:.3f} s"))
    print(f"{scan['runs']} runs, {scan['files']} files, {result['bytes'] / 1e6:.0f} MB\n")
    print("| what | |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value} |")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--json", type=Path, help="also write all figures there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        size = make(log, options.runs, options.files)
        result = {
            "bytes": size,
            "scan": subject(SCAN, log),
            "server": serving(log, Path(folder, "cache")),
            "peer": subject(PEER, log),
        }
    table(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
