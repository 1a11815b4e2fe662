"""How fast a database is read, beside the same recording as Chrome trace JSON.

``python -m benchmarks.database_speed [--steps 200,2000]``

Both forms are of one program (``tests/support/ascend.py``). Each is read in a process of its own;
``us`` is user and system time of the reader per event of its columns, the least of ``--repeat``
runs, without imports; ``peak`` is the process's largest resident size. ``ratio`` is the database's
time per event over that of the JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tb_privateuse1 import readers
from tests.support.ascend import Program


def measure(path: str) -> dict[str, Any]:
    """The cost of one reading, in this process."""
    started = time.process_time()
    raw = readers.read(path)
    spent = time.process_time() - started
    events = sum(map(len, raw.groups.values())) + len(raw.flows) + len(raw.memory)
    # ``ru_maxrss`` would count the parent's size, which the process has before it starts its own.
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024
    return {"us": spent * 1e6 / events, "events": events, "peak_bytes": peak}


def best(path: Path, repeat: int) -> dict[str, Any]:
    """The cheapest of some readings, each in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.database_speed", "--one", str(path)]
    runs = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(repeat)
    ]
    return min(runs, key=lambda run: run["us"])


def main() -> int:
    """Print a row of Markdown for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", default="200,2000")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one)))
        return 0
    print("| steps | form | MB | events | us per event | peak MB | ratio |")
    print("|---|---|---|---|---|---|---|")
    for steps in map(int, arguments.steps.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            program = Program(steps=steps)
            forms = {
                "JSON": program.trace_view(Path(folder, "trace_view.json")),
                "database": program.database(Path(folder, "a.db"), 4096),
            }
            found = {form: best(path, arguments.repeat) for form, path in forms.items()}
            for form, run in found.items():
                size = forms[form].stat().st_size / 1e6
                print(
                    f"| {steps:,} | {form} | {size:.1f} | {run['events']:,} | {run['us']:.2f} | "
                    f"{run['peak_bytes'] / 1e6:.0f} | {run['us'] / found['JSON']['us']:.2f} |"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
