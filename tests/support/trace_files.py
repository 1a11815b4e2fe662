"""Single trace files as torch writes them: ``trace(path, rank=3)``, and their sidecars."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from tests.support import make


def events(name: str = "aten::mm") -> list[make.Event]:
    """Two steps with an operator each."""
    return [
        make.step(1, 100, 150),
        make.op(name, 105, 125.5, id=11),
        make.step(2, 200, 250),
        make.op(name, 205, 225.5, id=21),
    ]


def trace(path: Path, rank: int | None = None, name: str = "aten::mm", **keys: Any) -> Path:
    """A trace; ``rank`` goes into its metadata."""
    if rank is not None:
        keys["distributedInfo"] = {"backend": "gloo", "rank": rank, "world_size": 8}
    return write(path, make.document(*events(name), **keys))


def sidecar(path: Path, rank: int | None = None) -> Path:
    """A sidecar of ours with device times for the operators of ``trace``."""
    return write(path, make.sidecar({11: 30, 21: 40}, rank=rank))


def write(path: Path, content: Any) -> Path:
    """JSON, gzipped if the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(content).encode()
    path.write_bytes(gzip.compress(data, 1) if path.name.endswith(".gz") else data)
    return path
