"""How fast and in how much memory a trace is read: ours, bare msgspec, and the peers.

``python benchmarks/read_speed.py [--sizes 10,125,450] [--events 1e4,1e5,1e6,1e7] [--json FILE]``

Traces are a real one repeated with shifted times and ids, pretty-printed as Kineto writes them.
Each measurement is a process of its own; ``cpu s`` is user and system time of the work without
imports, the least of ``--repeat`` runs; ``peak`` is the process's largest resident size. ``ours``
is from the file to the trace model that the views ask, ``read`` the first part of it, to columns.
Peers are installed into ``build/peers`` from ``benchmarks/peers.txt`` and left out, with a line,
where that fails (``--no-peers``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from benchmarks.read_traces import ROOT, write

HERE = Path(__file__).parent
PEERS = ("hta", "torch_tb_profiler")
OWN = ("bare", "read", "ours")
TIMEOUT_S = 1800


def peers_python() -> str | None:
    """The interpreter of an environment with the peers in it, made on first use."""
    folder = ROOT / "build" / "peers"
    python = folder / "bin" / "python"
    done = folder / ".installed"
    if not done.exists():
        print("installing the peers …", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "-q", "-r", str(HERE / "peers.txt")]
        answer = subprocess.run(install, capture_output=True, text=True, check=False)
        if answer.returncode:
            print("The peers cannot be installed here:", answer.stderr[-300:], file=sys.stderr)
            return None
        done.touch()
    return str(python)


def measure(python: str, name: str, path: Path, repeat: int) -> dict[str, Any] | None:
    """The fastest of some runs; None, with a line, if the subject fails."""
    runs = []
    command = [python, str(HERE / "read_subjects.py"), name, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT) if name in OWN else ""}
    for _ in range(repeat):
        try:
            answer = subprocess.run(
                command, capture_output=True, text=True, env=environment, timeout=TIMEOUT_S,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            print(f"{name} takes more than {TIMEOUT_S} s", file=sys.stderr)
            return None
        if answer.returncode:
            print(f"{name} fails: {answer.stderr.strip()[-200:]}", file=sys.stderr)
            return None
        runs.append(json.loads(answer.stdout.splitlines()[-1]))
    return min(runs, key=lambda run: run["cpu_s"])


def row(
    path: Path, events: int, own: tuple[str, ...], python: str | None, repeat: int
) -> dict[str, Any]:
    """One file, some subjects of ours, and the peers if there is an interpreter for them."""
    size = path.stat().st_size
    result: dict[str, Any] = {"bytes": size, "events": events, "subjects": {}}
    for name in (*own, *(PEERS if python else ())):
        interpreter = sys.executable if name in OWN else str(python)
        measured = measure(interpreter, name, path, repeat if name in OWN else 1)
        if measured:
            result["subjects"][name] = measured
    ours = result["subjects"]["ours"]["cpu_s"]
    for measured in result["subjects"].values():
        measured["times_ours"] = measured["cpu_s"] / ours
        measured["peak_per_byte"] = measured["peak_bytes"] / size
    return result


def table(rows: list[dict[str, Any]]) -> None:
    """The rows in Markdown, as docs/internals/performance.md has them."""
    print("| MB | events | what | cpu s | of ours | MB/s | peak MB | peak per byte |")
    print("|---|---|---|---|---|---|---|---|")
    for one in rows:
        for name, m in one["subjects"].items():
            speed = one["bytes"] / 1e6 / m["cpu_s"]
            print(
                f"| {one['bytes'] / 1e6:.0f} | {one['events']:,} | {name} | {m['cpu_s']:.3f} "
                f"| {m['times_ours']:.2f} | {speed:.0f} | {m['peak_bytes'] / 1e6:.0f} "
                f"| {m['peak_per_byte']:.2f} |"
            )


def growth(rows: list[dict[str, Any]]) -> None:
    """Cost per event against the number of events."""
    print("\n| events | MB | read us per event | ours us per event | peak MB | peak per byte |")
    print("|---|---|---|---|---|---|")
    for one in rows:
        per = {n: m["cpu_s"] / one["events"] * 1e6 for n, m in one["subjects"].items()}
        peak = one["subjects"]["ours"]["peak_bytes"]
        print(
            f"| {one['events']:,} | {one['bytes'] / 1e6:,.0f} | {per['read']:.2f} "
            f"| {per['ours']:.2f} | {peak / 1e6:,.0f} | {peak / one['bytes']:.2f} |"
        )


def numbers(text: str) -> list[float]:
    """A list of numbers with commas between; none for an empty text."""
    return [float(part) for part in text.split(",") if part]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sizes", type=numbers, default=[10.0, 125.0], help="MB of JSON")
    parser.add_argument("--events", type=numbers, default=[1e4, 1e5, 1e6], help="for the growth")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json", type=Path, help="also write all figures there")
    options = parser.parse_args()
    python = None if options.no_peers else peers_python()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        sizes = []
        for size in options.sizes:
            events = write(path, size=int(size * 1e6))
            sizes.append(row(path, events, OWN, python, options.repeat))
        table(sizes)
        counts = []
        for count in options.events:
            events = write(path, events=int(count))
            counts.append(row(path, events, ("read", "ours"), None, 1))
        growth(counts)
    if options.json:
        options.json.write_text(json.dumps({"sizes": sizes, "growth": counts}, indent=2) + "\n")


if __name__ == "__main__":
    main()
