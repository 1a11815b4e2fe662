"""Cache traces on disk (``arrow_file``): read once, loaded from then on.

Each table of a Trace is a table of the file; the head holds the rest.

The name of a file is two digests of what went into it: the first of the content (``identity``) and
the names of the trace and its sidecar, worker and rank, the second of the engine as well, which is
the sources of everything that makes a Trace and its pyramid, with the user's vendor files. Nothing
in the directory is worth keeping; it can be deleted at any time.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1 import i18n
from tb_privateuse1.discovery.file import File, Located, locate
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.storage import arrow_file, cache_directory, file_identity
from tb_privateuse1.storage.file_identity import content_of, digest, identity
from tb_privateuse1.trace.model import TABLES, Meta, Trace
from tb_privateuse1.vendors.user_file import OURS, Vendors

_NUMBERS = [name for name, kind in Trace.__annotations__.items() if kind == "int"]
_FILES: weakref.WeakKeyDictionary[Trace, Path] = weakref.WeakKeyDictionary()


class _Head(msgspec.Struct):
    """The metadata of a cache file."""

    meta: msgspec.Raw
    numbers: dict[str, int]
    """The fields of Trace that are plain numbers."""
    texts: list[dict[str, Any]]
    """Those in ``meta``, to be put into other languages: ``texts.packed``."""


# msgspec finds out what a class holds when it is first asked for one, and crashes where several
# threads are the first: it is asked while modules are imported, which one thread does.
_HEAD, _META = msgspec.json.Decoder(_Head), msgspec.json.Decoder(Meta)


def cache_key(
    files: TraceFiles, vendors: Vendors = OURS, look: Callable[[str], Located] = locate
) -> str:
    """Return the cache name of these files; it changes with any of them and with the engine.

    Raises OSError if the trace cannot be read.
    """
    sidecar = _identity(files.sidecar, look) if files.sidecar else None
    others = [cache_key(other, vendors, look) for other in files.others]
    content: list[object] = [identity(files.trace, look), sidecar, *map(content_of, others)]
    content += (_identity(part, look) for part in files.parts)
    names = [files.names, files.worker, files.rank, files.label]
    own = digest([content, names])
    return own + digest([file_identity.engine_version(), vendors.fingerprint, own, others])


def _identity(file: File, look: Callable[[str], Located]) -> tuple[int, int, str]:
    try:
        return identity(file, look)
    except OSError:  # a finding of the trace; it is another one when it can be read
        return file.size, file.mtime_ns, "unreadable"


def write_trace(trace: Trace, path: Path) -> None:
    """Store a trace atomically; raises OSError, and leaves nothing half-written behind."""
    tables = {name: getattr(trace, name) for name in TABLES}
    numbers = {name: getattr(trace, name) for name in _NUMBERS}
    said: list[dict[str, Any]] = []

    def english(text: Any) -> str:
        said.append(i18n.pack(text))
        return str(text)

    meta = msgspec.Raw(msgspec.json.encode(trace.meta, enc_hook=english))
    head = msgspec.json.encode(_Head(meta, numbers, said), enc_hook=str)
    arrow_file.write(path, arrow_file.Content(head, tables, trace.strings))


def read_trace(path: Path, vendors: Vendors = OURS) -> Trace | None:
    """Return the trace of a cache file; None if the file is missing or damaged.

    A damaged one is removed, if it may be.
    """
    trace = arrow_file.read(path, TABLES, functools.partial(_trace, vendors))
    if trace is not None:
        cache_directory.touch(path)
        _FILES[trace] = path
    return trace


def cached_path(trace: Trace) -> Path | None:
    """Return the cache file that a trace was read from, if any; it may be gone meanwhile."""
    return _FILES.get(trace)


def _trace(vendors: Vendors, content: arrow_file.Content) -> Trace:
    head = _HEAD.decode(content.head)
    meta = _META.decode(head.meta)
    known = {text["english"]: i18n.unpack(text) for text in head.texts}
    findings, grounds = _restored((meta.findings, meta.grounds), known)
    meta = replace(meta, findings=findings, grounds=grounds)
    values: dict[str, Any] = {**head.numbers, **content.tables}
    vendor = vendors.named(meta.vendor)
    return Trace(strings=content.strings, meta=meta, vendor=vendor, **values)


def _restored(value: Any, known: Mapping[str, i18n.Text]) -> Any:
    """Return a value whose strings are Texts again, if ``known`` has them.

    Stored traces hold their texts in English; ``known`` is by that English.
    """
    if isinstance(value, str):
        return known.get(value, value)
    if isinstance(value, tuple):
        return tuple(_restored(item, known) for item in value)
    if isinstance(value, Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        return replace(value, **{k: _restored(v, known) for k, v in fields.items()})
    return value
