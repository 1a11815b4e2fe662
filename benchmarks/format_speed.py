"""How fast each format is read, beside Chrome trace JSON.

``python -m benchmarks.format_speed [--steps 1000] [--folder DIR]``

Each recording is read in a process of its own. ``us`` is user and system time of the reader for an
event of its columns (of an execution trace also for a node that adds to its operator), the least
of ``--repeat`` runs, without imports; ``peak`` is the process's largest resident size. ``ratio`` is
the time per event over that of JSON, which is Ascend's ``trace_view.json``. Files in ``--folder``
are used again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tb_privateuse1 import readers
from tests.support import (
    ascend,
    execution_traces,
    flight_recorders,
    make,
    nsight,
    packings,
    rocprof,
    snapshots,
)

Build = Callable[[Path, int], list[Path]]


def _ascend_folder(folder: Path, steps: int) -> list[Path]:
    whole = ascend.Program(steps=steps).folder(folder, forms=("json", "csv"))
    output = whole / "ASCEND_PROFILER_OUTPUT"
    return [output / "trace_view.json", *sorted(output.glob("*.csv"))]


def _packed(packing: str) -> Build:
    def build(folder: Path, steps: int) -> list[Path]:
        plain = ascend.Program(steps=steps).trace_view(folder / "trace_view.json")
        packed = folder / f"trace_view.json.{packing}"
        packed.write_bytes(packings.PACK[packing](plain.read_bytes()))
        plain.unlink()
        return [packed]

    return build


def _lines(folder: Path, steps: int) -> list[Path]:
    program = ascend.Program(steps=steps)
    path = program.trace_view(folder / "trace_view.json")
    path.write_text("\n".join(map(json.dumps, json.loads(path.read_text()))))
    return [path]


def _snapshot(folder: Path, steps: int) -> list[Path]:
    content = snapshots.snapshot(snapshots.training(1, steps=2 * steps))
    return [snapshots.write(folder / "host_1.1.memory_snapshot.pickle", content)]


def _execution_trace(folder: Path, steps: int) -> list[Path]:
    count = 20 * steps
    events = [
        make.op("aten::mm", 9 * i, 9 * i + 8, id=i, **{"Record function id": 10 + i})
        for i in range(count)
    ]
    tensor = execution_traces.tensor
    nodes = [
        execution_traces.node(
            10 + i, "aten::mm", [tensor(i % 99 + 1, 8, 8), tensor(i % 77 + 1, 8, 8)],
            [tensor(i % 55 + 1, 8, 8)],
        )
        for i in range(count)
    ]  # fmt: skip
    trace, beside = folder / "host_1.1.pt.trace.json", folder / "execution_trace.json"
    trace.write_text(json.dumps(make.document(*events)))
    beside.write_text(execution_traces.text(*nodes))
    return [trace, beside]


def _flight_recorder(name: str) -> Build:
    """A dump as torch writes it: its entries share the dictionaries of equal frames."""

    def build(folder: Path, steps: int) -> list[Path]:
        rank = flight_recorders.Rank(0, {"0": tuple(range(8)), "tp": (0, 1)})
        for i in range(4 * steps):
            rank.call(line=17 + i % 50, shape=(32 + i % 40, 64)).call("broadcast", shape=(4, 64))
            rank.call("all_gather", group="tp", line=99).call("barrier")
        known: dict[tuple[str, ...], Any] = {}
        for entry in rank.entries:
            frames = entry["frames"]
            entry["frames"] = [
                known.setdefault(tuple(map(str, one.values())), one) for one in frames
            ]
        return [rank.dump(folder, name)]

    return build


FORMS: dict[str, Build] = {
    "JSON": lambda f, n: [ascend.Program(steps=n).trace_view(f / "trace_view.json")],
    "JSON, one event per line": _lines,
    "JSON, gzip": _packed("gzip"),
    "JSON, zstd": _packed("zstd"),
    "JSON, xz": _packed("xz"),
    "JSON, bzip2": _packed("bzip2"),
    "Ascend's database": lambda f, n: [ascend.Program(steps=n).database(f / "a.db", 4096)],
    "Ascend's folder with tables": _ascend_folder,
    "Nsight Systems": lambda f, n: [nsight.Program(steps=n).database(f / "a.sqlite", 4096)],
    "rocprofv3": lambda f, n: [rocprof.Program(steps=n).database(f / "77_results.db", 4096)],
    "rocprofv3's JSON": lambda f, n: [rocprof.Program(steps=n).json(f / "77_results.json")],
    "memory snapshot": _snapshot,
    "flight recorder": _flight_recorder("nccl_trace_rank_{}"),
    "flight recorder's JSON": _flight_recorder("nccl_trace_rank_{}.json"),
    "execution trace beside JSON": _execution_trace,
}
"""By title: the files of a recording of so many steps; those after the first add to it."""


def measure(paths: list[str]) -> dict[str, Any]:
    """The cost of one reading, in this process."""
    started = time.process_time()
    raw = readers.complete(readers.read(paths[0]), paths[1:])
    spent = time.process_time() - started
    events = sum(map(len, raw.groups.values())) + len(raw.flows) + len(raw.memory)
    events += len(raw.counters.samples) + len(set(raw.tensors.event.tolist()))
    # ``ru_maxrss`` would count the parent's size, which the process has before it starts its own.
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024
    return {"us": spent * 1e6 / events, "events": events, "peak_bytes": peak}


def best(paths: list[Path], repeat: int) -> dict[str, Any]:
    """The cheapest of some readings, each in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.format_speed", "--one", *map(str, paths)]
    runs = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(repeat)
    ]
    return min(runs, key=lambda run: run["us"])


def files_of(title: str, folder: Path, steps: int) -> list[Path]:
    """The files of a form, made if the folder does not list them yet."""
    listing = folder / "files.json"
    if not listing.exists():
        folder.mkdir(parents=True)
        listing.write_text(json.dumps([str(path) for path in FORMS[title](folder, steps)]))
    return [Path(name) for name in json.loads(listing.read_text())]


def main() -> int:
    """Print a row of Markdown for each form."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--build", action="store_true", help="only make the files")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one)))
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        every = {title: files_of(title, folder / title, arguments.steps) for title in FORMS}
        if arguments.build:
            return 0
        print("| form | MB | events | us per event | peak MB | ratio |")
        print("|---|---|---|---|---|---|")
        base = 0.0
        for title, paths in every.items():
            run = best(paths, arguments.repeat)
            base = base or run["us"]
            size = sum(path.stat().st_size for path in paths) / 1e6
            print(
                f"| {title} | {size:.1f} | {run['events']:,} | {run['us']:.2f} "
                f"| {run['peak_bytes'] / 1e6:.0f} | {run['us'] / base:.2f} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
