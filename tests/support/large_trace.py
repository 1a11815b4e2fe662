"""A trace whose largest table has many rows, for the test and the benchmark of large tables."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.make import document, memory, op


def write(folder: Path, rows: int) -> Path:
    """Write a run ``large`` with so many allocations, each of another size; return the folder."""
    events = []
    for i in range(rows):
        at, size = 10 * i, 512 * (1 + i * 7919 % rows)
        events += [
            op(f"aten::op{i % 50}", at, at + 8, id=i + 1),
            memory(at + 1, size, size, Addr=4096 * (i + 1)),
            memory(at + 9, -size, 0, Addr=4096 * (i + 1)),
        ]
    (folder / "large").mkdir()
    path = folder / "large" / "host.1700000000000.pt.trace.json"
    path.write_text(json.dumps(document(*events)))
    return folder
