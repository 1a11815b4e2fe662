"""Recordings that change while they are read, as files on their way do: ``CHANGES`` by name.

A change is a list of steps, and each happens at a moment of the read (``moments``).
"""

from __future__ import annotations

import errno
import gzip
import json
import mmap
import os
import random
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import (
    ascend,
    every_format,
    flight_recorders,
    make,
    nsight,
    snapshots,
    trace_files,
)

Step = Callable[[], None]
_NAME = "host_1.1700000000000000000"
_TRACE = f"{_NAME}.pt.trace.json"
_FAILURES = (errno.ESTALE, errno.EIO, errno.ETIMEDOUT)


def text(version: int, **keys: Any) -> str:
    """Return a trace; versions are as long, and differ in names and durations of all parts."""
    document = make.document(
        *every_format.events(), baseTimeNanoseconds=snapshots.START_US * 1000, **keys
    )
    found = json.dumps(document)
    return found.replace("gemm_", f"gem{version}_").replace("aten::mm", f"aten::m{version}")


def _lines(folder: Path, version: int) -> None:
    events = json.loads(text(version))["traceEvents"]
    (folder / _TRACE).write_text("\n".join(map(json.dumps, events)))


def _zip(folder: Path, version: int) -> None:
    with zipfile.ZipFile(folder / "job.zip", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(f"job/{_TRACE}"), text(version))


def _database(folder: Path, version: int) -> None:
    path = nsight.Program(steps=2).database(folder / "report.sqlite")
    connection = sqlite3.connect(path)
    for table in ("KERNEL", "MEMCPY", "RUNTIME"):
        connection.execute(f"UPDATE CUPTI_ACTIVITY_KIND_{table} SET end = end + {version}")
    connection.commit()
    connection.close()


def _ascend(folder: Path, version: int) -> None:
    ascend.Program(steps=2 + version).folder(folder, forms=("json", "csv"))


def _with_sidecar(folder: Path, version: int) -> None:
    name = f"aten::m{version}"
    trace_files.trace(folder / _TRACE, rank=0, name=name)
    lengths: dict[int, float | None] = {11: 30 + version, 21: 40 + version}
    trace_files.write(folder / f"{_NAME}.kernel_event.json", make.sidecar(lengths, rank=0))


def _with_snapshot(folder: Path, version: int) -> None:
    (folder / _TRACE).write_text(text(version))
    content = snapshots.snapshot(snapshots.training(1 + version))
    snapshots.write(folder / f"{_NAME}.memory_snapshot.pickle", content)


def _with_recorder(folder: Path, version: int) -> None:
    rank = flight_recorders.Rank(0, {"0": (0, 1)})
    for _ in range(2 + version):
        rank.call()
    rank.dump(folder)
    distributed = {"rank": 0, "world_size": 2, "backend": "nccl"}
    start = rank.entries[0]["time_created_ns"]
    content = make.document(
        *every_format.events(), baseTimeNanoseconds=start, distributedInfo=distributed
    )
    (folder / _TRACE).write_text(json.dumps(content).replace("gemm_", f"gem{version}_"))


FORMS: dict[str, Callable[[Path, int], object]] = {
    "plain": lambda folder, version: (folder / _TRACE).write_text(text(version)),
    "gzip": lambda folder, version: (folder / f"{_TRACE}.gz").write_bytes(
        gzip.compress(text(version).encode(), 1, mtime=0)
    ),
    "lines": _lines,
    "zip": _zip,
    "database": _database,
    "ascend": _ascend,
    "sidecar": _with_sidecar,
    "snapshot": _with_snapshot,
    "recorder": _with_recorder,
}
"""Recordings in a folder that is there, in versions 0 and 1."""


class Change:
    """Changes one file of a folder to that of another version. ``steps`` happen one by one."""

    def __init__(self, rng: random.Random, folder: Path, other: Path) -> None:
        files = sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file())
        there = [path for path in files if (folder / path).is_file()]
        name = rng.choice(there)
        self.rng, self.path = rng, folder / name
        self.old, self.new = self.path.read_bytes(), (other / name).read_bytes()
        self.times = self.path.stat().st_atime_ns, self.path.stat().st_mtime_ns
        self.spare = folder.with_name("spare")

    def is_as_long(self) -> bool:
        """Return whether both versions have the same size, and differ."""
        return len(self.old) == len(self.new) and self.old != self.new

    def write(self, data: bytes) -> None:
        """Rewrite the file in place."""
        with self.path.open("wb", buffering=0) as file:
            file.write(data)

    def append(self, data: bytes) -> None:
        """Append to the file."""
        with self.path.open("ab", buffering=0) as file:
            file.write(data)

    def replace(self, *, same_time: bool = False) -> None:
        """Rename another file over it."""
        self.spare.write_bytes(self.new)
        if same_time:
            os.utime(self.spare, ns=self.times)
        self.spare.replace(self.path)

    def overwrite(self, start: int, stop: int) -> None:
        """Write a part of the new version over the old one; the time of change stays."""
        with self.path.open("r+b", buffering=0) as file:
            file.seek(start)
            file.write(self.new[start:stop])
        os.utime(self.path, ns=self.times)

    def map(self, start: int, stop: int) -> None:
        """Write a part of the new version through memory, as a program that maps the file."""
        with self.path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            memory[start:stop] = self.new[start:stop]
            memory.flush()
        os.utime(self.path)  # POSIX has it marked by then; a file system in memory does not


def _grow(one: Change) -> list[Step]:
    """Before the read it has only its beginning."""
    cuts = sorted(one.rng.sample(range(1, len(one.old)), one.rng.choice((1, 1, 3))))
    one.write(one.old[: cuts[0]])
    ends = [*cuts[1:], len(one.old)]
    return [
        lambda a=start, b=stop: one.append(one.old[a:b])  # type: ignore[misc]
        for start, stop in zip(cuts, ends, strict=True)
    ]


def _in_two(one: Change, write: Callable[[int, int], None]) -> list[Step]:
    if not one.is_as_long():
        return [one.replace]
    middle = one.rng.randrange(1, len(one.old))
    return [lambda: write(0, middle), lambda: write(middle, len(one.old))]


def _rewrite(one: Change) -> list[Step]:
    middle = one.rng.randrange(len(one.new))
    return [lambda: one.write(one.new[:middle]), lambda: one.append(one.new[middle:])]


def _cut(one: Change) -> list[Step]:
    return [lambda: os.truncate(one.path, one.rng.randrange(len(one.old)))]


def _cut_and_restored(one: Change) -> list[Step]:
    return [*_cut(one), lambda: one.write(one.old)]


def _same_time(one: Change) -> list[Step]:
    return [lambda: one.replace(same_time=one.is_as_long())]


CHANGES: dict[str, Callable[[Change], list[Step]]] = {
    "grows": _grow,
    "vanishes": lambda one: [one.path.unlink],
    "vanishes and comes": lambda one: [one.path.unlink, one.replace],
    "is replaced": lambda one: [one.replace],
    "is replaced at the same time": _same_time,
    "is rewritten": _rewrite,
    "is rewritten at the same time": lambda one: _in_two(one, one.overwrite),
    "is mapped": lambda one: _in_two(one, one.map),
    "is cut": _cut,
    "is cut and restored": _cut_and_restored,
    "the mount is stale": lambda one: [],
}


def fails(rng: random.Random) -> OSError:
    """Return the error of a disk or a mount that does not answer."""
    code = rng.choice(_FAILURES)
    return OSError(code, os.strerror(code))


def copied(folder: Path, target: Path) -> Path:
    """Copy a folder as it is now."""
    return Path(shutil.copytree(folder, target))
