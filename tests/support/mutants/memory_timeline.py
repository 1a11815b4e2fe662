"""Mutants of raw memory timelines: the bytes are those of Python's own JSON reader."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tb_privateuse1.readers.raw import Raw
from tests.support.memory_timelines import timeline
from tests.support.mutants.changes import other_bytes, other_digits
from tests.support.mutants.harness import Format, Mutate, Reading


def make(folder: Path) -> Sequence[Mutate]:
    """Return changes of bytes and of digits of a timeline."""
    data, path = json.dumps(timeline(15)).encode(), folder / "a.raw.json"
    return (
        lambda rng: (path, other_bytes(data, rng)),
        lambda rng: (path, other_digits(data, rng)),
    )


def read_sums(found: Reading) -> int:
    """Return the bytes that all events change."""
    return int(found.raw.memory.id("memory_bytes").sum())


def plain_sums(path: Path, raw: Raw) -> int:
    """Return the same by a plain loop over the valid events."""
    events = json.loads(path.read_bytes())
    valid = [e for e in events if 1 <= e[1] <= 4 and 0 <= e[3] <= 7]
    kept = [e for e in valid if abs(e[0]) < 1 << 61 and abs(e[2]) < 1 << 48]
    return sum(size for _, action, size, _ in kept if action != 3)


FORMAT = Format(
    make,
    read_sums,
    plain_sums,
    reader="memory_timeline",
    losses=frozenset({"truncated", "damaged"}),
    least={"same": 0.25},
)
