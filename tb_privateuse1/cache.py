"""Traces on disk, as Arrow IPC streams: read once, memory-mapped ever after.

A file has one row. Each table of a Trace is a column of that row: a list of structs, so that any
Arrow tool reads it (DuckDB: ``select unnest(ops, recursive := true) from …``) while its columns
stay contiguous and are used where they lie. The schema's metadata hold the rest as JSON.

Behind the stream's end, where Arrow does not look, stands a checksum of the stream. A file that
is cut off or damaged is removed and read as absent; Arrow, which may crash on it, never sees it.

The name of a file is a digest of what went into it: the content (``identity``) and the names of
the trace and its sidecar, worker and rank, and the engine, which is the version and the sources of
everything that makes a Trace, with the user's vendor files. Nothing in the directory is worth
keeping; it can be deleted at any time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import io
import json
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import pyarrow as pa
from isal import isal_zlib
from numpy.typing import NDArray

from tb_privateuse1 import cachedir, vendor_file
from tb_privateuse1.files import Files
from tb_privateuse1.identity import identity
from tb_privateuse1.trace import TABLES, Meta, Table, Trace
from tb_privateuse1.version import __version__

_HEAD = b"tb_privateuse1"
_NUMBERS = [f.name for f in dataclasses.fields(Trace) if f.type == "int"]
_MAKERS = (
    "cache.py",
    "table.py",
    "findings.py",
    "grounds.py",
    "describe.py",
    "calltree.py",
    "trace.py",
    "intervals.py",
    "vendors",
    "vendor_file.py",
    "read",
    "infer",
    "ingest.py",
)


class _Head(msgspec.Struct):
    """The metadata of a cache file."""

    meta: Meta
    numbers: dict[str, int]
    """The fields of Trace that are plain numbers."""


def key(files: Files) -> str:
    """The name of what is made of these files by this engine; another one if any has changed.

    Raises OSError if the trace cannot be read, TraceError ``bad_vendor``.
    """
    content: list[object] = [identity(files.trace), _sidecar(files)]
    content += map(key, files.others)
    made_by = [engine(), vendor_file.fingerprint()]
    text = json.dumps([made_by, content, files.names, files.worker, files.rank])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _sidecar(files: Files) -> tuple[int, int, str] | None:
    if files.sidecar is None:
        return None
    try:
        return identity(files.sidecar)
    except OSError:  # a finding of the trace; it is another one when it can be read
        return files.sidecar.size, files.sidecar.mtime_ns, "unreadable"


@functools.cache
def engine() -> str:
    """The version and a digest of the sources that determine what a Trace holds."""
    digest = hashlib.sha256(__version__.encode())
    package = Path(__file__).parent
    for maker in _MAKERS:
        path = package / maker
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file.suffix in (".py", ".txt"):
                digest.update(file.read_bytes())
    return digest.hexdigest()


def write(trace: Trace, path: Path) -> None:
    """Store a trace atomically; raises OSError, and leaves nothing half-written behind."""
    columns = [_nested(getattr(trace, name)) for name in TABLES]
    columns.append(_strings(trace.strings))
    numbers = {name: getattr(trace, name) for name in _NUMBERS}
    head = msgspec.json.encode(_Head(trace.meta, numbers))
    fields = zip([*TABLES, "strings"], columns, strict=True)
    schema = pa.schema([pa.field(name, column.type) for name, column in fields])
    schema = schema.with_metadata({_HEAD: head})
    with cachedir.replacing(path) as file:
        summed = _Summed(file)
        with pa.ipc.new_stream(summed, schema) as writer:
            writer.write_batch(pa.record_batch(columns, schema=schema))
        file.write(_trailer(summed.checksum))


def read(path: Path) -> Trace | None:
    """The trace of a cache file, memory-mapped; None if there is none or it is damaged.

    A damaged one is removed, if it may be.
    """
    try:
        trace = _read(path)
    except OSError:  # absent, or we may not, or have too many files open: that says nothing of it
        return None
    except (ValueError, KeyError, TypeError, pa.ArrowException, msgspec.DecodeError):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        return None
    cachedir.touch(path)
    return trace


def _read(path: Path) -> Trace:
    if path.stat().st_size == 0:  # which cannot be mapped
        raise ValueError("empty")
    with pa.memory_map(str(path)) as source:
        whole = source.read_buffer()
    body = whole.slice(0, max(whole.size - len(_trailer(0)), 0))
    if whole.slice(body.size) != pa.py_buffer(_trailer(isal_zlib.crc32(body))):
        raise ValueError("damaged")
    batch = pa.ipc.open_stream(pa.BufferReader(body)).read_next_batch()
    head = msgspec.json.decode(batch.schema.metadata[_HEAD], type=_Head)
    values: dict[str, Any] = dict(head.numbers)
    for name, kind in TABLES.items():
        values[name] = _table(kind, batch.column(name))
    strings = tuple(batch.column("strings").values.to_pylist())
    return Trace(strings=strings, meta=head.meta, **values)


def _nested(table: Table) -> pa.Array:
    # Arrow packs booleans into bits, which could not be used in place: they are bytes here.
    arrays = {
        name: _array(column.view(np.uint8) if column.dtype == np.bool_ else column)
        for name, column in table.columns()
    }
    rows = pa.StructArray.from_arrays(list(arrays.values()), names=list(arrays))
    return _one_row(rows)


def _array(column: NDArray[Any]) -> pa.Array:
    # From its buffer: ``pa.array`` imports pandas, where that is installed, which takes 0.2 s.
    kind = pa.from_numpy_dtype(column.dtype)
    buffer = pa.py_buffer(np.ascontiguousarray(column))
    return pa.Array.from_buffers(kind, len(column), [None, buffer])


def _one_row(values: pa.Array) -> pa.Array:
    return pa.LargeListArray.from_arrays(_array(np.array([0, len(values)])), values)


def _strings(strings: tuple[str, ...]) -> pa.Array:
    # Half a surrogate pair is no text, but some exporters write it.
    texts = [text.encode("utf-8", "replace") for text in strings]
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    return _one_row(pa.Array.from_buffers(pa.large_string(), len(texts), buffers))


def _table(kind: type[Table], column: pa.Array) -> Table:
    rows = column.values
    arrays: dict[str, NDArray[Any]] = {}
    for name, dtype in kind.column_types().items():
        field = rows.field(name)
        stored = np.dtype(np.uint8 if dtype is np.bool_ else dtype)
        if field.type != pa.from_numpy_dtype(stored) or field.null_count or field.offset:
            raise ValueError("damaged")
        # From its buffer: ``to_numpy`` imports pandas, too.
        arrays[name] = np.frombuffer(field.buffers()[1], stored, len(field)).view(dtype)
    return kind(**arrays)


class _Summed(io.RawIOBase):
    """Passes on what is written and keeps its checksum."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.checksum = 0

    def writable(self) -> bool:
        """Say so to Arrow."""
        return True

    def write(self, data: Any) -> int:
        """Write all of it."""
        self.checksum = isal_zlib.crc32(data, self.checksum)
        return self._file.write(data)


def _trailer(checksum: int) -> bytes:
    return b"crc32 %08x\n" % checksum
