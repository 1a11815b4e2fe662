"""Mutate memory snapshots: nothing may run, crash or hang, and sums are those of plain loops.

    python -m tests.support.snapshot_mutation --count 20000 --seed 1

Half of the mutations change bytes of the pickle, the others values of the snapshot. What is read
must be what Python's own unpickler, written in Python and without any class, makes of the bytes.
"""

from __future__ import annotations

import copy
import io
import pickle
import random
import sys
import tempfile
import time
import warnings
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from tb_privateuse1 import inference, readers
from tb_privateuse1.trace.errors import TraceError
from tests.support.database_mutation import mutated
from tests.support.snapshots import snapshot, training

SLOWEST_S = 10.0
"""No file of some kilobytes takes as long."""
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


def with_odd_values(content: dict[str, Any], rng: random.Random) -> bytes:
    """Return the pickle of a snapshot in which some values, anywhere, are others."""
    changed = copy.deepcopy(content)
    for _ in range(rng.randint(1, 4)):
        place: Any = changed
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = rng.choice(keys)
            inner = place[key]
            if rng.random() < 0.2 or not isinstance(inner, dict | list) or not inner:
                break
            place = inner
        if rng.random() < 0.2:
            del place[key]
        else:
            place[key] = copy.deepcopy(rng.choice(_ODD))
        if not changed:
            break
    return pickle.dumps(changed, rng.randint(2, 5))


def outcome(path: Path, data: bytes) -> str:
    """What becomes of a file: ``read`` with the sums of plain loops, or the error's code."""
    path.write_bytes(data)
    started = time.process_time()
    try:
        raw = readers.read(str(path))
        trace = inference.build_trace(raw, None)
    except TraceError as error:
        return error.code
    finally:
        assert time.process_time() - started < SLOWEST_S
    if raw.reader != "snapshot":
        return "another"
    assert (trace.memory.ts_ns >= 0).all()
    size = raw.memory.ids["memory_bytes"] if len(raw.memory) else trace.memory.bytes
    expected = plain_sums(data)
    assert (int(size[size > 0].sum()), int(size[size < 0].sum())) == expected
    return "read"


def plain_sums(data: bytes) -> tuple[int, int]:
    """Return the bytes allocated and (negative) released, by plain loops."""
    content = _Slow(io.BytesIO(data)).load()
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


def mutations(rng: random.Random, count: int, path: Path) -> Counter[str]:
    """Return the number of mutations by outcome."""
    content = snapshot(training(1), training(2, steps=1, device=1))
    kinds: Counter[str] = Counter()
    for i in range(count):
        if i % 2:
            kinds[outcome(path, with_odd_values(content, rng))] += 1
        else:
            whole = pickle.dumps(content, rng.randint(2, 5))
            kinds[outcome(path, mutated(whole, rng))] += 1
    return kinds


def main() -> int:
    """Print how many mutations had which outcome."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.memory_snapshot.pickle")
        print(mutations(random.Random(arguments.seed), arguments.count, path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
