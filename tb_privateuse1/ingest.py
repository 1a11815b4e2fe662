"""Make a Trace of its files, here or in a process of its own.

A trace is read in a process, ``python -c "from tb_privateuse1.ingest import main…"``, that reads
no other one at the time, rather than in a ``multiprocessing`` pool: one that is killed (out of
memory, a crash in a library) takes no other trace with it; its memory goes back to the system;
and the user's ``__main__`` is not imported again, which for a script without a guard would start
it anew. Starting it takes longer than reading a small trace, so that after a small one it waits
a while for another: a run may have a thousand ranks.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tb_privateuse1 import cache, processes, pyramidfile, texts, vendor_file
from tb_privateuse1.discover.base import shown
from tb_privateuse1.files import Files, check_unchanged, unchanged
from tb_privateuse1.findings import DEVICE, Finding
from tb_privateuse1.infer import build
from tb_privateuse1.read import chrome, kernel_events
from tb_privateuse1.read.base import Progress, Sidecar
from tb_privateuse1.remote import RemoteError
from tb_privateuse1.texts import say
from tb_privateuse1.trace import Trace, TraceError
from tb_privateuse1.vendor_file import OURS, Vendors

_EVERY_S = 0.1
_NOT_SEEN = ("no_such_path", "remote_driver")
"""What a process says of a remote file that is another's own."""
_CODE = "from tb_privateuse1.ingest import main; main()"
_SMALL_BYTES = 8 << 20
"""After a larger file, packed or not, a process is not used again: its memory goes back."""
_GRAVE = ("out_of_memory", "internal")
"""After these neither: who knows what they left."""
_log = logging.getLogger(__name__)

_VendorFiles = tuple[vendor_file.File, ...]
msgspec.json.Decoder(Files)  # here, as in ``cache``


def ingest(
    files: Files,
    progress: Progress | None = None,
    targets: Sequence[Path] = (),
    vendors: Vendors = OURS,
) -> Trace:
    """Read and infer. An unreadable sidecar is a finding, as the trace can be shown without it.

    ``targets`` are where it will be stored: other recordings of the run that are asked for
    durations are looked for there, and stored there too.
    Raises TraceError: the reader's, ``out_of_memory``, or ``internal`` for our own mistakes.
    """
    try:
        return _ingest(files, progress, targets, vendors)
    except TraceError as error:
        raise TraceError(error.code, brief(error.message, files), error.hint) from error
    except MemoryError as error:
        message = say("{name} needs more memory than there is.", name=shown(files.trace.name))
        raise TraceError("out_of_memory", message) from error
    except Exception as error:
        _log.exception("reading %s", shown(files.trace.path))
        name, kind = shown(files.trace.name), type(error).__name__
        message = say("Reading {name} failed: {kind}: {error}", name=name, kind=kind, error=error)
        hint = say("This is a mistake of tb_privateuse1: please report it with the server's log.")
        raise TraceError("internal", brief(message, files), hint) from error


