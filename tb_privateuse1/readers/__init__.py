"""Read files of any format as raw columns: ``READERS`` is the list of formats.

A new format is one file of this room with a ``Reader``, an entry in ``READERS``, a section in
docs/reference/formats.md, a test and a sample. Order: base < decompress < sqlite < formats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tb_privateuse1.discovery.file import basename, file_at, has_no_answer, printable
from tb_privateuse1.discovery.formats import (
    completed_name,
    is_own_name,
    is_part,
    is_source,
    stem,
)
from tb_privateuse1.discovery.remote import RemoteError
from tb_privateuse1.discovery.trace_head import find_format
from tb_privateuse1.i18n import say
from tb_privateuse1.readers import (
    ascend,
    chrome,
    flight_recorder,
    memory_timeline,
    nsight,
    perfetto,
    rocprof,
    snapshot,
)
from tb_privateuse1.readers.reader import ALONE, Processes, Reader
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.isolation import Failure, isolate

if TYPE_CHECKING:
    from tb_privateuse1.readers.raw import Progress, Raw

__all__ = [
    "READERS",
    "choose_reader",
    "complete",
    "event_files",
    "of_label",
    "raw",
    "read",
    "reader",
    "reader_named",
    "sidecar",
]

READERS: tuple[Reader, ...] = (
    chrome.CHROME,
    ascend.ASCEND,
    nsight.NSIGHT,
    rocprof.ROCPROF,
    rocprof.ROCPROF_JSON,
    snapshot.SNAPSHOT,
    perfetto.PERFETTO,
    memory_timeline.MEMORY_TIMELINE,
    flight_recorder.FLIGHT_RECORDER,
)
"""By precedence. The first reads what nobody recognizes, and says what is wrong with it."""

_NOT_OURS = {"not_json", "not_a_database"}
"""Errors of files that are of no reader's format: what they are is looked up."""


def of_label(raw: Raw, label: str) -> Raw:
    """Return what a file with several recordings has of the one with a label."""
    from tb_privateuse1.readers.chrome import joined_processes

    return joined_processes.of_label(raw, label)


def read(path: str, progress: Progress | None = None, processes: Processes = ALONE) -> Raw:
    """Read a file of any format, a large one in several processes if its reader can.

    They are forked: ``processes`` is for a program without other threads at work. Raises TraceError
    as the reader does.
    """
    reader = choose_reader(path)
    try:
        if reader.read_parallel and processes.count > 1:
            raw = reader.read_parallel(path, progress, processes)
        else:
            raw = reader.read(path, progress)
    except TraceError as error:
        is_fallback = reader is READERS[0] and error.code == "not_a_trace"
        if not is_fallback and error.code not in _NOT_OURS:
            raise
        from tb_privateuse1.readers import other_files

        raise other_files.recognize(path, error) from error
    return complete(replace(raw, reader=reader.name))


def complete(raw: Raw, parts: Sequence[str] = ()) -> Raw:
    """Return a trace's columns with what the other files of its folder add to them."""
    of_rank = {part: reader for part in parts if (reader := _of_rank(part)) is not None}
    for reader in READERS:
        for part in parts:
            if reader.add and of_rank.get(part, reader) is reader and _adds(reader, part):
                item = printable(basename(part))
                raw = _changed(raw, reader, item, partial(reader.add, raw, part))
        if reader.alter:
            raw = _changed(raw, reader, reader.name, partial(reader.alter, raw))
    return raw


def _changed(raw: Raw, reader: Reader, item: str, change: Callable[[], Raw]) -> Raw:
    """Return the changed columns; the same ones with a finding if the change fails.

    Raises ``discovery.remote.RemoteError``: that may be otherwise in a moment.
    """
    try:
        changed = isolate(item, change)
    except RemoteError:
        raise
    except TraceError as error:
        if has_no_answer(error):  # it may pass in a moment
            raise
        hint = error.hint or say("What it adds to the recording is missing.")
        found = Finding("part_unreadable", error.message, hint)
    else:
        if not isinstance(changed, Failure):
            return changed
        found = changed.finding()
    found = replace(found, affects=reader.affects)
    return replace(raw, findings=(*raw.findings, found))


def _of_rank(part: str) -> Reader | None:
    """Return the reader of a file that adds to the recordings of its rank, None of others."""
    candidates = [reader for reader in READERS if reader.joins_rank]
    named = (reader for reader in candidates if is_own_name(basename(part), [reader]))
    try:
        return next(named, None) or find_format(file_at(part), candidates)
    except RemoteError:
        raise
    except OSError as error:  # it is gone
        _check_answer(part, error)
        return None


def _adds(reader: Reader, part: str) -> bool:
    if reader.joins_rank:
        return _of_rank(part) is reader
    name = basename(part)
    if reader.folder is not None and reader.folder.parts.search(name):
        return True
    if completed_name(name, READERS) is not None:
        return completed_name(name, [reader]) is not None
    may_add = reader.joins_any or reader.beside is not None
    return may_add and not is_part(name, READERS) and reader is _of_any(part)


def _of_any(part: str) -> Reader | None:
    """Return the reader of a file that may add to any recording of its directory."""
    try:
        joining = find_format(file_at(part), [reader for reader in READERS if reader.joins_any])
    except RemoteError:
        raise
    except OSError as error:  # it is gone
        _check_answer(part, error)
        joining = None
    return joining or next((reader for reader in READERS if reader.beside), None)


def _check_answer(path: str, error: OSError) -> None:
    """Raise TraceError ``unreadable`` if the disk of a file failed: what it has is not known."""
    if has_no_answer(error):
        message = say("{path} cannot be read: {error}", path=path, error=error)
        raise TraceError("unreadable", message) from error


def choose_reader(path: str) -> Reader:
    """Return the reader of a file: by its first bytes, else by its name, else the first.

    A name that only one tool writes needs no look at the content, which is a request of a server.
    Raises ``discovery.remote.RemoteError``; of a local file that cannot be read, its reader does.
    """
    name = basename(path)
    own = [each for each in READERS if is_own_name(name, [each]) and not is_source(name, [each])]
    if len(own) == 1:
        return own[0]
    try:
        recognized = find_format(file_at(path), READERS)
    except RemoteError:
        raise
    except OSError as error:
        _check_answer(path, error)
        recognized = None
    named = (reader for reader in READERS if stem(name, [reader]) is not None)
    return recognized or next(named, READERS[0])


def reader_named(name: str) -> Reader:
    """Return the reader that made a trace, by ``Meta.reader``."""
    return next(reader for reader in READERS if reader.name == name)
