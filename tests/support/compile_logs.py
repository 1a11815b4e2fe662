"""Write logs of compilation as torch does, and read a trace with one beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tb_privateuse1 import inference, readers
from tb_privateuse1.trace.model import Trace
from tests.support import make

BASE_NS = 1_790_000_000_000_000_000
"""When the traces of these tests begin."""
BREAK = """Graph break in user code at /app/train.py:14
Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call:

Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace builtin operator `print`
  Hint: Avoid calling builtin `print`

User code traceback:
  File "/app/train.py", line 14, in broken
    print("value")

Traceback (most recent call last):
  File "/venv/torch/_dynamo/symbolic_convert.py", line 1076, in wrapper
"""


def record(
    content: dict[str, Any], payload: str | None = None, *, pid: int = 1, **context: Any
) -> str:
    """A record as ``TorchLogsFormatter`` writes it; ``context`` is beside the content."""
    head = f"V1129 19:40:33.004000 {pid} torch/_dynamo/convert_frame.py:303] "
    lines = "" if payload is None else "".join(f"\n\t{line}" for line in payload.split("\n"))
    return head + json.dumps({**content, **context}) + lines + "\n"


def frame(name: str = "0/0") -> dict[str, Any]:
    """The context of a compilation."""
    code, _, compilation = name.partition("/")
    return {"frame_id": int(code), "frame_compile_id": int(compilation), "attempt": 0}


def artifact(name: str, payload: str, compile_id: str = "0/0", **more: Any) -> str:
    """A record with a payload."""
    return record({"artifact": {"name": name}}, payload, **frame(compile_id), **more)


def metrics(
    compile_id: str = "0/0", key: str = "compilation_metrics", pid: int = 1, **more: Any
) -> str:
    """What torch measured of a compilation."""
    start = {"compile_id": compile_id, "start_time": BASE_NS / 1e9, **more}
    return record({key: start}, pid=pid, **frame(compile_id))


def region(compile_id: str, start: float, end: float) -> make.Event:
    """A call of compiled code."""
    return make.op(f"Torch-Compiled Region: {compile_id}", start, end)


def beside(folder: Path, *logs: str, events: tuple[make.Event, ...] = (), **document: Any) -> Trace:
    """Return the trace of some events with logs beside it."""
    path = folder / "w.1.pt.trace.json"
    content = make.document(*events or (region("0/0", 0, 10),))
    content |= {"baseTimeNanoseconds": BASE_NS, **document}
    path.write_text(json.dumps(content))
    parts = []
    for number, text in enumerate(logs):
        parts.append(folder / f"dedicated_log_torch_trace_{number}abcdefg.log")
        parts[-1].write_text(text)
    raw = readers.complete(readers.read(str(path)), [str(part) for part in parts])
    return inference.build_trace(raw, None)


def codes(trace: Trace) -> list[str]:
    """The codes of a trace's findings, without those of every recording of a host."""
    return [finding.code for finding in trace.meta.findings if finding.code != "host_only"]
