"""Build a Trace from its files in the calling process; ``reader_process`` has one of its own."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tb_privateuse1 import i18n, readers
from tb_privateuse1.discovery.file import has_no_answer, printable
from tb_privateuse1.discovery.file_state import State, settled_state_of, state_of
from tb_privateuse1.discovery.remote import RemoteError
from tb_privateuse1.discovery.trace_files import TraceFiles, check_unchanged, is_unchanged, refresh
from tb_privateuse1.i18n import say
from tb_privateuse1.inference import build_trace
from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.readers.raw import Progress, Sidecar
from tb_privateuse1.readers.reader import ALONE, Processes
from tb_privateuse1.storage import cache_directory, disk_cache
from tb_privateuse1.storage.file_lock import Claim
from tb_privateuse1.storage.jobs import CHANGED, unreadable_error
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import ALL, DEVICE, Finding
from tb_privateuse1.trace.memory_budget import size_bytes
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.vendors.user_file import OURS, Vendors

_LOOK_S = 0.25
_NOT_ITS_OWN = ("canceled", "closed", "reader_stalled", "out_of_memory")
"""Errors while another recording is read that say nothing of it."""
_TRIES = 2
_FULL = (errno.ENOSPC, errno.EDQUOT)
"""The disk is full, or what this user may have of it."""
_log = logging.getLogger(__name__)


def ingest(
    files: TraceFiles,
    progress: Progress | None = None,
    targets: Sequence[Path] = (),
    vendors: Vendors = OURS,
    processes: Processes = ALONE,
) -> Trace:
    """Read and infer. An unreadable sidecar is a finding, as the trace can be shown without it.

    ``targets`` are where it will be stored: other recordings of the run that are asked for
    durations are looked for there, and stored there too. ``processes`` is as in ``readers.read``.
    A trace whose files change meanwhile is read again, once; if they change again, it says so.
    Raises TraceError: the reader's, ``changed_while_read``, ``out_of_memory``, or ``internal`` for
    our own mistakes.
    """
    try:
        return _unmixed(files, lambda now: _ingest(now, progress, targets, vendors, processes))
    except TraceError as error:
        raise TraceError(error.code, without_paths(error.message, files), error.hint) from error
    except MemoryError as error:
        message = say("{name} needs more memory than there is.", name=printable(files.trace.name))
        raise TraceError("out_of_memory", message) from error
    except Exception as error:
        _log.exception("reading %s", printable(files.trace.path))
        name, kind = printable(files.trace.name), type(error).__name__
        message = say("Reading {name} failed: {kind}: {error}", name=name, kind=kind, error=error)
        hint = say("This is a mistake of tb_privateuse1: please report it with the server's log.")
        raise TraceError("internal", without_paths(message, files), hint) from error


def _unmixed(files: TraceFiles, read: Callable[[TraceFiles], Trace]) -> Trace:
    """Return what ``read`` returns: of one version of the files, or with a word."""
    for tries_left in reversed(range(_TRIES)):
        before = _state(files, settled_state_of)
        now = _refreshed(files)
        try:
            trace = read(now)
        except MemoryError:
            raise
        except Exception as error:
            is_own = isinstance(error, TraceError) and error.code in _NOT_ITS_OWN
            if is_own or isinstance(error, RemoteError):
                raise
            if has_no_answer(error):
                raise _passing(files, error) from error
            if _state(files, state_of) == before:
                raise
            if not tries_left:
                raise TraceError(CHANGED, _changed_text(files), _changed_hint()) from error
        else:
            if _state(files, state_of) == before:
                return trace
    word = Finding(CHANGED, _changed_text(files), _changed_hint(), None, "error", ALL)
    return replace(trace, meta=replace(trace.meta, findings=(*trace.meta.findings, word)))


def _refreshed(files: TraceFiles) -> TraceFiles:
    try:
        return refresh(files)
    except OSError as error:
        raise unreadable_error(files, error) from error


def _state(files: TraceFiles, look: Callable[[Iterator[str]], State]) -> State:
    try:
        return look(files.paths())
    except OSError as error:
        raise unreadable_error(files, error) from error


def _passing(files: TraceFiles, error: Exception) -> TraceError:
    """Return the error of a disk that failed with a code that is tried again, whatever its own."""
    if isinstance(error, TraceError):
        return TraceError("unreadable", error.message, error.hint)
    cause = error if isinstance(error, OSError) else error.__cause__
    assert isinstance(cause, OSError), "else it was no failure of a disk"
    return unreadable_error(files, cause)


def _changed_text(files: TraceFiles) -> str:
    name = printable(files.trace.name)
    return say("{name} changed while it was read: figures may mix its versions.", name=name)


def _changed_hint() -> str:
    return say("Ask again when nothing writes it any more.")


def is_mixed(trace: Trace) -> bool:
    """Return whether a trace may mix versions of its files: then nobody may keep it."""
    return any(finding.code == CHANGED for finding in trace.meta.findings)


def is_of(trace: Trace, files: TraceFiles, key: str, vendors: Vendors) -> bool:
    """Return whether a trace that was just read is that of its key in the cache."""
    try:
        is_same = is_unchanged(files) and disk_cache.cache_key(files, vendors) == key
    except OSError:
        return False
    return is_same and not is_mixed(trace)


def _ingest(
    files: TraceFiles,
    progress: Progress | None,
    targets: Sequence[Path],
    vendors: Vendors,
    processes: Processes,
) -> Trace:
    events = 0

    def reading(phase: str, done: int, total: int, count: int) -> None:
        nonlocal events
        events = count
        if progress:
            progress(phase, done, total, count)

    raw = readers.read(files.trace.path, reading, processes)
    if files.label:
        raw = readers.of_label(raw, files.label)
    if files.parts:
        raw = readers.complete(raw, [part.path for part in files.parts])
    raw = replace(raw, findings=tuple(_without_paths(found, files) for found in raw.findings))
    sidecar, doubts = _sidecar(files)
    check_unchanged(files)

    def inferring(*_: object) -> None:
        if progress:
            progress("inferring", files.trace.size, files.trace.size, events)

    @functools.cache  # each stream of the trace may ask
    def others() -> list[Trace]:
        return [*_others(files, inferring, targets, vendors)]

    inferring()
    trace = build_trace(
        raw,
        sidecar,
        worker=files.worker,
        files=files.names,
        rank=files.rank,
        use_up=True,
        others=others,
        known=vendors.known,
    )
    found = (*trace.meta.findings, *doubts)
    meta = replace(trace.meta, size_bytes=files.trace.size, findings=found)
    return replace(trace, meta=meta)


def _others(
    files: TraceFiles, progress: Progress, targets: Sequence[Path], vendors: Vendors
) -> Iterator[Trace]:
    """Return the other recordings that exist, from the cache or read now."""
    for other in files.others:
        try:
            yield _other(other, progress, targets, vendors)
        except RemoteError:  # that may be otherwise in a moment
            raise
        except (OSError, TraceError) as error:  # it has findings of its own
            if has_no_answer(error):
                raise
            if isinstance(error, TraceError) and error.code in _NOT_ITS_OWN:
                raise
            _log.info("%s has no durations: %s", printable(other.trace.path), error)


def _other(
    other: TraceFiles, progress: Progress, targets: Sequence[Path], vendors: Vendors
) -> Trace:
    """Return another recording: from the cache, or read now if nobody reads it already."""
    name = f"{disk_cache.cache_key(other, vendors)}.arrow"
    paths = [target.with_name(name) for target in targets]
    with take_turn(paths, progress) as claim:
        known = next(filter(None, (disk_cache.read_trace(path, vendors) for path in paths)), None)
        if known is None:

            def reading(*state: Any) -> None:
                if claim:
                    claim.beat()
                progress(*state)

            known = ingest(other, reading, targets, vendors)
            save(known, paths if is_of(known, other, Path(name).stem, vendors) else [])
    return known


def take_turn(paths: Sequence[Path], progress: Progress) -> AbstractContextManager[Claim | None]:
    """Return when a trace is stored, or is ours to read: then with the claim to it.

    The claim is None where there are no locks, and if the other reader shows no sign of life.
    A caller waits while it holds the claim to its own trace. This cannot deadlock: the key of a
    trace is computed from the keys of the traces it needs, so these needs form no cycle.
    """
    beat_ns, quiet_s = 0, 0.0
    for path in paths:
        with contextlib.suppress(OSError):
            while quiet_s < cache_directory.STALL_S and not any(map(Path.is_file, paths)):
                if claim := cache_directory.claim(path):
                    return claim
                if (last_ns := cache_directory.beat_ns(path)) != beat_ns:
                    beat_ns, quiet_s = last_ns, 0.0
                progress("inferring", 0, 0, 0)
                time.sleep(_LOOK_S)
                quiet_s += _LOOK_S
            break
    return contextlib.nullcontext()


def _sidecar(files: TraceFiles) -> tuple[Sidecar | None, list[Finding]]:
    if files.sidecar is None:
        return None, []
    try:
        return readers_sidecar.read_sidecar(files.sidecar.path), []
    except TraceError as error:
        if isinstance(error, RemoteError) or has_no_answer(error):  # it may pass in a moment
            raise
        hint = say("Without it, this trace has no inferred device times.")
        message = without_paths(error.message, files)
        return None, [Finding("sidecar_unreadable", message, hint, None, "error", DEVICE)]


def _without_paths(found: Finding, files: TraceFiles) -> Finding:
    return replace(found, message=without_paths(found.message, files))


def without_paths(message: str, files: TraceFiles) -> str:
    """Return a text with names instead of paths: pages must not show the server's directories."""
    for file in files.own:
        for path in (file.path, printable(file.path)):
            message = i18n.replace_text(message, path, printable(file.name))
    return message


def save(trace: Trace, targets: Sequence[Path]) -> Path | None:
    """Write a trace to the first of these files that can be written; None if none can.

    On a full disk the directory of the file gives up what was not used for longest.
    """
    for target in targets:
        try:
            _save_at(trace, target)
            return target
        except OSError:
            _log.info("%s", traceback.format_exc(limit=0))
    return None


def _save_at(trace: Trace, target: Path) -> None:
    """Write a trace. Raises OSError, of a full disk only if nothing more can be given up."""
    while True:
        try:
            disk_cache.write_trace(trace, target)
            return
        except OSError as error:
            if error.errno not in _FULL or not cache_directory.give_up(
                target.parent, size_bytes(trace)
            ):
                raise
