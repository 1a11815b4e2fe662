"""Mutants of traces, packed traces and archives: sums are those of plain Python.

Plain Python is ``json``, the packings' own modules, ``zipfile`` and ``tarfile``.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import lzma
import math
import random
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow

from tb_privateuse1 import readers
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.errors import TraceError
from tests.support import every_format, make, packings
from tests.support.mutants.changes import other_bytes, other_digits
from tests.support.mutants.harness import Format, Mutate, Reading, read_file, with_trace

_LIMIT_US = 1 << 51
NAME = "host_1.1.pt.trace.json"

_UNREADABLE = (
    ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError, OSError,
    EOFError, MemoryError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile,
    tarfile.TarError,
)  # fmt: skip
"""What plain Python raises for bytes that it cannot read."""

Sums = dict[str, float]


def read_sums(found: Reading) -> Sums:
    """Return what the reader has: ranges' time by category, and the counters' values."""
    raw = found.raw
    sums: Sums = {
        category: sum((group.end_ns - group.start_ns).tolist())
        for category, group in raw.groups.items()
    }
    sums["counters"] = math.fsum(raw.counters.samples.value.tolist())
    return {key: value for key, value in sums.items() if value}


def plain_sums(events: list[Any] | None) -> Sums | None:
    """Return the same of decoded events; None for events whose meaning is the reader's to say."""
    if events is None:
        return None
    sums: Sums = {}
    values: list[float] = []
    for event in events:
        if event.get("ph") == "X" and event.get("name") != "[memory]":
            length = _ns(event["dur"])
            if length is None or _ns(event["ts"]) is None or type(event["cat"]) is not str:
                return None
            sums[event["cat"]] = sums.get(event["cat"], 0) + length
        elif event.get("ph") == "C" and event.get("cat") is None:
            values += [float(v) for v in event["args"].values() if type(v) in (int, float)]
        elif event.get("ph") not in ("i", "M"):
            return None
    sums["counters"] = math.fsum(values)
    return {key: value for key, value in sums.items() if value}


def _ns(value: object) -> int | None:
    """Return whole microseconds in ns; None for other numbers, whose rounding is the reader's."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _LIMIT_US:
        return None
    return value * 1000


def _document(data: bytes) -> list[Any] | None:
    content = json.loads(data.decode())
    if isinstance(content, list):
        return content
    found = content["traceEvents"]
    return found if isinstance(found, list) else None


def _lines(data: bytes) -> list[Any] | None:
    return [json.loads(line) for line in data.decode().split("\n") if line]


def _unpacked(packing: str, data: bytes) -> list[Any] | None:
    if packing == "zstd":
        stream = pyarrow.CompressedInputStream(pyarrow.BufferReader(data), "zstd")
        return _document(stream.read())
    return _document(packings.UNPACK[packing](data))


def _in_zip(data: bytes) -> list[Any] | None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return _only({one.filename: archive.read(one) for one in archive.infolist()})


def _in_tar(data: bytes) -> list[Any] | None:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        files = [one for one in archive if one.isreg()]
        return _only({one.name: archive.extractfile(one).read() for one in files})  # type: ignore[union-attr]


def _only(files: dict[str, bytes]) -> list[Any] | None:
    return _document(files[f"job/{NAME}"]) if set(files) == {f"job/{NAME}"} else None


def _read_archive(path: Path) -> Reading:
    """Read the first trace of an archive that is the logdir."""
    found = catalog.scan(str(path), readers.READERS)
    problems = [*found.runs.warnings, *(w for run in found.runs.runs for w in run.warnings)]
    for files in found.files.values():
        raw = readers.read(files.trace.path)
        return with_trace(raw, *(problem.code for problem in problems))
    raise TraceError("no_trace", "The archive has no trace.")


@functools.cache
def _text() -> bytes:
    return json.dumps(every_format.document()).encode()


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"job/{NAME}", _large())
    return out.getvalue()


def _tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo(f"job/{NAME}")
        member.size = len(_large())
        archive.addfile(member, io.BytesIO(_large()))
    return out.getvalue()


@functools.cache
def _large() -> bytes:
    """A text that is some blocks long when it is packed."""
    rng = random.Random(1)
    ops = [make.op(f"op{i % 9}", 9 * i, 9 * i + rng.randrange(9), id=i) for i in range(500)]
    return json.dumps(make.document(*ops)).encode()


def _format(
    data: Callable[[], bytes],
    name: str,
    events: Callable[[bytes], list[Any] | None],
    read: Callable[[Path], Reading] = read_file,
    least: float = 0.01,
    count: int = 100,
) -> Format:
    """Return the format of a trace in a form; ``events`` decodes it with plain Python."""

    def make_mutants(folder: Path) -> Sequence[Mutate]:
        whole, path = data(), folder / name
        ways: list[Mutate] = [lambda rng: (path, other_bytes(whole, rng))]
        if whole[:1] in b"[{":
            ways.append(lambda rng: (path, other_digits(whole, rng)))
        return ways

    def plain(path: Path, raw: Raw) -> Sums | None:
        return plain_sums(events(path.read_bytes()))

    return Format(
        make_mutants,
        read_sums,
        plain,
        read,
        unreadable=_UNREADABLE,
        least={"same": least},
        count=count,
    )


def _packed(packing: str, suffix: str, count: int = 400) -> Format:
    """Return the format of a packed trace; few of its mutants can be unpacked."""
    return _format(
        lambda: packings.PACK[packing](_large()),
        NAME + suffix,
        functools.partial(_unpacked, packing),
        count=count,
    )


def _joined() -> bytes:
    return "\n".join(map(json.dumps, every_format.events())).encode()


FORMATS = {
    "chrome": _format(_text, NAME, _document, least=0.2),
    "list": _format(lambda: json.dumps(every_format.events()).encode(), NAME, _document, least=0.2),
    "lines": _format(_joined, NAME, _lines, least=0.2),
    "gzip": _packed("gzip", ".gz", 100),
    "zstd": _packed("zstd", ".zst"),
    "xz": _packed("xz", ".xz"),
    "bzip2": _packed("bzip2", ".bz2"),
    "zip": _format(_zip, "runs.zip", _in_zip, _read_archive, count=400),
    "tar": _format(_tar, "runs.tar", _in_tar, _read_archive),
    "tar_gz": _format(lambda: gzip.compress(_tar()), "runs.tar.gz", _in_tar, _read_archive),
}
