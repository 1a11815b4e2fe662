"""Mutants of rocprofv3's JSON: the time of events is that of plain loops."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tb_privateuse1.readers.raw import Raw
from tests.support.mutants.changes import other_bytes, other_values
from tests.support.mutants.flight_recorder import ODD
from tests.support.mutants.harness import Format, Mutate, Reading
from tests.support.rocprof import Program

_LIMIT = 1 << 62
_DEVICE = {"kernel_dispatch": "kernel", "memory_copy": "gpu_memcpy"}

Sums = dict[str, tuple[int, int]]


def make(folder: Path) -> Sequence[Mutate]:
    """Return changes of values and of bytes of a document."""
    content: dict[str, Any] = Program(steps=3).document()
    whole, path = json.dumps(content, indent=0).encode(), folder / "a_results.json"
    return (
        lambda rng: (path, json.dumps(other_values(content, rng, ODD)).encode()),
        lambda rng: (path, other_bytes(whole, rng)),
    )


def read_sums(found: Reading) -> Sums:
    """Return the number of events of devices and the sum of their times."""
    groups = {name: g for name, g in found.raw.groups.items() if name in _DEVICE.values()}
    return {n: (len(g), int((g.end_ns - g.start_ns).sum())) for n, g in groups.items()}


def plain_sums(path: Path, raw: Raw) -> Sums | None:
    """Return the same by plain loops; the reader skips broken fields that it does not need."""
    try:
        content = json.loads(path.read_bytes().decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    found: Sums = {}
    for process in content["rocprofiler-sdk-tool"]:
        for table, name in _DEVICE.items():
            for row in process.get("buffer_records", {}).get(table, []):
                start, end = row.get("start_timestamp", -1), row.get("end_timestamp", -1)
                assert 0 < start < _LIMIT
                assert start <= end < _LIMIT
                count, total = found.get(name, (0, 0))
                found[name] = count + 1, total + end - start
    return found


FORMAT = Format(make, read_sums, plain_sums, reader="rocprof_json", least={"same": 0.05}, count=300)
