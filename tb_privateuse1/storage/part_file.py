"""Store a trace's reduction for views of all ranks in a file beside the cached trace.

A part (``analysis.ranks``) is some kilobytes of a trace of any size. A reader process writes it
next to ``<key>.arrow``. It has a bound and an order of removal of its own (``cache_directory``), so
that it outlives the columns: a run of a thousand ranks is opened without one of its traces.

The file is an Arrow stream (``arrow_file``) with one column of numbers per type. The head is JSON:
the part, with ``[type, first, count]`` in place of each array. A file may have the parts of a group
of ranks (``part_groups``): then their columns follow each other, and ``starts`` says where each
part begins.

Its name (``cache_directory.part_path``) begins with the trace's content and ends with a digest of
everything that makes a part: versions that share a directory do not see each other's parts. Who
waits for a thousand ranks wants to know why they are read again: ``EarlierParts`` says that there
are parts of another version.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tb_privateuse1.analysis.ranks.collectives import RankPart, reduce_trace
from tb_privateuse1.i18n import say
from tb_privateuse1.storage import arrow_file, cache_directory
from tb_privateuse1.storage.file_identity import content_of
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I8, I32, I64, Bools, SmallNumber, Table

_T = TypeVar("_T")

_log = logging.getLogger(__name__)


_NAME_OF: dict[int, tuple[str, Any]] = {}
"""The same by the identity of a field's type, with that: ten thousand parts have a third of a
million arrays, and to hash such a type takes longer than to take one."""
_LISTED_S = 60.0
"""A directory of ten thousand parts is listed at most so often: what others write into it meanwhile
is rarely of an earlier version."""


class _Int64(Table, frozen=True):
    values: I64


class _Int32(Table, frozen=True):
    values: SmallNumber


class _Int8(Table, frozen=True):
    values: I8


class _Float64(Table, frozen=True):
    values: F64


class _Bool(Table, frozen=True):
    values: Bools


_KINDS: dict[str, type[Table]] = {
    "int64": _Int64, "int32": _Int32, "int8": _Int8, "float64": _Float64, "bool": _Bool,
}  # fmt: skip
"""The columns of a file by the name of their numpy type."""
_NAMES: dict[Any, str] = {I64: "int64", I32: "int32", F64: "float64", Bools: "bool"}


class _Head(msgspec.Struct):
    parts: list[msgspec.Raw]
    starts: list[dict[str, int]]
    """Of each part the first row in each column."""


_HEAD = msgspec.json.Decoder(_Head)  # here, as in ``disk_cache``
msgspec.json.Decoder(RankPart, dec_hook=lambda _, value: value)


def write_part(part: RankPart, path: Path) -> None:
    """Store the part of the trace that is cached at ``path``, atomically.

    Raises OSError, and leaves nothing half-written behind. Raises ValueError for texts with half a
    surrogate pair, which a cached trace does not have.
    """
    write_content(pack(part), path)


def read_part(path: Path) -> RankPart | None:
    """Return the part of the trace that is cached at ``path``; None if there is none.

    Its trace may be gone. A part that is damaged or of another trace is removed, if it may be.
    """
    parts = read_parts(path)
    return parts[0] if parts else None


def write_content(content: arrow_file.Content, path: Path) -> None:
    """Store the part, or the parts of a group, that ``pack`` or ``combine`` made.

    Raises OSError.
    """
    arrow_file.write(cache_directory.part_path(path), content)


def read_parts(path: Path) -> tuple[RankPart, ...]:
    """Return the parts of a file as ``read_part`` does; none if there is none."""
    beside = cache_directory.part_path(path)
    parts = arrow_file.read(beside, _KINDS, unpack)
    if parts:
        cache_directory.touch(beside)
    return parts or ()


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
    return _content([tree], [dict.fromkeys(_KINDS, 0)], arrays)


def combine(contents: Sequence[arrow_file.Content]) -> arrow_file.Content:
    """Return the parts of several contents as one, in their order.

    It is associative: parts that are combined in a tree, node by node, give the same bytes as all
    of them at once.
    """
    parts: list[msgspec.Raw] = []
    starts: list[dict[str, int]] = []
    arrays: dict[str, list[NDArray[Any]]] = {name: [] for name in _KINDS}
    ends = dict.fromkeys(_KINDS, 0)
    for content in contents:
        head = _HEAD.decode(content.head)
        parts += head.parts
        starts += ({name: at + ends[name] for name, at in own.items()} for own in head.starts)
        for name, column in _columns(content).items():
            arrays[name].append(column)
            ends[name] += len(column)
    return _content(parts, starts, arrays)


def _content(
    parts: list[msgspec.Raw], starts: list[dict[str, int]], arrays: dict[str, list[NDArray[Any]]]
) -> arrow_file.Content:
    tables = {}
    for name, kind in _KINDS.items():
        columns = {"values": np.concatenate([np.empty(0, name), *arrays[name]])}
        tables[name] = kind(**columns)
    return arrow_file.Content(msgspec.json.encode(_Head(parts, starts)), tables)


def _columns(content: arrow_file.Content) -> dict[str, NDArray[Any]]:
    return {name: next(table.columns())[1] for name, table in content.tables.items()}


def unpack(content: arrow_file.Content) -> tuple[RankPart, ...]:
    """Return the parts of a file's content. Raises ValueError or msgspec's DecodeError."""
    head = _HEAD.decode(content.head)
    columns = _columns(content)
    return tuple(
        _unpack_one(tree, start, columns)
        for tree, start in zip(head.parts, head.starts, strict=True)
    )


def _unpack_one(
    tree: msgspec.Raw, start: dict[str, int], columns: dict[str, NDArray[Any]]
) -> RankPart:
    def take(kind: Any, value: Any) -> NDArray[Any]:
        name, offset, count = value
        column, first = columns[name], start[name] + offset
        known = _NAME_OF.get(id(kind)) or _NAME_OF.setdefault(id(kind), (_NAMES[kind], kind))
        if name != known[0] or not 0 <= first <= first + count <= len(column):
            raise ValueError("damaged")
        return column[first : first + count]

    return _with_shared_texts(msgspec.json.decode(tree, type=RankPart, dec_hook=take))


def _with_shared_texts(part: RankPart) -> RankPart:
    """Return an equal part whose texts are those of other ranks: most have the same."""
    kernels = {_shared(name): ns for name, ns in part.host.kernels.items()}
    calls = {_shared(name): count for name, count in part.host.kernel_calls.items()}
    return replace(
        part,
        shapes=_shared(part.shapes),
        steps=replace(part.steps, names=_shared(part.steps.names)),
        host=replace(part.host, kernels=kernels, kernel_calls=calls),
    )


@functools.lru_cache(4096)
def _shared(value: _T) -> _T:
    """Return the first one of equal values."""
    return value


class EarlierParts:
    """The parts in cache directories by content. ``clock`` returns seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._listed: dict[Path, tuple[float, dict[str, list[str]]]] = {}

    def note(self, paths: Sequence[Path]) -> str | None:
        """Return what to say of a trace without a usable part; None if it never had one.

        ``paths`` are those at which the trace may be cached.
        """
        if not any(map(self._is_earlier, paths)):
            return None
        return say(
            "What is stored of this run is of another version of tb_privateuse1: its traces are "
            "read again. To have that done ahead, run tb-privateuse1 ingest once after an update."
        )

    def _is_earlier(self, path: Path) -> bool:
        own = cache_directory.part_path(path)
        known = self._names(own).get(content_of(own.name), [own.name])
        return own.name not in known

    def _names(self, part: Path) -> dict[str, list[str]]:
        """Return by content the names of the parts in the directory of a part."""
        now, folder = self._clock(), part.parent
        listed_s, found = self._listed.get(folder, (now - _LISTED_S, {}))
        if now - listed_s >= _LISTED_S:
            found = {}
            with contextlib.suppress(OSError):  # there is none yet
                for name in os.listdir(folder):
                    if name.endswith(part.suffix):
                        found.setdefault(content_of(name), []).append(name)
            self._listed[folder] = now, found
        return found
