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
_HOLE = "@"


def original(folder: Path = REAL) -> dict[str, Any]:
    """A folder's trace, or where there is none, a small one of our own."""
    for path in sorted(folder.glob("*.pt.trace.json.gz")):
        content: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
        return content
    runs = ROOT / "examples" / "runs"
    path = sorted(runs.glob("transformer-measured/*.pt.trace.json.gz"))[0]
    own: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return own


def template(event: dict[str, Any]) -> tuple[str, list[int | float]]:
    """An event as Kineto lays it out, with ``%s`` for each time (a float) and id (an int)."""
    told: list[int | float] = []

    def hole(value: float) -> str:
        told.append(value)
        return _HOLE

    def holed(key: str, value: Any) -> Any:
        if key == "args":
            return {k: holed("id", v) if k in _IDS else v for k, v in value.items()}
        if key == "ts":
            return hole(float(value))
        return hole(value) if key == "id" and isinstance(value, int) else value

    filled = {key: holed(key, value) for key, value in event.items()}
    text = json.dumps(filled, indent=2).replace("\n", "\n  ").replace("%", "%%")
    return text.replace(json.dumps(_HOLE), "%s"), told


def write(
    path: Path, *, events: int | None = None, size: int | None = None, of: Path = REAL
) -> int:
    """Write a trace of at least so many events or bytes, as Kineto lays it out; its events.

    ``of`` is the folder with the trace that is repeated.
    """
    content = original(of)
    recorded = content.pop("traceEvents")
    starts = [e["ts"] for e in recorded if isinstance(e.get("ts"), int | float) and e["ts"] > 0]
    span = max(starts) - min(starts) + 1000
    templates = [template(event) for event in recorded]
    written = times = 0
    with path.open("w") as file:
        file.write(json.dumps(content, indent=2)[:-2] + ',\n  "traceEvents": [\n')
        while written < (events or 0) or file.tell() < (size or 0):
            shift, later = times * _SHIFT, times * span
            for text, told in templates[: events - written if events else None]:
                values = (v + shift if isinstance(v, int) else round(v + later, 3) for v in told)
                file.write((",\n  " if written else "  ") + text % tuple(values))
                written += 1
            times += 1
        file.write("\n  ]\n}\n")
    return written
