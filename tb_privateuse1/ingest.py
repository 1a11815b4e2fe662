"""Make a Trace of its files, here or in a process of its own.

Each trace is read in a fresh process, ``python -c "from tb_privateuse1.ingest import main…"``,
rather than in a ``multiprocessing`` pool: one that is killed (out of memory, a crash in a
library) takes no other trace with it; its memory goes back to the system; and the user's
``__main__`` is not imported again, which for a script without a guard would start it anew.

The process gets a request as one line of JSON on its standard input and answers with lines of
JSON on its standard output: progress, then ``done`` or ``error``. It ends when its standard
input closes: with the server, however that ended.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tb_privateuse1 import cache
from tb_privateuse1.discover.base import File, file_at, shown
from tb_privateuse1.findings import DEVICE, Finding
from tb_privateuse1.infer import build
from tb_privateuse1.read import chrome, kernel_events
from tb_privateuse1.read.base import Progress, Sidecar
from tb_privateuse1.remote import RemoteError
from tb_privateuse1.runs import Files
from tb_privateuse1.trace import Trace, TraceError

_EVERY_S = 0.1
_NOT_SEEN = ("no_such_path", "remote_driver")
"""What a process says of a remote file that is another's own."""
_log = logging.getLogger(__name__)


def ingest(files: Files, progress: Progress | None = None) -> Trace:
    """Read and infer. An unreadable sidecar is a finding, as the trace can be shown without it.

    Raises TraceError: the reader's, ``out_of_memory``, or ``internal`` for our own mistakes.
    """
    try:
        return _ingest(files, progress)
    except TraceError as error:
        raise TraceError(error.code, brief(error.message, files), error.hint) from error
    except MemoryError as error:
        message = f"{shown(files.trace.name)} needs more memory than there is."
        raise TraceError("out_of_memory", message) from error
    except Exception as error:
        _log.exception("reading %s", shown(files.trace.path))
        message = f"Reading {shown(files.trace.name)} failed: {type(error).__name__}: {error}"
        hint = "This is a mistake of tb_privateuse1: please report it with the server's log."
        raise TraceError("internal", brief(message, files), hint) from error


def _ingest(files: Files, progress: Progress | None) -> Trace:
    events = 0

    def reading(phase: str, done: int, total: int, count: int) -> None:
        nonlocal events
        events = count
        if progress:
            progress(phase, done, total, count)

    raw = chrome.read(files.trace.path, reading)
    sidecar, doubts = _sidecar(files)
    _check_unchanged(files)
    if progress:
        progress("inferring", files.trace.size, files.trace.size, events)
    trace = build(
        raw, sidecar, worker=files.worker, files=files.names, rank=files.rank, use_up=True
    )
    meta = dataclasses.replace(
        trace.meta,
        size_bytes=files.trace.size,
        findings=(*trace.meta.findings, *doubts),
    )
    return dataclasses.replace(trace, meta=meta)


def _sidecar(files: Files) -> tuple[Sidecar | None, list[Finding]]:
    if files.sidecar is None:
        return None, []
    try:
        return kernel_events.read(files.sidecar.path), []
    except TraceError as error:
        if isinstance(error, RemoteError):  # that may be otherwise in a moment
            raise
        hint = "Without it, this trace has no inferred device times."
        message = brief(error.message, files)
        return None, [Finding("sidecar_unreadable", message, hint, None, "error", DEVICE)]


def _check_unchanged(files: Files) -> None:
    """Raise TraceError ``remote_changed`` if a remote file is no longer what the search found.

    It is read in parts, and is known from then on by what it was when it was found.
    """
    for file in filter(None, (files.trace, files.sidecar)):
        if file.is_remote and not file.same(file_at(file.path)):
            message = f"{shown(file.name)} has changed since it was found."
            raise TraceError("remote_changed", message, "Reload the list of runs.")


def brief(message: str, files: Files) -> str:
    """Names instead of paths: where a logdir is on the server is not for the page."""
    for file in filter(None, (files.trace, files.sidecar)):
        for path in (file.path, shown(file.path)):
            message = message.replace(path, shown(file.name))
    return message


