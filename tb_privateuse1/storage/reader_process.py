"""Build a Trace from its files in a process of its own: both ends of the pipe.

A trace is read in a process, ``python -c "from …reader_process import main; main()"``, that
reads no other one at the time, rather than in a ``multiprocessing`` pool: one that is killed (out
of memory, a crash in a library) takes no other trace with it; its memory goes back to the system;
and the user's ``__main__`` is not imported again, which for a script without a guard would start
it anew. Starting it takes longer than reading a small trace, so that after a small one it waits
a while for another: a run may have a thousand ranks.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tb_privateuse1.discovery.file import printable
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.i18n import say
from tb_privateuse1.readers.raw import Progress
from tb_privateuse1.readers.reader import ALONE, Processes
from tb_privateuse1.storage import (
    cache_directory,
    memory_limit,
    part_file,
    pyramid_file,
    worker_process,
)
from tb_privateuse1.storage.ingest import ingest, is_mixed, is_of, save
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.vendors import user_file
from tb_privateuse1.vendors.user_file import OURS, Vendors

LIMIT_VARIABLE = "TB_PRIVATEUSE1_READER_BYTES"
SECONDS_VARIABLE = "TB_PRIVATEUSE1_READER_SECONDS"
_SECONDS = 1800
"""Of processor time: a trace of 20 million events takes 95."""
_EVERY_S = 0.1
_NOT_SEEN = ("no_such_path", "remote_driver")
"""What a process says of a remote file that is another's own."""
_CODE = "from tb_privateuse1.storage.reader_process import main; main()"
_SMALL_BYTES = 8 << 20
"""After a larger file, packed or not, a process is not used again: its memory goes back."""
_GRAVE = ("out_of_memory", "internal")
"""After these neither: who knows what they left."""

_VendorFiles = tuple[user_file.File, ...]
msgspec.json.Decoder(TraceFiles)  # here, as in ``cache``
msgspec.json.Decoder(_VendorFiles)


def in_process(
    files: TraceFiles,
    targets: Sequence[Path],
    progress: Progress,
    started: Callable[[worker_process.Process | None], None],
    waiting: worker_process.Waiting,
    vendors: Vendors = OURS,
    processes: int = 1,
) -> Path:
    """Ingest in a process of its own and store the trace in the first writable target.

    The last target is for us alone: a trace that changed while it was read goes there.
    What only this process sees (``memory://``, a filesystem that a script has registered) is read
    here: the other one notices that it is missing.

    ``started`` gets the process, to be able to kill it, and None when it may no longer do so;
    ``waiting`` has those that can be used again. ``processes`` may work on one large file; the
    process starts and ends them. Raises TraceError as ``ingest`` does,
    ``reader_died`` if the process ended without an answer, ``no_room`` if no target is writable.
    """
    try:
        return _in_process(files, targets, progress, started, waiting, vendors, processes)
    except TraceError as error:
        if error.code not in _NOT_SEEN or not files.trace.is_remote:
            raise
        if (saved := save(ingest(files, progress, targets[:-1], vendors), targets)) is None:
            raise no_room(targets) from None
        return saved


def _in_process(
    files: TraceFiles,
    targets: Sequence[Path],
    progress: Progress,
    started: Callable[[worker_process.Process | None], None],
    waiting: worker_process.Waiting,
    vendors: Vendors,
    processes: int,
) -> Path:
    request = {
        "files": msgspec.to_builtins(files),
        "targets": [str(t) for t in targets],
        "vendors": msgspec.to_builtins(vendors.files),
        "processes": processes,
    }
    spoke = False

    def heard(*state: Any) -> None:
        nonlocal spoke
        spoke = True
        progress(*state)

    process = waiting.take()
    while True:
        used, process = process is not None, process or worker_process.start(_CODE)
        try:
            started(process)
            answer = worker_process.ask(process, request, heard)
        except BaseException:
            worker_process.end(process)
            raise
        if answer is not None:
            break
        how = worker_process.end(process)
        if spoke or not used:
            raise _died(files, how)
        process = None  # it ended before it began: it had waited for too long
    started(None)
    error = answer.get("error")
    if files.trace.size <= _SMALL_BYTES and (error is None or error["code"] not in _GRAVE):
        waiting.give(process)
    else:
        worker_process.end(process)
    if error is not None:
        raise TraceError.unpacked(error)
    return Path(answer["done"])


