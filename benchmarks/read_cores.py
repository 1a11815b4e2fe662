"""One large file read by one process and by several: seconds by the wall and of the processor.

``python -m benchmarks.read_cores [--size MB] [--processes 1,2] [--repeat N] [--packed]``

A real trace is repeated with shifted times and ids. The runs take turns, and the best of each is
printed: so what others do on the machine meanwhile counts least. ``first`` is the processor time of
the process that cuts the text and joins the columns, ``workers`` that of the others. ``apart`` are
as many readings of the whole file at once, each by one process: what the machine gives its cores
when all of them work, per file. With more cores than it takes to keep the first process busy, its
time is the limit: the last line predicts 16 from that, and what inferring and storing take behind
it, which one process does.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.read_traces import ROOT, write

_MANY = 16


def measure(path: str, processes: int) -> dict[str, float]:
    """Read a file in this number of processes, and infer and store its trace."""
    from tb_privateuse1 import inference
    from tb_privateuse1.readers.chrome.file_reading import read
    from tb_privateuse1.readers.chrome.parallel_reading import read_parallel
    from tb_privateuse1.readers.reader import Processes
    from tb_privateuse1.storage import part_file, pyramid_file
    from tb_privateuse1.storage.ingest import save

    before, start = os.times(), time.perf_counter()
    if processes == 1:
        raw = read(path)
    else:
        raw = read_parallel(path, None, Processes(processes), least_bytes=0)
    after, stop = os.times(), time.perf_counter()
    first = after.user + after.system - before.user - before.system
    workers = after.children_user + after.children_system
    started = time.process_time()
    trace = inference.build_trace(raw, None, use_up=True)
    inferred = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        saved = save(trace, [Path(folder, f"{1:032x}.arrow")])
        assert saved is not None
        pyramid_file.prepare(trace, saved)
        part_file.prepare(trace, saved)
    return {
        "wall_s": stop - start,
        "first_s": first,
        "workers_s": workers,
        "cpu_s": first + workers,
        "infer_s": inferred - started,
        "store_s": time.process_time() - inferred,
    }


def child(path: Path, processes: int) -> dict[str, float]:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.read_cores", "--of", str(path)]
    answer = subprocess.run(
        [*command, "--processes", str(processes)],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def apart(path: Path, count: int) -> dict[str, float]:
    """Measure this number of processes that read the file at the same time; times are per file."""
    with ThreadPoolExecutor(count) as pool:
        runs = list(pool.map(lambda _: child(path, 1), range(count)))
    mean = {name: sum(run[name] for run in runs) / count for name in runs[0]}
    return {**mean, "wall_s": max(run["wall_s"] for run in runs) / count}


def best(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the least of each figure."""
    return {name: min(run[name] for run in runs) for name in runs[0]}


def report(measured: dict[int, dict[str, float]], at_once: dict[str, float]) -> None:
    """Print a table, and what 16 cores would make of it."""
    one = measured[1]
    rows = {**{str(count): m for count, m in measured.items()}, "apart": at_once}
    print("| processes | wall s | times as soon | cpu s | of one's | first s | workers s |")
    print("|---|---|---|---|---|---|---|")
    for name, m in rows.items():
        print(
            f"| {name} | {m['wall_s']:.2f} | {one['wall_s'] / m['wall_s']:.2f} "
            f"| {m['cpu_s']:.2f} | {m['cpu_s'] / one['cpu_s']:.2f} "
            f"| {m['first_s']:.2f} | {m['workers_s']:.2f} |"
        )
    most = measured[max(measured)]
    behind = one["infer_s"] + one["store_s"]
    read = max(most["first_s"], most["workers_s"] / _MANY)
    print(
        f"\nfirst process: {most['first_s'] / most['cpu_s']:.1%} of reading; behind it, by one "
        f"process: inferring {one['infer_s']:.2f} s, storing {one['store_s']:.2f} s\n"
        f"{_MANY} cores, predicted: reading {read:.2f} s ({one['cpu_s'] / read:.1f} times as "
        f"soon), all of it {read + behind:.2f} s ({(one['cpu_s'] + behind) / (read + behind):.1f})"
    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--size", type=float, default=200.0, help="MB of JSON")
    parser.add_argument("--processes", default="1,2")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--packed", action="store_true", help="with gzip")
    parser.add_argument("--of", type=Path, help="measure this file once, and print JSON")
    options = parser.parse_args()
    counts = [int(count) for count in options.processes.split(",")]
    if options.of:
        print(json.dumps(measure(str(options.of), counts[0])))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        print(f"{write(path, size=int(options.size * 1e6)):,} events, {path.stat().st_size:,} B")
        if options.packed:
            packed = path.with_suffix(".json.gz")
            with path.open("rb") as plain, gzip.open(packed, "wb", 6) as file:
                shutil.copyfileobj(plain, file)
            path = packed
        runs: dict[int, list[dict[str, Any]]] = {count: [] for count in counts}
        together = []
        for _ in range(options.repeat):
            for count in counts:
                runs[count].append(child(path, count))
            together.append(apart(path, max(counts)))
        report({count: best(found) for count, found in runs.items()}, best(together))


if __name__ == "__main__":
    main()
