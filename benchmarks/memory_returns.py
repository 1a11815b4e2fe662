"""Does a server give its memory back: many recordings, looked at by many, then nobody.

``python -m benchmarks.memory_returns [--runs 30] [--clients 20] [--seconds 60] [--idle 20]``
``    [--of FOLDER] [--json FILE]``

The largest traces of ``--of`` are copied, each into a run of its own, until there are ``--runs``.
Clients change runs and ask a page's views of each. Afterwards nobody asks for ``--idle`` seconds,
after which this server drops what nobody used; users' servers do so after ten minutes. Printed is
the server's resident memory: before, at most, at the end of the load, and after; and beside it the
bytes that the memory budget counts, and what malloc has in use and free in its heaps (glibc).
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.many_runs import PLUGIN
from benchmarks.read_traces import REAL
from benchmarks.routes import Server, tensorboard
from benchmarks.shared_server import Load, listed, usage
from tb_privateuse1.cli import main as command
from tb_privateuse1.server import plugin
from tb_privateuse1.trace.memory_budget import BUDGET

PAGES = (
    ("overview?brief=true", "overview", "hotspots", "advice"),
    ("timeline", "counters", "search?text=conv"),
    ("operators", "operators?group=shapes", "operators?group=stack"),
    ("kernels", "kernels?group=launch", "roofline", "runtime"),
    ("memory", "modules", "flame?by=device", "flame?by=host"),
    ("whatif", "critical", "distributed", "quality"),
)
_LOOKS_S = 0.5
_BEHIND_S = 5.0
"""After the time of dropping: its timer looks four times within it."""


def write(folder: Path, logs: Path, count: int) -> int:
    """Copy the largest traces of a folder into ``count`` runs; returns the bytes of all."""
    found = sorted(folder.glob("*/*/*.pt.trace.json*"), key=lambda one: -one.stat().st_size)
    for i in range(count):
        target = logs / f"run{i:03}"
        target.mkdir()
        shutil.copy(found[i % min(len(found), count)], target)
    return sum(file.stat().st_size for file in logs.glob("*/*"))


class Looked(NamedTuple):
    """The server's memory at one moment, in bytes; it writes all but the first into a file."""

    resident: int
    counted: int
    in_use: int
    free: int


class _MallInfo(ctypes.Structure):
    """``mallinfo2(3)``."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost",
    )]  # fmt: skip


class Pages(Load):
    """Clients that look at one page of one run after another."""

    def client(self, seed: int) -> None:
        """Change runs until the end."""
        rng = random.Random(seed)
        while time.monotonic() < self.end_s:
            run, rank = rng.choice(self.runs)
            for view in rng.choice(PAGES):
                mark = "&" if "?" in view else "?"
                asked = f"{view}{mark}run={run}&rank={rank}&wait_ms=300"
                while self._ask(asked) == 202 and time.monotonic() < self.end_s:
                    pass


@contextlib.contextmanager
def watched(pid: int, counted: Path) -> Iterator[list[Looked]]:
    """Yield a list that gets the memory of a server twice a second."""
    seen: list[Looked] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_LOOKS_S):
            seen.append(look_at(pid, counted))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def look_at(pid: int, counted: Path) -> Looked:
    """Return the memory of a server."""
    return Looked(usage(pid)["bytes"], *json.loads(counted.read_text()))


def in_mb(looked: Looked) -> dict[str, int]:
    """Return all in MB."""
    return {name: size >> 20 for name, size in looked._asdict().items()}


def loaded(server: Server, clients: int, seconds: float) -> Pages:
    """Return what the clients saw."""
    load = Pages(server, listed(server), seconds)
    threads = [threading.Thread(target=load.client, args=(i,)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return load


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of one server."""
    with contextlib.ExitStack() as stack:
        logs, cache = (Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2))
        size = write(options.of, logs, options.runs)
        counted = cache / "counted"
        own = ["benchmarks.memory_returns", "--serve", str(logs), str(options.idle), str(counted)]
        server = stack.enter_context(tensorboard(own, cache, PLUGIN))
        listed(server)
        server.ask("method")
        before = look_at(server.pid, counted)
        with watched(server.pid, counted) as seen:
            load = loaded(server, options.clients, options.seconds)
        end = look_at(server.pid, counted)
        time.sleep(options.idle * 1.25 + _BEHIND_S)
        return {
            "runs": options.runs,
            "files_mb": size >> 20,
            "clients": options.clients,
            "requests": len(load.request_s),
            "statuses": dict(load.statuses),
            "longest_s": round(max(load.request_s), 2),
            "before_mb": in_mb(before),
            "highest_mb": in_mb(max(seen)),
            "end_mb": in_mb(end),
            "after_mb": in_mb(look_at(server.pid, counted)),
            "failures": load.failures[:5],
        }


def malloc_bytes() -> tuple[int, int]:
    """Return what malloc has in use, and free in its heaps; 0 without glibc."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return 0, 0
    mallinfo.restype = _MallInfo
    info = mallinfo()
    return info.uordblks + info.hblkhd, info.fordblks


def served(logs: str, idle_s: str, counted: str) -> int:
    """Serve runs with a short time of dropping; the budget's bytes go to a file twice a second."""
    plugin._IDLE_S = float(idle_s)

    def count() -> None:
        while True:
            atomic = Path(counted + ".new")
            atomic.write_text(json.dumps([BUDGET.bytes, *malloc_bytes()]))
            atomic.replace(counted)
            time.sleep(_LOOKS_S)

    threading.Thread(target=count, daemon=True).start()
    return command(["demo", logs, "--no-browser"])


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--serve"]:
        sys.exit(served(*sys.argv[2:]))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", type=Path, default=REAL.parents[1])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--idle", type=float, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    text = json.dumps(measure(options), indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
