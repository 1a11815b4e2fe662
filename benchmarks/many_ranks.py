"""One run of many ranks: how soon all of them are on one page, and with how much memory.

``python -m benchmarks.many_ranks [--ranks 256] [--steps 20] [--json FILE]``

Every rank is a trace of its own, gzipped: steps of kernels and all-reduces that all ranks share,
of which one rank (``SLOW``) computes longer. A real TensorBoard is asked for the view as the page
asks it, with ``wait_ms``, until the result is there: ``first`` reads all traces, ``again`` has them
reduced, ``a step`` asks for another selection, and ``after a restart`` has them in the cache on
disk.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.many_runs import PLUGIN, ROOT, get, resident

SLOW = 17
KERNELS, COLLECTIVES = 60, 8
"""Per step."""
WAIT_MS = 300


def events(rank: int, steps: int) -> Iterator[dict[str, Any]]:
    """A rank's trace. Times are us."""
    correlation = 0
    for n in range(steps):
        begin = 20_000.0 * n
        yield {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}", "pid": 1, "tid": 1,
               "ts": begin, "dur": 20_000}  # fmt: skip
        at = begin
        for i in range(KERNELS):
            talks = i % (KERNELS // COLLECTIVES) == 0 and i > 0
            ready = at + 180 * (1.2 if rank == SLOW else 1) + rank % 7
            end = begin + 250 * (i + 1)
            name = "record_param_comms" if talks else f"aten::op_{i % 12}"
            correlation += 1
            host, ids = begin + 100 * i, {"correlation": correlation, "External id": correlation}
            yield _x("cpu_op", name, 1, host, 90, {"External id": correlation})
            yield _x("cuda_runtime", "cudaLaunchKernel", 1, host + 20, 8, ids)
            args: dict[str, Any] = {**ids, "device": 0, "stream": 20 if talks else 7}
            if talks:
                args |= {"Collective name": "allreduce", "dtype": "Float", "Group size": 100_000,
                         "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20,
                         "Process Group Name": "0"}  # fmt: skip
                yield _x("kernel", "ncclDevKernel_AllReduce", 20, ready, end + 60 - ready, args)
                at = end + 60
            else:
                yield _x("kernel", f"gemm_{i % 12}", 7, at, ready - at, args)
                at = ready


def _x(
    cat: str, name: str, tid: int, ts: float, dur: float, args: dict[str, Any]
) -> dict[str, Any]:
    pid = 0 if cat == "kernel" else 1
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": args}  # fmt: skip


def make(folder: Path, ranks: int, steps: int) -> tuple[int, int]:
    """Write the run; returns its size in bytes and the number of its events."""
    size = count = 0
    folder.mkdir(parents=True)
    for rank in range(ranks):
        made = list(events(rank, steps))
        info = {"backend": "nccl", "rank": rank, "world_size": ranks}
        text = json.dumps({"schemaVersion": 1, "distributedInfo": info, "traceEvents": made})
        path = folder / f"host_{rank}.1700000000000.pt.trace.json.gz"
        path.write_bytes(gzip.compress(text.encode(), 1))
        size, count = size + path.stat().st_size, count + len(made)
    return size, count


def ask(url: str) -> dict[str, Any]:
    """Until the result is there: how long, the longest single answer, and the progress told."""
    began, longest, told = time.perf_counter(), 0.0, 0
    while True:
        took, found = get(f"{url}&wait_ms={WAIT_MS}")
        longest = max(longest, took)
        if "traces" not in found:
            culprits = [one["ranks"] for one in found["culprits"]]
            rows = sum(r["problem"] is None for r in found["rows"])
            return {"s": time.perf_counter() - began, "longest_answer_s": longest, "progress": told,
                    "ranks": rows, "culprits": culprits}  # fmt: skip
        told += 1


def serving(folder: Path, cache: Path, *, again: bool) -> dict[str, Any]:
    """The figures of a real TensorBoard with our plugin alone."""
    command = [sys.executable, "-m", "tb_privateuse1.cli", "demo", str(folder), "--no-browser"]
    environment = {**os.environ, "TB_PRIVATEUSE1_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout
        found = re.search(r"(http://\S+?)#", process.stdout.readline())
        assert found, "TensorBoard did not start"
        url = found[1] + PLUGIN
        while get(url + "runs")[1]["scanning"]:
            time.sleep(0.02)
        result: dict[str, Any] = {"resident_bytes": resident(process.pid, "VmRSS")}
        result["first"] = ask(url + "distributed?measure=step")
        if again:
            result["again"] = ask(url + "distributed?measure=idle")
            result["step"] = ask(url + "distributed?step=3")
        result["peak_bytes"] = resident(process.pid, "VmHWM")
        return result
    finally:
        process.terminate()
        process.wait()


def table(result: dict[str, Any]) -> None:
    """All figures in Markdown, as docs/internals/performance.md has them."""
    cold, warm = result["server"], result["restarted"]

    def mb(bytes: int | None) -> str:
        return "" if bytes is None else f"{bytes / 1e6:.0f} MB"

    first = cold["first"]
    rows = [
        ("first, all traces read", f"{first['s']:.1f} s"),
        ("answers with progress meanwhile", str(first["progress"])),
        ("longest single answer", f"{first['longest_answer_s']:.2f} s"),
        ("again, another measure", f"{cold['again']['s']:.3f} s"),
        ("a step", f"{cold['step']['s']:.3f} s"),
        ("after a restart, from the cache", f"{warm['first']['s']:.1f} s"),
        ("TensorBoard's memory before", mb(cold["resident_bytes"])),
        ("TensorBoard's memory, peak", mb(cold["peak_bytes"])),
    ]
    size = f"{result['bytes'] / 1e6:.0f} MB, {result['events']:,} events"
    print(f"{result['ranks']} ranks, {size}; culprits found: {first['culprits']}\n")
    print("| what | |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value} |")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--json", type=Path, help="also write all figures there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log, cache = Path(folder, "log"), Path(folder, "cache")
        size, count = make(log / "run", options.ranks, options.steps)
        result = {
            "ranks": options.ranks,
            "bytes": size,
            "events": count,
            "server": serving(log, cache, again=True),
            "restarted": serving(log, cache, again=False),
        }
    table(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