def _ingest(
    files: Files, progress: Progress | None, targets: Sequence[Path], vendors: Vendors
) -> Trace:
    events = 0

    def reading(phase: str, done: int, total: int, count: int) -> None:
        nonlocal events
        events = count
        if progress:
            progress(phase, done, total, count)

    raw = chrome.read(files.trace.path, reading)
    sidecar, doubts = _sidecar(files)
    check_unchanged(files)

    def inferring(*_: object) -> None:
        if progress:
            progress("inferring", files.trace.size, files.trace.size, events)

    @functools.cache  # each stream of the trace may ask
    def others() -> list[Trace]:
        return [*_others(files, inferring, targets, vendors)]

    inferring()
    trace = build(
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
    meta = dataclasses.replace(trace.meta, size_bytes=files.trace.size, findings=found)
    return dataclasses.replace(trace, meta=meta)


def _others(
    files: Files, progress: Progress, targets: Sequence[Path], vendors: Vendors
) -> Iterator[Trace]:
    """The other recordings that are there, from where they are stored, or read now."""
    for other in files.others:
        try:
            name = f"{cache.key(other, vendors)}.arrow"
            paths = [target.with_name(name) for target in targets]
            known = next(filter(None, (cache.read(path, vendors) for path in paths)), None)
            if known is None:
                known = ingest(other, progress, targets, vendors)
                save(known, paths if unchanged(other) else [])
            yield known
        except RemoteError:  # that may be otherwise in a moment
            raise
        except (OSError, TraceError) as error:  # it has findings of its own
            _log.info("%s tells no durations: %s", shown(other.trace.path), error)


def _sidecar(files: Files) -> tuple[Sidecar | None, list[Finding]]:
    if files.sidecar is None:
        return None, []
    try:
        return kernel_events.read(files.sidecar.path), []
    except TraceError as error:
        if isinstance(error, RemoteError):  # that may be otherwise in a moment
            raise
        hint = say("Without it, this trace has no inferred device times.")
        message = brief(error.message, files)
        return None, [Finding("sidecar_unreadable", message, hint, None, "error", DEVICE)]


def brief(message: str, files: Files) -> str:
    """Names instead of paths: where a logdir is on the server is not for the page."""
    for file in filter(None, (files.trace, files.sidecar)):
        for path in (file.path, shown(file.path)):
            message = texts.replaced(message, path, shown(file.name))
    return message


def in_process(
    files: Files,
    targets: Sequence[Path],
    progress: Progress,
    started: Callable[[processes.Process | None], None],
    waiting: processes.Waiting,
    vendors: Vendors = OURS,
) -> Path:
    """Ingest in a process of its own and store the trace in the first writable target.

    The last target is for us alone: a trace that changed while it was read goes there.
    What only this process sees (``memory://``, a filesystem that a script has registered) is read
    here: the other one tells by not finding it.

    ``started`` gets the process, to be able to kill it, and None when it may no longer do so;
    ``waiting`` has those that can be used again. Raises TraceError as ``ingest`` does,
    ``reader_died`` if the process ended without an answer, ``no_room`` if no target is writable.
    """
    try:
        return _in_process(files, targets, progress, started, waiting, vendors)
    except TraceError as error:
        if error.code not in _NOT_SEEN or not files.trace.is_remote:
            raise
        if (saved := save(ingest(files, progress, targets[:-1], vendors), targets)) is None:
            raise _no_room(targets) from None
        return saved


def _in_process(
    files: Files,
    targets: Sequence[Path],
    progress: Progress,
    started: Callable[[processes.Process | None], None],
    waiting: processes.Waiting,
    vendors: Vendors,
) -> Path:
    request = {
        "files": dataclasses.asdict(files),
        "targets": [str(t) for t in targets],
        "vendors": msgspec.to_builtins(vendors.files),
    }
    spoke = False

    def heard(*state: Any) -> None:
        nonlocal spoke
        spoke = True
        progress(*state)

    process = waiting.take()
    while True:
        used, process = process is not None, process or processes.start(_CODE)
        try:
            started(process)
            answer = processes.ask(process, request, heard)
        except BaseException:
            processes.end(process)
            raise
        if answer is not None:
            break
        how = processes.end(process)
        if spoke or not used:
            raise _died(files, how)
        process = None  # it ended before it began: it had waited for too long
    started(None)
    error = answer.get("error")
    if files.trace.size <= _SMALL_BYTES and (error is None or error["code"] not in _GRAVE):
        waiting.give(process)
    else:
        processes.end(process)
    if error is not None:
        raise TraceError.unpacked(error)
    return Path(answer["done"])


def _died(files: Files, how: int) -> TraceError:
    name = shown(files.trace.name)
    told = signal.Signals(-how).name if how < 0 else say("code {code}", code=how)
    hint = say("If the machine was out of memory: close other programs, or record fewer steps.")
    message = say("The process that read {name} ended with {told}.", name=name, told=told)
    return TraceError("reader_died", message, hint)


def main() -> None:
    """The process: to each request, progress and one answer."""
    processes.serve(_answer)


def _answer(request: dict[str, Any], reply: Callable[..., None]) -> None:
    try:
        files = msgspec.convert(request["files"], Files)
        limited = _limit(lambda *state: reply(progress=state))
        targets = [Path(target) for target in request["targets"]]
        vendors = vendor_file.parsed(msgspec.convert(request["vendors"], _VendorFiles))
        trace = ingest(files, limited, targets[:-1], vendors)
        limited("storing", files.trace.size, files.trace.size, 0)
        if not unchanged(files):
            targets = targets[-1:]
        if (saved := save(trace, targets)) is None:
            raise _no_room(targets)
        if saved != targets[-1]:  # that one is gone as soon as it is read
            pyramidfile.prepare(trace, saved)
        reply(done=str(saved))
    except TraceError as error:
        reply(error=error.packed())


def save(trace: Trace, targets: Sequence[Path]) -> Path | None:
    """Write a trace to the first of these files that can be written; None if none can."""
    for target in targets:
        try:
            cache.write(trace, target)
            return target
        except OSError:
            _log.info("%s", traceback.format_exc(limit=0))
    return None


def _no_room(targets: Sequence[Path]) -> TraceError:
    places: str = str(targets[0].parent)
    for target in targets[1:]:
        places = say("{first} or {next}", first=places, next=target.parent)
    message = say("The trace could not be stored in {places}.", places=places)
    hint = say("Set TB_PRIVATEUSE1_CACHE to a directory with room for it.")
    return TraceError("no_room", message, hint)


def _limit(progress: Progress) -> Progress:
    """Pass on each new phase, and within one no more than ten reports a second."""
    last = ("", 0.0)

    def limited(phase: str, done: int, total: int, events: int) -> None:
        nonlocal last
        now = time.monotonic()
        if phase != last[0] or now - last[1] >= _EVERY_S:
            last = phase, now
            progress(phase, done, total, events)

    return limited
