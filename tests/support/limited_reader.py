"""Read one trace and ask for views, in a process whose memory can be told from others'.

One process imports what there is to import and forks for each trace: what a trace takes is told
without the imports, and tests do not wait for them. The processor's time is compared with that of
a plain JSON reader in the same process: what a second is worth differs by machine, and by what else
the machine does.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import signal
import subprocess
import sys
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_MOST_S = 300
_PLAIN_EVENTS = 200_000
_PLAIN_SHARE = 5
"""A fifth of the plain events is read, before and after: the peak of memory is the trace's."""


@dataclass(frozen=True)
class Outcome:
    """``code`` and ``message`` of the error, or None; findings by code with their count.

    ``bytes`` is what the trace and its views add to the process. ``effort`` is their processor time
    as a multiple of that of reading 200,000 plain events.
    """

    code: str | None
    message: str
    hint: str | None
    findings: dict[str, int | None]
    rows: dict[str, int]
    bytes: int
    effort: float


def ingest(path: Path, *views: str, **environment: str) -> Outcome:
    """Return what becomes of a trace, in a process of its own with these variables."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps([str(path), views, environment]) + "\n")
    server.stdin.flush()
    answer: dict[str, Any] = json.loads(server.stdout.readline())
    assert "failed" not in answer, answer["failed"]
    return Outcome(**answer)


@functools.cache
def _server() -> subprocess.Popen[str]:
    """Return the process that forks; it starts on first use and ends with this one."""
    command = [sys.executable, "-W", "error", "-m", "tests.support.limited_reader"]
    pipe = subprocess.PIPE
    server = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    atexit.register(server.communicate)
    return server


def _peak_bytes() -> int:
    """Of this process. (``ru_maxrss`` would be that of the process it was forked from.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    (told,) = [line for line in lines if line.startswith("VmHWM:")]
    return int(told.split()[1]) << 10


def _plain_s() -> float:
    """Return the processor time that Python's own JSON reader takes for 200,000 plain events."""
    text = json.dumps([{"name": f"a{i}", "ts": i, "args": {"x": i}} for i in range(10_000)])
    started = time.process_time()
    for _ in range(_PLAIN_EVENTS // 10_000 // _PLAIN_SHARE):
        json.loads(text)
    return (time.process_time() - started) * _PLAIN_SHARE


def _outcome(path: str, views: list[str]) -> dict[str, Any]:
    """Return the fields of an ``Outcome``."""
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
    return told | {"bytes": peak - before}


def _answer(path: str, views: list[str], environment: dict[str, str]) -> None:
    """Print what becomes of a trace; the process ends after some time."""
    signal.alarm(_MOST_S)
    os.environ.update(environment)
    try:
        answer = _outcome(path, views)
    except BaseException:
        answer = {"failed": traceback.format_exc()}
    print(json.dumps(answer), flush=True)


def _serve() -> None:
    """Fork for each trace of the standard input; a process that is killed is a failure, too."""
    for line in sys.stdin:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "This process .* is multi-threaded")
            pid = os.fork()
        if pid == 0:
            _answer(*json.loads(line))
            os._exit(0)
        if code := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
            print(json.dumps({"failed": f"the process ended with {code}"}), flush=True)


def _warm() -> None:
    """Import all modules that a trace and its views need, by a short trace with all views."""
    from tb_privateuse1.views import VIEWS
    from tb_privateuse1.views.encoding import encode
    from tests.support import make
    from tests.support.results import result

    short = make.trace(make.step(1, 0, 9), make.op("a", 1, 2, id=1), make.kernel("k", 3, 4, 1))
    for view in VIEWS.values():
        encode(result(view, short))
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    _warm()
    _serve()
