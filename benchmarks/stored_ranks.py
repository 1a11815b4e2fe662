"""A run of very many ranks whose parts are stored: what a server needs to show it after a restart.

``python -m benchmarks.stored_ranks [--ranks 1024] [--steps 20] [--trace FILE] [--columns 64]``

One rank (of ``many_ranks``, or of FILE) is reduced, and its part is cloned for every rank with ends
and durations of its own. Each rank has a trace file, which is never opened: the cache has the parts
and no trace. A real TensorBoard is started and asked as the page asks it, and then another one,
which finds the parts in groups. Processor seconds and memory are of the TensorBoard's process.
``--columns`` ranks are also stored with their columns, and opened both ways in one process: as
parts, and as a server without parts did it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from benchmarks.many_ranks import SLOW, WAIT_MS, events
from benchmarks.many_runs import PLUGIN, ROOT, get, resident
from tb_privateuse1.analysis.ranks.collectives import RankPart, reduce_trace
from tb_privateuse1.analysis.ranks.step_parts import StepParts
from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import cache_directory, disk_cache, part_file
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.memory_budget import MemoryBudget
from tb_privateuse1.trace.table import I32, I64

RANKS_OF_NODE = 8
_JITTER_NS = 500
_OFF_NS = 1_000
"""How far the clock of a node is ahead of that of the one before: NTP keeps milliseconds."""


def one_rank(folder: Path, steps: int) -> Path:
    """Write the trace of the rank that is cloned."""
    path = folder / "host_0.1700000000000.pt.trace.json"
    info = {"backend": "nccl", "rank": 0, "world_size": 1}
    made = list(events(0, steps))
    path.write_text(json.dumps({"schemaVersion": 1, "distributedInfo": info, "traceEvents": made}))
    return path


def clone(part: RankPart, rank: int, ranks: int) -> RankPart:
    """Return a rank like this one: it comes to each collective at a time of its own."""
    chance = np.random.default_rng(rank)
    calls, late = part.calls, part.calls.duration_ns // 2
    wait = late - (late * 0.1 * chance.random(len(late))).astype(np.int64)
    noise = chance.integers(-_JITTER_NS, _JITTER_NS, len(late))
    shorter = np.minimum(wait if rank == SLOW else wait // 50, calls.duration_ns)
    own = replace(
        calls,
        duration_ns=calls.duration_ns - shorter,
        end_ns=calls.end_ns + noise + _OFF_NS * (rank // RANKS_OF_NODE),
    )
    sizes = tuple(replace(s, group_size=ranks) for s in part.shapes)
    return replace(
        part, calls=own, shapes=sizes, world_size=ranks, hostname=f"node{rank // RANKS_OF_NODE}",
        steps=_later(part.steps, calls.step, shorter),
    )  # fmt: skip


def _later(steps: StepParts, step: I32, shorter: I64) -> StepParts:
    """Return the steps of a rank that computes for longer, and waits for so much less."""
    inside = step >= 0
    less = np.bincount(step[inside], shorter[inside], len(steps.names)).astype(np.int64)
    return replace(
        steps,
        computation_ns=steps.computation_ns + less,
        communication_ns=steps.communication_ns - less,
        exposed_ns=steps.exposed_ns - less,
    )


def make(folder: Path, cache: Path, part: RankPart, ranks: int) -> int:
    """Write the run and its parts; returns the bytes of all parts."""
    folder.mkdir(parents=True)
    for rank in range(ranks):
        info = {"backend": "nccl", "rank": rank, "world_size": ranks}
        text = json.dumps({"schemaVersion": 1, "distributedInfo": info, "traceEvents": []})
        path = folder / f"host_{rank}.1700000000000.pt.trace.json.gz"
        path.write_bytes(gzip.compress(text.encode(), 1))
    for (_, rank, _), files in catalog.scan(str(folder), READERS).files.items():
        path = cache / f"{disk_cache.cache_key(files)}.arrow"
        part_file.write_part(clone(part, rank, ranks), path)
    return sum(path.stat().st_size for path in cache.glob("*.part*"))


def cpu_s(pid: int) -> float:
    """Return the processor seconds of a process and of the children it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def ask(url: str, pid: int) -> dict[str, Any]:
    """Ask as the page does until the result is there."""
    began, used, longest, told = time.perf_counter(), cpu_s(pid), 0.0, 0
    while True:
        took, found = get(f"{url}&wait_ms={WAIT_MS}")
        longest = max(longest, took)
        if "traces" not in found:
            break
        told += 1
    assert all(row["problem"] is None for row in found["rows"])
    return {
        "cpu_s": cpu_s(pid) - used, "s": time.perf_counter() - began, "longest_answer_s": longest,
        "progress": told, "ranks": len(found["rows"]),
        "culprits": [one["ranks"] for one in found["culprits"]],
    }  # fmt: skip


