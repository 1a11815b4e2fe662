"""Start a Dask scheduler and two workers here, and read a generated job of 64 ranks through them.

``python -m tools.demo_cluster [--ranks 64] [--steps 20] [--port N] [--once]``, as
``make demo-cluster`` does. A TensorBoard shows the job until Ctrl-C; its page *Ranks* says
who read, how fast, and what this machine would take. ``--once`` ends when the job is read.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import many_ranks
from benchmarks.many_runs import PLUGIN, ROOT, get
from tests.support import dask_cluster

WORKERS = 2
_LOOK_S = 0.1


def read_by(use: dict[str, Any], local_readers: int) -> str:
    """Return who read, how fast, and what this machine would take; as the page says it."""
    seconds, busy_s = max(use["seconds"], 1e-3), use["reader_seconds"]
    who = "A Dask cluster" if use["engine"] == "dask" else "This machine"
    return (
        f"{who} read {use['traces']} traces, {use['bytes'] / 1e6:.1f} MB, in {seconds:.1f} s "
        f"({use['bytes'] / seconds / 1e6:.1f} MB/s), {busy_s / seconds:.1f} at a time. This "
        f"machine reads {local_readers} at a time: it would take about "
        f"{busy_s / local_readers:.1f} s."
    )


def show(log: Path, engine: str, port: int | None, *, once: bool) -> None:
    """Show a job in a TensorBoard with an engine, until Ctrl-C or, ``once``, until it is read."""
    command = [sys.executable, "-m", "tb_privateuse1.cli", "demo", str(log), "--no-browser"]
    command += ["--engine", engine, *(["--port", str(port)] if port else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            found = re.search(r"(http://\S+?)#", server.stdout.readline())
            assert found, "TensorBoard did not start"
            url = found[1] + PLUGIN
            while get(url + "runs")[1]["scanning"]:
                time.sleep(_LOOK_S)
            answer = many_ranks.ask(url + "distributed?measure=step")
            extras = get(url + "extras")[1]
            print(read_by(extras["read"], extras["local_readers"]))
            print(f"Slow, by the page: {answer['culprits']}; planted: [[{many_ranks.SLOW}]]")
            if not once:
                print(
                    f"The job is at {found[1]}#privateuse1&view=distributed (Ctrl-C ends it)",
                    flush=True,
                )
                server.wait()
        finally:
            server.terminate()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--port", type=int, help="any free one by default")
    parser.add_argument("--once", action="store_true", help="end when the job is read")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name, contextlib.suppress(KeyboardInterrupt):
        folder = Path(name)
        os.environ["TB_PRIVATEUSE1_CACHE"] = str(folder / "cache")
        os.environ["PYTHONPATH"] = str(ROOT)
        size, events = many_ranks.make(folder / "log" / "job", options.ranks, options.steps)
        print(f"A job of {options.ranks} ranks: {size / 1e6:.1f} MB, {events:,} events")
        with dask_cluster.cluster(folder / "dask") as made:
            for _ in range(WORKERS):
                made.start_worker()
            print(f"A scheduler and {WORKERS} workers are at {made.engine}", flush=True)
            show(folder / "log", made.engine, options.port, once=options.once)


if __name__ == "__main__":
    main()
