"""Mutate a profiler's database: nothing may crash or hang, and sums are those of plain SQL.

    python -m tests.support.database_mutation --format nsight --count 20000 --seed 1

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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tb_privateuse1 import inference, readers
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.errors import TraceError
from tests.support import ascend, nsight, rocprof, valid_trace

SLOWEST_S = 10.0
"""No file of some kilobytes takes as long."""
_LIMIT = 1 << 62

Sums = dict[str, int]
Rows = Callable[[str], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Kind:
    """A kind of database: how to write one, and its sums as read and by plain SQL."""

    write: Callable[[Path], Path]
    read_sums: Callable[[Raw], Sums]
    plain_sums: Callable[[Rows], Sums]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The file with one to four changes, most of them within a few bytes."""
    text = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        length = min(rng.choice((1, 1, 1, 2, 4, 8, 64, 512)), len(text) - at)
        change = rng.randrange(6)
        if change <= 2:
            text[at : at + length] = rng.randbytes(length)
        elif change == 3:
            text[at : at + length] = bytes([rng.choice((0, 255))]) * length
        elif change == 4:
            other = rng.randrange(len(text) - length + 1)
            text[at : at + length] = text[other : other + length]
        elif rng.random() < 0.2 and len(text) > 1024:
            del text[at:]
            text = text or bytearray(b"\0")
    return bytes(text)


def outcome(path: Path, data: bytes, rng: random.Random, kind: Kind) -> str:
    """What becomes of a mutated file.

    ``same``: sums are those of plain SQL. ``partial``: findings say that rows are lost.
    ``unchecked``: sqlite alone cannot read it. ``error``: it is refused.
    """
    path.write_bytes(mutated(data, rng))
    started = time.process_time()
    try:
        raw = readers.read(str(path))
        mine = kind.read_sums(raw)
        trace = inference.build_trace(raw, None)
    except TraceError:
        return "error"
    finally:
        assert time.process_time() - started < SLOWEST_S
    valid_trace.check(trace)
    if {finding.code for finding in raw.findings} & {
        "truncated", "tables_damaged", "names_missing", "unclosed_ranges",
    }:  # fmt: skip
        return "partial"
    expected = plain_sums(path, kind)
    if expected is None:
        return "unchecked"
    assert mine == expected
    return "same"


def plain_sums(path: Path, kind: Kind) -> Sums | None:
    """The sums of a kind of database; None if sqlite alone cannot read all."""
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    connection.text_factory = bytes
    try:
        return kind.plain_sums(lambda query: connection.execute(query).fetchall())
    except (sqlite3.Error, UnicodeDecodeError, MemoryError):
        return None
    finally:
        connection.close()


def _ascend_plain(rows: Rows) -> Sums:
    """The time of host ranges, calls and device events."""

    def ranges(table: str, more: str = "0") -> list[tuple[Any, ...]]:
        return rows(
            f"SELECT cast(startNs AS INTEGER), cast(endNs AS INTEGER), {more} "
            f"FROM {table} NOT INDEXED"
        )

    parts = {task for (task,) in rows(
        "SELECT cast(globalTaskId AS INTEGER) FROM COMMUNICATION_TASK_INFO NOT INDEXED"
    )}  # fmt: skip
    tasks = ranges("TASK", "cast(globalTaskId AS INTEGER)")
    whole = [row for row in tasks if row[2] not in parts or not _is_id(row[2])]
    return {
        "host": _total(ranges("PYTORCH_API"), 1),
        "calls": _total(ranges("CANN_API"), 1),
        "device": _total([*whole, *ranges("COMMUNICATION_OP")], 1),
    }


def _nsight_plain(rows: Rows) -> Sums:
    """The time of named ranges, calls and device events."""

    def ranges(table: str) -> list[tuple[Any, ...]]:
        return rows(
            "SELECT cast(start AS INTEGER), cast(end AS INTEGER) "
            f"FROM CUPTI_ACTIVITY_KIND_{table} NOT INDEXED"
        )

    host = rows(
        "SELECT cast(start AS INTEGER), cast(end AS INTEGER) FROM NVTX_EVENTS NOT INDEXED "
        "WHERE ifnull(cast(eventType AS INTEGER), 59) IN (59, 60)"
    )
    tables = ("KERNEL", "MEMCPY", "MEMSET")
    return {
        "host": _total(host, _SESSION_LEAST),
        "calls": _total(ranges("RUNTIME"), _SESSION_LEAST),
        "device": _total([row for table in tables for row in ranges(table)], _SESSION_LEAST),
    }


_SESSION_LEAST = -(1 << 61)


def _rocprof_plain(rows: Rows) -> Sums:
    """The time of device events."""
    tables = ("rocpd_kernel_dispatch", "rocpd_memory_copy")
    found = [
        rows(
            "SELECT cast(start AS INTEGER), cast(end AS INTEGER) "
            f"FROM {table}{rocprof.GUID} NOT INDEXED"
        )
        for table in tables
    ]
    return {"device": _total([row for each in found for row in each], 1)}


def _rocprof_sums(raw: Raw) -> Sums:
    return {"device": _read(raw, "kernel", "gpu_memcpy")}


def _is_id(task: int | None) -> bool:
    return task is not None and task >= 0 and task != 0xFFFFFFFF


def _total(rows: list[tuple[Any, ...]], least: int) -> int:
    known = [row[:2] for row in rows if row[0] is not None and row[1] is not None]
    valid = [(s, e) for s, e in known if least <= s < _LIMIT and least <= e < _LIMIT]
    return sum(max(end - start, 0) for start, end in valid)


def _read(raw: Raw, *categories: str) -> int:
    groups = [raw.groups[c] for c in categories if c in raw.groups]
    return sum(int(length) for g in groups for length in (g.end_ns - g.start_ns).tolist())


def _ascend_sums(raw: Raw) -> Sums:
    host = _read(raw, "cpu_op", "python_function", "enqueue", "dequeue")
    return {"host": host, "calls": _read(raw, "ascend_runtime"), "device": _read(raw, "")}


def _nsight_sums(raw: Raw) -> Sums:
    return {
        "host": _read(raw, "cpu_op", "user_annotation"),
        "calls": _read(raw, "cuda_runtime", "cuda_driver"),
        "device": _read(raw, "kernel", "gpu_memcpy", "gpu_memset"),
    }


KINDS = {
    "ascend": Kind(
        lambda path: ascend.Program(steps=3).database(path, 512), _ascend_sums, _ascend_plain
    ),
    "nsight": Kind(
        lambda path: nsight.Program(steps=8).database(path, 512), _nsight_sums, _nsight_plain
    ),
    "rocprof": Kind(
        lambda path: rocprof.Program(steps=8).database(path, 512), _rocprof_sums, _rocprof_plain
    ),
}


def main() -> int:
    """Print how many mutations had which outcome."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=sorted(KINDS), default="ascend")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        kind = KINDS[arguments.format]
        data = kind.write(Path(folder, "whole.db")).read_bytes()
        path = Path(folder, f"a.{arguments.format}")
        print(Counter(outcome(path, data, rng, kind) for _ in range(arguments.count)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