def serving(folder: Path, cache: Path) -> dict[str, Any]:
    """Return the figures of a real TensorBoard with our plugin alone."""
    command = [sys.executable, "-m", "tb_privateuse1.cli", "demo", str(folder), "--no-browser"]
    environment = {**os.environ, "TB_PRIVATEUSE1_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout
        found = re.search(r"(http://\S+?)#", process.stdout.readline())
        assert found, "TensorBoard did not start"
        url, pid = found[1] + PLUGIN, process.pid
        while get(url + "runs")[1]["scanning"]:
            time.sleep(0.1)
        result: dict[str, Any] = {
            "listed_cpu_s": cpu_s(pid),
            "resident_bytes": resident(pid, "VmRSS"),
        }
        result["first"] = ask(url + "distributed?measure=step", pid)
        result["first_resident_bytes"] = resident(pid, "VmRSS")
        result["again"] = ask(url + "distributed?measure=idle", pid)
        result["peak_bytes"] = resident(pid, "VmHWM")
        return result
    finally:
        process.terminate()
        process.wait()


def both_ways(source: Path, cache: Path, ranks: int) -> dict[str, float]:
    """Return the processor seconds of opening ranks from their columns and from their parts."""
    files = catalog.scan(str(source), READERS).find()
    variants = [replace(files, worker=f"w{n}") for n in range(ranks)]
    trace = Store(0, cache).trace(files)
    for variant in variants:
        path = cache / f"{disk_cache.cache_key(variant)}.arrow"
        disk_cache.write_trace(trace, path)
        part_file.prepare(trace, path)
    result = {}
    store = Store(0, cache, memory=MemoryBudget(0))
    ways: dict[str, Callable[[TraceFiles], Any]] = {
        "columns_cpu_s": lambda one: reduce_trace(store.trace(one)),
        "parts_cpu_s": store.part,
    }
    for name, open_rank in ways.items():
        used = resource.getrusage(resource.RUSAGE_SELF)
        for variant in variants:
            open_rank(variant)
        now = resource.getrusage(resource.RUSAGE_SELF)
        result[name] = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return result


def table(result: dict[str, Any]) -> None:
    """Print all figures in Markdown, as docs/internals/performance.md has them."""
    ways, ranks = result["ways"], result["ranks"]
    print(f"{ranks} ranks, {result['part_bytes'] / ranks:,.0f} bytes per part")
    ratio = ways["columns_cpu_s"] / ways["parts_cpu_s"]
    print(f"{result['columns']} ranks: from columns {ratio:.0f} times the CPU of from parts\n")
    print("| what | from parts | from groups |\n|---|---|---|")
    rows = zip(_rows(result["server"]), _rows(result["restarted"]), strict=True)
    for (name, value), (_, other) in rows:
        print(f"| {name} | {value} | {other} |")


def _rows(server: dict[str, Any]) -> list[tuple[str, str]]:
    first, again = server["first"], server["again"]
    return [
        ("culprits", str(first["culprits"])),
        ("started and listed", f"{server['listed_cpu_s']:.1f} CPU s"),
        ("first page", f"{first['cpu_s']:.2f} CPU s"),
        ("answers with progress meanwhile", str(first["progress"])),
        ("longest single answer", f"{first['longest_answer_s']:.2f} s"),
        ("again, another measure", f"{again['cpu_s']:.2f} CPU s"),
        ("memory before", f"{server['resident_bytes'] / 1e6:.0f} MB"),
        ("memory after the first page", f"{server['first_resident_bytes'] / 1e6:.0f} MB"),
        ("memory, peak", f"{server['peak_bytes'] / 1e6:.0f} MB"),
    ]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--trace", type=Path, help="a trace whose rank is cloned")
    parser.add_argument("--columns", type=int, default=64, help="ranks that are opened both ways")
    parser.add_argument("--json", type=Path, help="also write all figures there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log, cache, other = Path(folder, "log"), Path(folder, "cache"), Path(folder, "other")
        source = options.trace or one_rank(Path(folder), options.steps)
        result = {"ranks": options.ranks, "columns": options.columns}
        result["ways"] = both_ways(source, other, options.columns)
        part = Store(0, other).part(catalog.scan(str(source), READERS).find())
        result["part_bytes"] = make(log / "run", cache, part, options.ranks)
        assert cache_directory.disk_use(cache).traces == 0
        result["server"] = serving(log, cache)
        result["restarted"] = serving(log, cache)
        assert cache_directory.disk_use(cache).traces == 0, "a trace was read"
    table(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
