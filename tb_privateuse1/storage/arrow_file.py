"""Write and read tables of numbers as one Arrow IPC stream.

A file has one row. Each table is a column of that row: a list of structs, so that any Arrow tool
reads it (DuckDB: ``select unnest(ops, recursive := true) from …``) while its columns stay
contiguous and are used where they lie. The schema's metadata hold the rest, as its maker likes,
and the name of the file: one that is copied over another is not taken for the other.

Behind the stream's end, where Arrow does not look, stands a checksum of the stream. A file that
is cut off or damaged is removed and read as absent; Arrow, which may crash on it, never sees it.

A file is read into memory and not mapped. What is mapped changes with the file, behind the
checksum; where the file shrinks, or another machine removes it from NFS, the whole server ends
with a bus error.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
from isal import isal_zlib
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.storage import cache_directory
from tb_privateuse1.trace.table import Table

_HEAD, _NAME = b"tb_privateuse1", b"tb_privateuse1.name"
_STRINGS = "strings"

T = TypeVar("T")


class Content(Struct, frozen=True):
    """The content of a file: ``head`` is JSON."""

    head: bytes
    tables: Mapping[str, Table]
    strings: tuple[str, ...] = ()


def write(path: Path, content: Content) -> None:
    """Store tables atomically; raises OSError, and leaves nothing half-written behind."""
    columns = [*map(_nested, content.tables.values()), _strings(content.strings)]
    fields = zip([*content.tables, _STRINGS], columns, strict=True)
    schema = pa.schema([pa.field(name, column.type) for name, column in fields])
    schema = schema.with_metadata({_HEAD: content.head, _NAME: path.name.encode()})
    with cache_directory.replacing(path) as file:
        summed = _Summed(file)
        with pa.ipc.new_stream(summed, schema) as writer:
            writer.write_batch(pa.record_batch(columns, schema=schema))
        file.write(_trailer(summed.checksum))


def read(path: Path, kinds: Mapping[str, type[Table]], make: Callable[[Content], T]) -> T | None:
    """Return ``make`` of a file's content; None if the file is missing or damaged.

    A damaged one, or one that was written under another name, is removed, if it may be. ``make``
    raises ValueError, KeyError, TypeError or msgspec's DecodeError for what it cannot use.
    """
    try:
        return make(_read(path, kinds))
    except OSError:  # absent, or we may not, or have too many files open: that says nothing of it
        return None
    except (ValueError, KeyError, TypeError, pa.ArrowException, msgspec.DecodeError):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        return None


def _read(path: Path, kinds: Mapping[str, type[Table]]) -> Content:
    whole = _whole(path)
    body = whole.slice(0, max(whole.size - len(_trailer(0)), 0))
    if whole.slice(body.size) != pa.py_buffer(_trailer(isal_zlib.crc32(body))):
        raise ValueError("damaged")
    batch = pa.ipc.open_stream(pa.BufferReader(body)).read_next_batch()
    metadata = batch.schema.metadata
    if metadata[_NAME] != path.name.encode():
        raise ValueError("another file")
    return Content(
        metadata[_HEAD],
        {name: _table(kind, batch.column(name)) for name, kind in kinds.items()},
        tuple(batch.column(_STRINGS).values.to_pylist()),
    )


def _whole(path: Path) -> pa.Buffer:
    """Return a private copy of a file's bytes, which nobody else can change."""
    with path.open("rb") as file:
        content = np.empty(os.fstat(file.fileno()).st_size, np.uint8)
        count = file.readinto(content.data)  # fewer, if it shrinks meanwhile
    content.flags.writeable = False
    return pa.py_buffer(content[:count])


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
