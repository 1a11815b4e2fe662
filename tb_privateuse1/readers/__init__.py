"""Read files of any format as raw columns: ``READERS`` is the list of formats.

A new format is one file of this room with a ``Reader``, an entry in ``READERS``, a section in
docs/reference/formats.md, a test and a sample. Order: base < decompress < formats.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tb_privateuse1.discovery.file import basename, file_at
from tb_privateuse1.discovery.formats import is_own_name, is_part, stem
from tb_privateuse1.discovery.remote import RemoteError
from tb_privateuse1.discovery.trace_head import find_format
from tb_privateuse1.readers import ascend, chrome
from tb_privateuse1.readers.base import Reader
from tb_privateuse1.readers.raw import Progress, Raw

__all__ = [
    "READERS",
    "Reader",
    "ascend",
    "base",
    "choose_reader",
    "chrome",
    "complete",
    "raw",
    "read",
    "reader_named",
    "sidecar",
]

READERS: tuple[Reader, ...] = (chrome.CHROME, ascend.ASCEND)
"""By precedence. The first reads what nobody recognizes, and says what is wrong with it."""


def read(path: str, progress: Progress | None = None) -> Raw:
    """Read a file of any format. Raises TraceError as its reader does."""
    reader = choose_reader(path)
    return complete(dataclasses.replace(reader.read(path, progress), reader=reader.name))


def complete(raw: Raw, parts: Sequence[str] = ()) -> Raw:
    """Return a trace's columns with what the other files of its folder add to them."""
    for reader in READERS:
        if reader.complete:
            raw = reader.complete(raw, [part for part in parts if _adds(reader, part)])
    return raw


def _adds(reader: Reader, part: str) -> bool:
    name = basename(part)
    if reader.folder is not None and reader.folder.parts.search(name):
        return True
    return reader.beside is not None and not is_part(name, READERS)


def choose_reader(path: str) -> Reader:
    """Return the reader of a file: by its first bytes, else by its name, else the first.

    A name that only one tool writes needs no look at the content, which is a request of a server.
    Raises ``discovery.remote.RemoteError``; of a local file that cannot be read, its reader does.
    """
    own = [reader for reader in READERS if is_own_name(basename(path), [reader])]
    if len(own) == 1:
        return own[0]
    try:
        recognized = find_format(file_at(path), READERS)
    except RemoteError:
        raise
    except OSError:
        recognized = None
    named = (reader for reader in READERS if stem(basename(path), [reader]) is not None)
    return recognized or next(named, READERS[0])


def reader_named(name: str) -> Reader:
    """Return the reader that made a trace, by ``Meta.reader``."""
    return next(reader for reader in READERS if reader.name == name)
