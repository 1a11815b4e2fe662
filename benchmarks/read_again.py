"""How fast a trace that was read before opens again.

``python -m benchmarks.read_again [--events 1e6] [--repeat 5] [--json FILE]``

``process`` is ``tb-privateuse1 view overview`` from its start to its result: the first time, when
the trace is read and stored, and again, when it is in the cache. ``server`` is the second in a
process that runs already: a new store, the trace from the cache, the view and its JSON. Seconds
of processor time, the least of the repetitions; wall seconds beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.read_traces import ROOT, write
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.store import Store
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.request import parse_options, view_named
from tb_privateuse1.views.sources.one_trace import trace_values

Seconds = tuple[float, float]
"""Of the processor and of the wall."""


def timed(work: Callable[[], object], who: int) -> Seconds:
    """How long the work takes; ``who`` is RUSAGE_SELF or RUSAGE_CHILDREN."""

    def spent() -> float:
        usage = resource.getrusage(who)
        return usage.ru_utime + usage.ru_stime

    cpu, wall = spent(), time.perf_counter()
    work()
    return spent() - cpu, time.perf_counter() - wall


def process(logdir: Path, cache: Path) -> Seconds:
    """The command line, from start to end."""
    command = [sys.executable, "-m", "tb_privateuse1.cli", "view", "overview", str(logdir)]
    environment = {**os.environ, "TB_PRIVATEUSE1_CACHE": str(cache), "PYTHONPATH": str(ROOT)}

    def run() -> None:
        subprocess.run([*command, "--json"], check=True, stdout=subprocess.DEVNULL, env=environment)

    return timed(run, resource.RUSAGE_CHILDREN)


def server(logdir: Path, cache: Path) -> Seconds:
    """A request for a view of a trace that is in the cache but not in memory."""
    found = catalog.scan(str(logdir), READERS)
    view = view_named("overview")

    def ask() -> bytes:
        trace = Store(jobs=0, cache_dir=cache).trace(found.find())
        return encode(view(*trace_values(view, trace, {}), **parse_options(view, {})))

    return timed(ask, resource.RUSAGE_SELF)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--events", type=float, default=1e6)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write all figures there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        logdir, cache = Path(folder, "log"), Path(folder, "cache")
        logdir.mkdir()
        write(logdir / "worker.1.pt.trace.json", events=int(options.events))
        rows = {
            "process, first": process(logdir, cache),
            "process, again": min(process(logdir, cache) for _ in range(options.repeat)),
            "server, again": min(server(logdir, cache) for _ in range(options.repeat)),
        }
    first = rows["process, first"][0]
    print(f"| {int(options.events):,} events | cpu s | wall s | times as fast |")
    print("|---|---|---|---|")
    for name, (cpu, wall) in rows.items():
        print(f"| {name} | {cpu:.3f} | {wall:.3f} | {first / cpu:.1f} |")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
