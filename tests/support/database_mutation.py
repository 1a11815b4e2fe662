"""Mutate a profiler's database: nothing may crash or hang, and sums are those of plain SQL.

    python -m tests.support.database_mutation --count 20000 --seed 1

Bytes are changed, removed, repeated or copied from elsewhere in the file. Where both sqlite alone
and the reader can read the whole file, the time of kernels and of operators must be equal.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
import time
import warnings
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from tb_privateuse1 import inference, readers
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.errors import TraceError
from tests.support.ascend import Program

SLOWEST_S = 10.0
"""No file of some kilobytes takes as long."""
_LIMIT = 1 << 62
_RANGES = "SELECT cast(startNs AS INTEGER), cast(endNs AS INTEGER), {more} FROM {table} NOT INDEXED"

Sums = dict[str, int]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The file with one to four changes, most of them within a few bytes."""
    text = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        length = min(rng.choice((1, 1, 1, 2, 4, 8, 64, 512)), len(text) - at)
        kind = rng.randrange(6)
        if kind <= 2:
            text[at : at + length] = rng.randbytes(length)
        elif kind == 3:
            text[at : at + length] = bytes([rng.choice((0, 255))]) * length
        elif kind == 4:
            other = rng.randrange(len(text) - length + 1)
            text[at : at + length] = text[other : other + length]
        elif rng.random() < 0.2 and len(text) > 1024:
            del text[at:]
            text = text or bytearray(b"\0")
    return bytes(text)


def outcome(path: Path, data: bytes, rng: random.Random) -> str:
    """What becomes of a mutated file.

    ``same``: sums are those of plain SQL. ``partial``: findings say that rows are lost.
    ``unchecked``: sqlite alone cannot read it. ``error``: it is refused.
    """
    path.write_bytes(mutated(data, rng))
    started = time.process_time()
    try:
        raw = readers.read(str(path))
        mine = _sums(raw)
        trace = inference.build_trace(raw, None)
    except TraceError:
        return "error"
    finally:
        assert time.process_time() - started < SLOWEST_S
    assert (trace.kernels.end_ns >= trace.kernels.start_ns).all()
    if {finding.code for finding in raw.findings} & {
        "truncated", "tables_damaged", "names_missing",
    }:  # fmt: skip
        return "partial"
    expected = plain_sums(path)
    if expected is None:
        return "unchecked"
    assert mine == expected
    return "same"


def plain_sums(path: Path) -> Sums | None:
    """The time of host ranges, calls and device events; None if sqlite alone cannot read all."""
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    connection.text_factory = bytes

    def rows(table: str, more: str = "0") -> list[tuple[Any, ...]]:
        return connection.execute(_RANGES.format(more=more, table=table)).fetchall()

    try:
        parts = {task for (task,) in connection.execute(
            "SELECT cast(globalTaskId AS INTEGER) FROM COMMUNICATION_TASK_INFO NOT INDEXED"
        )}  # fmt: skip
        tasks = rows("TASK", "cast(globalTaskId AS INTEGER)")
        whole = [row for row in tasks if row[2] not in parts or not _is_id(row[2])]
        return {
            "host": _total(rows("PYTORCH_API")),
            "calls": _total(rows("CANN_API")),
            "device": _total([*whole, *rows("COMMUNICATION_OP")]),
        }
    except (sqlite3.Error, UnicodeDecodeError, MemoryError):
        return None
    finally:
        connection.close()


def _is_id(task: int | None) -> bool:
    return task is not None and task >= 0 and task != 0xFFFFFFFF


def _total(rows: list[tuple[Any, ...]]) -> int:
    valid = [(s, e) for s, e, _ in rows if s and e and 0 < s < _LIMIT and 0 < e < _LIMIT]
    return sum(max(end - start, 0) for start, end in valid)


def _sums(raw: Raw) -> Sums:
    def of(*categories: str) -> int:
        groups = [raw.groups[c] for c in categories if c in raw.groups]
        return sum(int(length) for g in groups for length in (g.end_ns - g.start_ns).tolist())

    host = of("cpu_op", "python_function", "enqueue", "dequeue")
    return {"host": host, "calls": of("ascend_runtime"), "device": of("")}


def main() -> int:
    """Print how many mutations had which outcome."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        data = Program(steps=3).database(Path(folder, "whole.db"), 512).read_bytes()
        path = Path(folder, "a.db")
        print(Counter(outcome(path, data, rng) for _ in range(arguments.count)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