def in_process(
    files: Files,
    targets: Sequence[Path],
    progress: Progress,
    started: Callable[[subprocess.Popen[bytes]], None],
) -> Path:
    """Ingest in a process of its own and store the trace in the first writable target.

    The last target is for us alone: a trace that changed while it was read goes there.
    What only this process sees (``memory://``, a filesystem that a script has registered) is read
    here: the other one tells by not finding it.

    ``started`` gets the process, to be able to kill it. Raises TraceError as ``ingest`` does,
    ``reader_died`` if the process ended without an answer, ``no_room`` if no target is writable.
    """
    try:
        return _in_process(files, targets, progress, started)
    except TraceError as error:
        if error.code not in _NOT_SEEN or not files.trace.is_remote:
            raise
        if (saved := save(ingest(files, progress), targets)) is None:
            raise _no_room(targets) from None
        return saved


def _in_process(
    files: Files,
    targets: Sequence[Path],
    progress: Progress,
    started: Callable[[subprocess.Popen[bytes]], None],
) -> Path:
    code = "from tb_privateuse1.ingest import main; main()"
    # A Ctrl-C is for whoever started it, and comes here as the end of its standard input.
    apart: dict[str, Any] = {"process_group": 0}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    paths = os.pathsep.join(p or str(Path.cwd()) for p in sys.path)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
        **apart,
    )
    started(process)
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        request = {"files": dataclasses.asdict(files), "targets": [str(t) for t in targets]}
        try:
            # Not through the buffer: what a dead process leaves there, closing would write again.
            os.write(process.stdin.fileno(), json.dumps(request).encode() + b"\n")
            for line in process.stdout:
                answer = json.loads(line)
                if "done" in answer:
                    return Path(answer["done"])
                if "error" in answer:
                    raise TraceError(**answer["error"])
                progress(*answer["progress"])
        except (BrokenPipeError, json.JSONDecodeError):
            pass  # it died at once, or in the middle of a line
        code_or_signal = process.wait()
    name = shown(files.trace.name)
    how = f"code {code_or_signal}"
    if code_or_signal < 0:
        how = signal.Signals(-code_or_signal).name
    hint = "If the machine was out of memory: close other programs, or record fewer steps."
    raise TraceError("reader_died", f"The process that read {name} ended with {how}.", hint)


def main() -> None:
    """The process: one request, progress, one answer."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints is no answer
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def say(**answer: Any) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        files = _files(request["files"])
        limited = _limit(lambda *state: say(progress=state))
        trace = ingest(files, limited)
        limited("storing", files.trace.size, files.trace.size, 0)
        targets = [Path(target) for target in request["targets"]]
        if not unchanged(files):
            targets = targets[-1:]
        if (saved := save(trace, targets)) is None:
            raise _no_room(targets)
        say(done=str(saved))
    except TraceError as error:
        say(error={"code": error.code, "message": error.message, "hint": error.hint})
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(1)


def _files(request: dict[str, Any]) -> Files:
    sidecar = request["sidecar"]
    return Files(
        File(**request["trace"]),
        File(**sidecar) if sidecar else None,
        request["worker"],
        request["rank"],
    )


def unchanged(files: Files) -> bool:
    """Whether the trace is still the file that was to be read. If it grew meanwhile, what was
    read is more than its identity says, and not for the cache that others use. (Of a remote one
    ``ingest`` has made sure.)
    """
    if files.trace.is_remote:
        return True
    try:
        return file_at(files.trace.path) == files.trace
    except OSError:
        return False


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
    places = " or ".join(str(target.parent) for target in targets)
    hint = "Set TB_PRIVATEUSE1_CACHE to a directory with room for it."
    return TraceError("no_room", f"The trace could not be stored in {places}.", hint)


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


def _end_with_parent() -> None:
    while os.read(0, 1):  # not sys.stdin: its lock would be held at our own end
        pass
    os._exit(1)
