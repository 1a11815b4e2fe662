"""What the tests of recordings on demand share: requests, and what a job says."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tb_privateuse1.capture.demand.files import FOLDER, REQUEST, REQUEST_SCHEMA, write_atomically

ID = "0123456789abcdef"


def request(id: str = ID, **changes: Any) -> dict[str, Any]:
    """Return a valid request for the next two steps, with ``changes``."""
    now = time.time_ns()
    valid = {
        "schema": REQUEST_SCHEMA,
        "id": id,
        "created_ns": now,
        "expires_ns": now + 600 * 10**9,
        "from_step": None,
        "steps": 2,
        "warmup": 1,
        "ranks": None,
        "shapes": None,
        "stacks": None,
        "memory": None,
        "by": "command line",
    }
    return {**valid, **changes}


def ask(logdir: Path, id: str = ID, **changes: Any) -> None:
    """Write a request into the logdir of a job."""
    write_atomically(logdir / FOLDER / REQUEST, request(id, **changes))


def statuses(logdir: Path) -> list[dict[str, Any]]:
    """Return the status of each job, by the names of the files."""
    return [json.loads(path.read_text()) for path in sorted((logdir / FOLDER).glob("job-*.json"))]


def status(logdir: Path) -> dict[str, Any]:
    """Return the status of the only job."""
    (one,) = statuses(logdir)
    return one


def recorded_steps(trace: dict[str, Any]) -> list[int]:
    """Return the numbers of the steps in a trace."""
    names = {str(event.get("name")) for event in trace["traceEvents"]}
    return sorted(int(name[13:]) for name in names if name.startswith("ProfilerStep#"))
