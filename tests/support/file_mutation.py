"""Mutate traces, packed traces and archives: sums stay, or a finding says what is wrong.

    python -m tests.support.file_mutation --format zip --count 20000 --seed 1

What is read is compared with plain Python: ``json``, the packings' own modules, ``zipfile`` and
``tarfile``. A file of which they can read all has the same sums in our reader, or a finding.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import lzma
import math
import random
import sys
import tarfile
import tempfile
import time
import warnings
import zipfile
import zlib
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow

from tb_privateuse1 import inference, readers
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.errors import TraceError
from tests.support import every_format, make, packings, valid_trace
from tests.support.database_mutation import SLOWEST_S, mutated

_LIMIT_US = 1 << 51
NAME = "host_1.1.pt.trace.json"

_UNREADABLE = (
    ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError, OSError,
    EOFError, MemoryError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile,
    tarfile.TarError,
)  # fmt: skip
"""What plain Python raises for bytes that it cannot read."""

Sums = dict[str, float]


@dataclass(frozen=True)
class Kind:
    """A form of a trace: its bytes, its name, and its events by plain Python.

    ``events`` raises any error for bytes that plain Python cannot read, and returns None for those
    of which it cannot tell what they mean.
    """

    data: Callable[[], bytes]
    name: str
    events: Callable[[bytes], list[Any] | None]
    read: Callable[[Path], tuple[Raw, bool]]
    """The columns, and whether a finding says that something is wrong."""


def outcome(folder: Path, data: bytes, kind: Kind) -> str:
    """What becomes of a mutated file.

    ``same``: sums are those of plain Python. ``partial``: findings say what is wrong.
    ``unchecked``: plain Python cannot read it, or not tell what it means. ``error``: it is refused.
    """
    path = folder / kind.name
    path.write_bytes(data)
    started = time.process_time()
    try:
        raw, is_said = kind.read(path)
        trace = inference.build_trace(raw, None)
    except TraceError:
        return "error"
    finally:
        assert time.process_time() - started < SLOWEST_S
    valid_trace.check(trace)
    if is_said:
        return "partial"
    try:
        expected = plain_sums(kind.events(data))
    except _UNREADABLE:
        return "unchecked"
    if expected is None:
        return "unchecked"
    mine = read_sums(raw)
    assert {key: value for key, value in mine.items() if value} == expected, data
    return "same"


def read_sums(raw: Raw) -> Sums:
    """Return what the reader has: ranges' time by category, and the counters' values."""
    sums: Sums = {
        category: sum((group.end_ns - group.start_ns).tolist())
        for category, group in raw.groups.items()
    }
    sums["counters"] = math.fsum(raw.counters.samples.value.tolist())
    return sums


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


def _read(path: Path) -> tuple[Raw, bool]:
    raw = readers.read(str(path))
    return raw, bool(raw.findings)


def _read_archive(path: Path) -> tuple[Raw, bool]:
    """Read the first trace of an archive that is the logdir."""
    found = catalog.scan(str(path), readers.READERS)
    problems = [*found.runs.warnings, *(w for run in found.runs.runs for w in run.warnings)]
    for files in found.files.values():
        raw = readers.read(files.trace.path)
        return raw, bool(problems or raw.findings)
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


def _packed(packing: str, suffix: str) -> Kind:
    return Kind(
        lambda: packings.PACK[packing](_large()),
        NAME + suffix,
        functools.partial(_unpacked, packing),
        _read,
    )


KINDS = {
    "chrome": Kind(_text, NAME, _document, _read),
    "list": Kind(lambda: json.dumps(every_format.events()).encode(), NAME, _document, _read),
    "lines": Kind(
        lambda: "\n".join(map(json.dumps, every_format.events())).encode(), NAME, _lines, _read
    ),
    "gzip": _packed("gzip", ".gz"),
    "zstd": _packed("zstd", ".zst"),
    "xz": _packed("xz", ".xz"),
    "bzip2": _packed("bzip2", ".bz2"),
    "zip": Kind(_zip, "runs.zip", _in_zip, _read_archive),
    "tar": Kind(_tar, "runs.tar", _in_tar, _read_archive),
    "tar_gz": Kind(lambda: gzip.compress(_tar()), "runs.tar.gz", _in_tar, _read_archive),
}


def mutations(kind: Kind, rng: random.Random, count: int, folder: Path) -> Counter[str]:
    """Return the number of mutations by outcome."""
    whole = kind.data()
    is_text = whole[:1] in b"[{"
    changes = [mutated, with_other_digits] if is_text else [mutated]
    return Counter(
        outcome(folder, changes[i % len(changes)](whole, rng), kind) for i in range(count)
    )


def with_other_digits(data: bytes, rng: random.Random) -> bytes:
    """Return a text in which some digits are others: it stays JSON, most often."""
    text = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(text))
        while not chr(text[at]).isdigit():
            at = rng.randrange(len(text))
        text[at] = rng.choice(b"0123456789")
    return bytes(text)


def main() -> int:
    """Print how many mutations had which outcome."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=sorted(KINDS), default="chrome")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("error")
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        kind = KINDS[arguments.format]
        print(mutations(kind, rng, arguments.count, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