def _died(files: TraceFiles, how: int) -> TraceError:
    name = printable(files.trace.name)
    if how < 0 and signal.Signals(-how).name == "SIGXCPU":
        message = say(
            "Reading {name} took more than {seconds:,} seconds of processor time and was ended.",
            name=name,
            seconds=limit_s(),
        )
        hint = say("Set {variable} to more, or record fewer steps.", variable=SECONDS_VARIABLE)
        return TraceError("out_of_time", message, hint)
    reason = signal.Signals(-how).name if how < 0 else say("code {code}", code=how)
    hint = say("If the machine was out of memory: close other programs, or record fewer steps.")
    message = say("The process that read {name} ended with {reason}.", name=name, reason=reason)
    return TraceError("reader_died", message, hint)


def limit_bytes() -> int | None:
    """Return a reader's limit: ``$TB_PRIVATEUSE1_READER_BYTES``, or half of the memory.

    Two read at a time by default. None if it is neither set nor known.
    """
    set_bytes = cache_directory.bytes_set(LIMIT_VARIABLE)
    if set_bytes is not None:
        return set_bytes
    machine = memory_limit.machine_bytes()
    return None if machine is None else machine // 2


def limit_s() -> int:
    """Return how much processor time the reader of a trace may take, in seconds."""
    text = os.environ.get(SECONDS_VARIABLE, "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else _SECONDS


def main() -> None:
    """Run the process: answer each request with progress lines and one result."""
    limit = limit_bytes()
    if limit is not None:
        memory_limit.confine(limit)

    def answer(request: dict[str, Any], reply: Callable[..., None]) -> None:
        memory_limit.limit_processor(limit_s())
        _answer(request, reply)

    worker_process.serve(answer)


def _answer(request: dict[str, Any], reply: Callable[..., None]) -> None:
    try:
        files = msgspec.convert(request["files"], TraceFiles)
        try:
            vendors = user_file.parse_vendors(msgspec.convert(request["vendors"], _VendorFiles))
            targets = [Path(target) for target in request["targets"]]
            count = request.get("processes", 1)
            processes = Processes(count, functools.partial(_confine_worker, count))
            saved = read_and_store(files, targets, reply, vendors, processes)
        except MemoryError as error:
            raise _too_large(files) from error
        except TraceError as error:
            raise (_too_large(files) if error.code == "out_of_memory" else error) from error
        reply(done=str(saved))
    except TraceError as error:
        reply(error=error.packed())


def _confine_worker(count: int) -> None:
    """Limit a process that reads parts of a file: all of them together may take what one may."""
    limit = limit_bytes()
    if limit is not None:
        memory_limit.confine(limit // count)
    memory_limit.limit_processor(-(-limit_s() // count))


def read_and_store(
    files: TraceFiles,
    targets: Sequence[Path],
    reply: Callable[..., None],
    vendors: Vendors,
    processes: Processes = ALONE,
) -> Path:
    """Read the trace of some files, and return the target at which it is stored.

    The last target is for the asker alone: a trace that changed while it was read goes there.
    ``reply`` gets ``progress``; ``processes`` is as in ``readers.read``. Raises TraceError as
    ``ingest`` does, or ``no_room``.
    """
    limited = _limit(lambda *state: reply(progress=state))
    trace = ingest(files, limited, targets[:-1], vendors, processes)
    limited("storing", files.trace.size, files.trace.size, 0)
    if not is_of(trace, files, targets[0].stem, vendors):
        targets = targets[-1:]
    if (saved := save(trace, targets)) is None:
        raise no_room(targets)
    if saved != targets[-1]:  # that one is gone as soon as it is read
        with contextlib.suppress(MemoryError):  # the trace is whole without it
            pyramid_file.prepare(trace, saved)
    if not is_mixed(trace):
        part_file.prepare(trace, saved)
    return saved


def _too_large(files: TraceFiles) -> TraceError:
    name, limit = printable(files.trace.name), limit_bytes()
    if limit is None:
        return TraceError(
            "out_of_memory", say("{name} needs more memory than there is.", name=name)
        )
    message = say(
        "{name} needs more than the {limit:,} bytes of memory that a reader may take.",
        name=name,
        limit=limit,
    )
    hint = say("Set {variable} to more, or record fewer steps.", variable=LIMIT_VARIABLE)
    return TraceError("out_of_memory", message, hint)


def no_room(targets: Sequence[Path]) -> TraceError:
    """Return the error for a trace that can be stored in none of these places."""
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
