"""Mutants of profilers' databases: the time of events is that of plain SQL."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tb_privateuse1.readers.raw import Raw
from tests.support import ascend, nsight, rocprof
from tests.support.mutants.changes import other_bytes
from tests.support.mutants.harness import Format, Mutate, Reading

_LIMIT = 1 << 62
_LOSSES = frozenset({"truncated", "tables_damaged", "names_missing", "unclosed_ranges"})

Sums = dict[str, int]
Rows = Callable[[str], list[tuple[Any, ...]]]


def make(write: Callable[[Path], Path], name: str, folder: Path) -> Sequence[Mutate]:
    """Return the change of bytes of a database."""
    data, path = write(folder / "whole.db").read_bytes(), folder / name
    return (lambda rng: (path, other_bytes(data, rng)),)


def plain_sums(of_rows: Callable[[Rows], Sums], path: Path, raw: Raw) -> Sums:
    """Return the sums that sqlite alone gives."""
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    connection.text_factory = bytes
    try:
        return of_rows(lambda query: connection.execute(query).fetchall())
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


def _format(
    write: Callable[[Path], Path],
    name: str,
    sums: Callable[[Raw], Sums],
    plain: Callable[[Rows], Sums],
) -> Format:
    def read_sums(found: Reading) -> Sums:
        return sums(found.raw)

    return Format(
        functools.partial(make, write, name),
        read_sums,
        functools.partial(plain_sums, plain),
        losses=_LOSSES,
        unreadable=(sqlite3.Error, UnicodeDecodeError, MemoryError),
        least={"same": 0.2, "partial": 0.1},
        count=300,
    )


FORMATS = {
    "ascend": _format(
        lambda path: ascend.Program(steps=3).database(path, 512),
        "a.db", _ascend_sums, _ascend_plain,
    ),
    "nsight": _format(
        lambda path: nsight.Program(steps=8).database(path, 512),
        "a.sqlite", _nsight_sums, _nsight_plain,
    ),
    "rocprof": _format(
        lambda path: rocprof.Program(steps=8).database(path, 512),
        "a.db", _rocprof_sums, _rocprof_plain,
    ),
}  # fmt: skip
