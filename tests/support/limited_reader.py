"""Read one trace and ask for views, in a process whose memory can be told from others'.

``python -m tests.support.limited_reader PATH VIEW…`` prints JSON: what came of it, what it took.
The processor's time is compared with that of a plain JSON reader in the same process: what a second
is worth differs by machine, and by what else the machine does.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Outcome:
    """``code`` and ``message`` of the error, or None; findings by code with their count.

    ``effort`` is its processor time as a multiple of that of reading 200,000 plain events.
    """

    code: str | None
    message: str
    hint: str | None
    findings: dict[str, int | None]
    rows: dict[str, int]
    bytes: int
    effort: float


def ingest(path: Path, *views: str) -> Outcome:
    """What becomes of a trace, in a process of its own; ``bytes`` is what it adds to it."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "tests.support.limited_reader",
        str(path),
        *views,
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return Outcome(**json.loads(done.stdout))


def _peak_bytes() -> int:
    """Of this process. (``ru_maxrss`` would be that of the process it was forked from.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    (told,) = [line for line in lines if line.startswith("VmHWM:")]
    return int(told.split()[1]) << 10


def _plain_s() -> float:
    """Return the processor time that Python's own JSON reader takes for plain events."""
    text = json.dumps([{"name": f"a{i}", "ts": i, "args": {"x": i}} for i in range(10_000)])
    started = time.process_time()
    for _ in range(20):  # a few at a time: the peak of memory is that of the trace
        json.loads(text)
    return time.process_time() - started


def main(path: str, views: list[str]) -> None:
    """The process."""
    from tb_privateuse1.discovery import catalog
    from tb_privateuse1.readers import READERS
    from tb_privateuse1.storage import ingest as reader
    from tb_privateuse1.trace.errors import TraceError
    from tb_privateuse1.views import VIEWS
    from tb_privateuse1.views.encoding import encode
    from tests.support.results import result

    files = catalog.scan(path, READERS).find()
    plain_s = _plain_s()
    before, started = _peak_bytes(), time.process_time()
    told: dict[str, Any] = {"code": None, "message": "", "hint": None, "findings": {}, "rows": {}}
    try:
        trace = reader.ingest(files)
        for view in views:
            assert encode(result(VIEWS[view], trace))
        told["findings"] = {finding.code: finding.count for finding in trace.meta.findings}
        tables = ("ops", "frames", "launches", "kernels", "memory", "threads", "lanes", "steps")
        told["rows"] = {name: len(getattr(trace, name)) for name in tables}
    except TraceError as error:
        told |= {"code": error.code, "message": error.message, "hint": error.hint}
    taken_s, peak = time.process_time() - started, _peak_bytes()
    told["effort"] = taken_s / (plain_s + _plain_s()) * 2
    print(json.dumps(told | {"bytes": peak - before}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
