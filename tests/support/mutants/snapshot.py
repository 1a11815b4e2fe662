"""Mutants of memory snapshots: what is read is what Python's own unpickler reads.

This unpickler is the one written in Python, and it finds no class.
"""

from __future__ import annotations

import io
import pickle
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tb_privateuse1.readers.raw import Raw
from tests.support.mutants.changes import other_bytes, other_values
from tests.support.mutants.harness import Format, Mutate, Reading
from tests.support.snapshots import snapshot, training

_LIMIT = 1 << 48
_LIMIT_US = (1 << 62) // 1000
_ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1 << 40, 1 << 63, (1 << 64) - 1, -(1 << 63), 0.5, "", "alloc", "\ud800",
    [], [None], {}, (1, 2),
)  # fmt: skip


class _Slow(pickle._Unpickler):  # type: ignore[name-defined, misc]
    """Python's own unpickler of plain containers, one opcode after the other."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


def make(folder: Path) -> Sequence[Mutate]:
    """Return changes of the pickle's bytes and of the snapshot's values."""
    content = snapshot(training(1), training(2, steps=1, device=1))
    path = folder / "host_1.1700000000000000000.memory_snapshot.pickle"

    def with_other_bytes(rng: random.Random) -> tuple[Path, bytes]:
        return path, other_bytes(pickle.dumps(content, rng.randint(2, 5)), rng)

    def with_other_values(rng: random.Random) -> tuple[Path, bytes]:
        return path, pickle.dumps(other_values(content, rng, _ODD), rng.randint(2, 5))

    return with_other_bytes, with_other_values


def read_sums(found: Reading) -> tuple[int, int]:
    """Return the bytes allocated and (negative) released."""
    assert (found.trace.memory.ts_ns >= 0).all()
    memory = found.raw.memory
    size = memory.ids["memory_bytes"] if len(memory) else found.trace.memory.bytes
    return int(size[size > 0].sum()), int(size[size < 0].sum())


def plain_sums(path: Path, raw: Raw) -> tuple[int, int]:
    """Return the same by plain loops over what Python's own unpickler gives."""
    content = _Slow(io.BytesIO(path.read_bytes())).load()
    allocated = released = 0
    histories = _list(content.get("device_traces"))
    segments = [s for s in _list(content.get("segments")) if isinstance(s, dict)]
    devices = {i for i, entries in enumerate(histories) if _list(entries)}
    devices |= {d for s in segments if type(d := s.get("device", 0)) is int and 0 <= d < 1024}
    for device in devices:
        entries = _list(histories[device]) if device < len(histories) else []
        plus, minus, shown = _of_history([e for e in entries if isinstance(e, dict)])
        if not shown:
            own = [s for s in segments if type(d := s.get("device", 0)) is int and d == device]
            plus = sum(map(_held, own))
        allocated, released = allocated + plus, released - minus
    return allocated, released


def _of_history(entries: list[dict[str, Any]]) -> tuple[int, int, bool]:
    actions = [e.get("action") for e in entries]
    is_left_out = "free_requested" not in actions and actions.count("free_completed") > 1
    release = "free_completed" if is_left_out else "free_requested"
    sums: Counter[str] = Counter()
    for entry in entries:
        at, size, action = entry.get("time_us"), entry.get("size"), entry.get("action")
        if type(at) is int and 0 < at < _LIMIT_US and type(action) is str:
            sums[action] += _size(size)
    growing = ("segment_alloc", "segment_map", "segment_free", "segment_unmap")
    return sums["alloc"], sums[release], any(sums[k] for k in ("alloc", release, *growing))


def _held(segment: dict[str, Any]) -> int:
    blocks = [b for b in _list(segment.get("blocks")) if isinstance(b, dict)]
    total = 0
    for block in blocks:
        if block.get("state") == "active_allocated":
            wanted = block.get("requested_size")
            total += _size(block.get("size") if wanted is None else wanted)
    return total


def _size(value: object) -> int:
    return value if type(value) is int and 0 <= value < _LIMIT else 0


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


FORMAT = Format(
    make,
    read_sums,
    plain_sums,
    reader="snapshot",
    losses=frozenset(),
    refusals=frozenset({"not_plain", "not_a_trace", "not_json"}),
    least={"same": 0.25},
)
