"""Large traces for the benchmarks: a real one repeated, with its times and ids shifted."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
REAL = ROOT.parent / "shared" / "traces" / "rocm" / "mi300_resnet_ddp"
_IDS = ("correlation", "External id")
_SHIFT = 10_000_000


def original() -> dict[str, Any]:
    """A real trace, or where there is none, a small one of our own."""
    for path in sorted(REAL.glob("*.json.gz")):
        content: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
        return content
    runs = ROOT / "examples" / "runs"
    path = sorted(runs.glob("transformer-measured/*.pt.trace.json.gz"))[0]
    own: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return own


def shifted(event: dict[str, Any], times: int, span: float) -> dict[str, Any]:
    """The same event, so many spans later and with ids of its own."""
    event = dict(event)
    if isinstance(event.get("ts"), int | float):
        event["ts"] = round(event["ts"] + times * span, 3)
    if isinstance(event.get("id"), int):
        event["id"] += times * _SHIFT
    args = event.get("args")
    if isinstance(args, dict):
        event["args"] = {
            k: v + times * _SHIFT if k in _IDS and isinstance(v, int) else v
            for k, v in args.items()
        }
    return event


def write(path: Path, *, events: int | None = None, size: int | None = None) -> int:
    """Write a trace of at least so many events or bytes, as Kineto lays it out; its events."""
    content = original()
    recorded = content.pop("traceEvents")
    starts = [e["ts"] for e in recorded if isinstance(e.get("ts"), int | float) and e["ts"] > 0]
    span = max(starts) - min(starts) + 1000
    written = times = 0
    with path.open("w") as file:
        file.write(json.dumps(content, indent=2)[:-2] + ',\n  "traceEvents": [\n')
        while written < (events or 0) or file.tell() < (size or 0):
            for event in recorded[: events - written if events else None]:
                text = json.dumps(shifted(event, times, span), indent=2).replace("\n", "\n  ")
                file.write((",\n  " if written else "  ") + text)
                written += 1
            times += 1
        file.write("\n  ]\n}\n")
    return written
