"""Store what views of all ranks need of a trace beside the trace: its part.

A part (``analysis.ranks``) is some kilobytes of a trace of any size. A reader process writes it as
``<key>.part`` next to ``<key>.arrow``. It has a bound and an order of removal of its own
(``cache_directory``), so that it outlives the columns: a run of a thousand ranks is opened without
one of its traces.

The file is an Arrow stream (``arrow_file``) with one column of numbers per type. The head is JSON:
the part, with ``[type, first, count]`` in place of each array, and the version of everything that
makes a part. A part of another version is not used.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.analysis.ranks.collectives import RankPart, reduce_trace
from tb_privateuse1.storage import arrow_file, cache_directory, disk_cache
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I8, I32, I64, Bools, Table

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Int64(Table):
    values: I64


@dataclass(frozen=True)
class _Int32(Table):
    values: I32


@dataclass(frozen=True)
class _Int8(Table):
    values: I8


@dataclass(frozen=True)
class _Float64(Table):
    values: F64


@dataclass(frozen=True)
class _Bool(Table):
    values: Bools


_KINDS: dict[str, type[Table]] = {
    "int64": _Int64, "int32": _Int32, "int8": _Int8, "float64": _Float64, "bool": _Bool,
}  # fmt: skip
"""The columns of a file by the name of their numpy type."""


class _Head(msgspec.Struct):
    made_by: str
    """``version`` when it was written."""
    part: msgspec.Raw


_HEAD = msgspec.json.Decoder(_Head)  # here, as in ``disk_cache``
msgspec.json.Decoder(RankPart, dec_hook=lambda _, value: value)


@functools.cache
def version() -> str:
    """Return a digest of the sources that determine a trace's part."""
    digest = hashlib.sha256(disk_cache.engine_version().encode())
    for file in sorted((Path(__file__).parents[1] / "analysis").rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:32]


def write_part(part: RankPart, path: Path) -> None:
    """Store the part of the trace that is cached at ``path``, atomically.

    Raises OSError, and leaves nothing half-written behind. Raises ValueError for texts with half a
    surrogate pair, which a cached trace does not have.
    """
    arrow_file.write(cache_directory.part_path(path), pack(part))


def read_part(path: Path) -> RankPart | None:
    """Return the part of the trace that is cached at ``path``; None if there is none.

    Its trace may be gone. A part that is damaged, of another trace or of another version is
    removed, if it may be.
    """
    beside = cache_directory.part_path(path)
    part = arrow_file.read(beside, _KINDS, unpack)
    if part is not None:
        cache_directory.touch(beside)
    return part


def prepare(trace: Trace, path: Path) -> None:
    """Store a trace's part beside the trace's file; without one, it is made when asked for."""
    try:
        part = reduce_trace(trace)
    except MemoryError:
        return
    except Exception:  # the trace is whole without it
        _log.exception("the part of %s", path.name)
        return
    keep(part, path)


def keep(part: RankPart, path: Path) -> bool:
    """Store a part if the cache has room for it and its texts can be written; whether it is."""
    with contextlib.suppress(OSError, ValueError):
        write_part(part, path)
        return True
    return False


def pack(part: RankPart) -> arrow_file.Content:
    """Return the columns and the head of a part. Raises ValueError as ``write_part`` does."""
    arrays: dict[str, list[NDArray[Any]]] = {name: [] for name in _KINDS}
    counts = dict.fromkeys(_KINDS, 0)

    def place(value: Any) -> list[Any]:
        name = value.dtype.name
        first, count = counts[name], len(value)
        arrays[name].append(value)
        counts[name] += count
        return [name, first, count]

    tree = msgspec.Raw(msgspec.json.encode(part, enc_hook=place))
    tables = {name: _column(kind, name, arrays[name]) for name, kind in _KINDS.items()}
    return arrow_file.Content(msgspec.json.encode(_Head(version(), tree)), tables)


def _column(kind: type[Table], name: str, arrays: list[NDArray[Any]]) -> Table:
    columns = {"values": np.concatenate([np.empty(0, name), *arrays])}
    return kind(**columns)


def unpack(content: arrow_file.Content) -> RankPart:
    """Return the part of a file's content. Raises ValueError or msgspec's DecodeError."""
    head = _HEAD.decode(content.head)
    if head.made_by != version():
        raise ValueError("of another version")

    def take(kind: Any, value: Any) -> NDArray[Any]:
        name, first, count = msgspec.convert(value, tuple[str, int, int])
        (_, column), *_ = content.tables[name].columns()
        wanted = typing.get_args(typing.get_args(kind)[1])[0]
        if column.dtype != wanted or not 0 <= first <= first + count <= len(column):
            raise ValueError("damaged")
        return column[first : first + count]

    return msgspec.json.decode(head.part, type=RankPart, dec_hook=take)
