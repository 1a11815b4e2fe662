"""A job without torch: it describes its processes in a logdir, and serves requests on demand."""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = ".tb_privateuse1"


def description(rank: int | None = 0, **more: Any) -> dict[str, Any]:
    """Return the description of a process that was renewed right now."""
    return {
        "schema": "tb_privateuse1.recording_job/1",
        "worker": f"host_{rank or 0}",
        "host": "host",
        "pid": 100,
        "rank": rank,
        "world_size": 2,
        "backend": "acme",
        "route": None,
        "state": "ready",
        "step": 100,
        "step_ns": 500_000_000,
        "request": None,
        "last": None,
        "changed_ns": time.time_ns(),
        "period_s": 10,
        **more,
    }


def describe(logdir: Path, rank: int | None = 0, **more: Any) -> Path:
    """Write the description of a process as a job does; returns the file."""
    document = description(rank, **more)
    folder = logdir / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"job-{document['worker']}.json"
    temporary = path.with_suffix(f".{threading.get_ident()}.tmp")  # a job and a test write at once
    temporary.write_text(json.dumps(document))
    temporary.replace(path)
    return path


def written(id: str, trace: str = "host_0.1.pt.trace.json") -> dict[str, Any]:
    """Return the outcome of a request that was served."""
    return {"id": id, "trace": trace, "error": None, "steps": 3, "stopped_by": None, "overhead": {}}


def failed(id: str, error: str) -> dict[str, Any]:
    """Return the outcome of a request that a process refused."""
    return {**written(id), "trace": None, "error": error}


def request(logdir: Path) -> dict[str, Any] | None:
    """Return the request in a logdir, None without one."""
    try:
        found: dict[str, Any] = json.loads((logdir / FOLDER / "request.json").read_text())
    except FileNotFoundError:
        return None
    return found


@contextlib.contextmanager
def serving(logdir: Path, trace: Path, ranks: int = 2) -> Iterator[None]:
    """Run a job of some ranks that answers each request with a copy of a trace."""
    stop = threading.Event()

    def work() -> None:
        last: dict[int, Any] = dict.fromkeys(range(ranks))
        served = None
        while True:
            asked = request(logdir)
            wanted = asked if asked and asked["id"] != served else None
            if wanted:
                served = wanted["id"]
                mine = [r for r in last if wanted["ranks"] is None or r in wanted["ranks"]]
                for state in ("waiting", "recording", "writing"):
                    for rank in mine:
                        describe(logdir, rank, state=state, request=served, last=last[rank])
                for rank in mine:
                    name = f"host_{rank}.{time.time_ns() // 10**6}.pt.trace.json"
                    shutil.copy(trace, logdir / name)
                    last[rank] = written(served, name)
            for rank in last:
                describe(logdir, rank, last=last[rank])
            if stop.wait(0.05):
                return

    describe(logdir)
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
