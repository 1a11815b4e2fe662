"""The log of what the device really did: what inferred timelines are measured against.

Times are absolute, in ns, on the clock of the profiler's JSON, where they are
`ts` * 1000 + `baseTimeNanoseconds`.
"""

import gzip
import json
from pathlib import Path
from typing import Any

from . import _C
from .settings import config


def start() -> None:
    """Forget what was logged, and log every launch from now on."""
    _C.truth_start()


def stop() -> None:
    """Log no more. What was launched is there with its end, even if that is yet to come."""
    _C.truth_stop()


def columns() -> dict[str, list[Any]]:
    """Give one row per launch, in the order of launch.

    `kernel` name, `external_id` of the operator that launched it (the profiler's `External id`;
    0 if none was recorded), `launch_ns` on the host, `start_ns`, `end_ns`, `stream`, `device`,
    `kind` ("kernel", "memcpy" or "memset"), `bytes` read and written.
    """
    return dict(_C.truth_columns())


def lateness() -> dict[str, int]:
    """Count the synchronizations that returned late, and by how many ns, because cores were busy.

    The log's times do not suffer from that; what the host saw of the device did.
    """
    count, total_ns, max_ns = _C.lateness()
    return {"count": count, "total_ns": total_ns, "max_ns": max_ns}


def write(path: str | Path) -> None:
    """Write columns, settings and lateness as gzipped JSON."""
    content = {**columns(), "config": config(), "lateness": lateness()}
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump(content, file)
