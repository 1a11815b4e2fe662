"""Worker processes that answer requests in lines of JSON, and a pool of idle ones.

A process gets a request on its standard input and answers on its standard output: lines with
``progress``, then one without. It ends when its standard input closes: with the server, however
that ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

Process = subprocess.Popen[bytes]

IDLE_S = 5.0
"""A process that waits for another request is ended after so long."""


def start(code: str) -> Process:
    """Start a process that runs this code, with the current path and environment."""
    # A Ctrl-C is for the parent process, and comes here as the end of the standard input.
    apart: dict[str, Any] = {"process_group": 0}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    paths = os.pathsep.join(p or str(Path.cwd()) for p in sys.path)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
        **apart,
    )


def ask(
    process: Process, request: dict[str, Any], progress: Callable[..., None]
) -> dict[str, Any] | None:
    """Return the answer to a request; None if the process ended before it had one."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        # Not through the buffer: what a dead process leaves there, closing would write again.
        os.write(process.stdin.fileno(), json.dumps(request).encode() + b"\n")
        for line in process.stdout:
            answer: dict[str, Any] = json.loads(line)
            if "progress" not in answer:
                return answer
            progress(*answer["progress"])
    except (BrokenPipeError, json.JSONDecodeError):
        pass  # it died at once, or in the middle of a line
    return None


def end(process: Process) -> int:
    """Close its pipes and wait for its end; returns its exit code, negative for a signal."""
    with process:
        pass
    return process.wait()


class Waiting:
    """Processes that have answered and wait for another request, for some seconds each."""

    def __init__(self) -> None:
        # A dict gives each process out once, whichever threads pop from it.
        self._idle: dict[Process, threading.Timer] = {}
        # If nobody closes it, no process is left behind.
        weakref.finalize(self, _end_all, self._idle)

    def take(self) -> Process | None:
        """Return the process that has waited the least; None without any."""
        try:
            process, timer = self._idle.popitem()
        except KeyError:
            return None
        timer.cancel()
        return process

    def give(self, process: Process) -> None:
        """Add a process that has answered its request."""
        timer = threading.Timer(IDLE_S, _retire, (process, self._idle))
        timer.daemon = True
        self._idle[process] = timer
        timer.start()

    def close(self) -> None:
        """End them all, and wait for that."""
        _end_all(self._idle)


def _retire(process: Process, idle: dict[Process, threading.Timer]) -> None:
    """End a process that nobody took meanwhile."""
    if idle.pop(process, None):
        end(process)


def _end_all(idle: dict[Process, threading.Timer]) -> None:
    with contextlib.suppress(KeyError):
        while True:
            process, timer = idle.popitem()
            timer.cancel()
            end(process)


def serve(answer: Callable[[dict[str, Any], Callable[..., None]], None]) -> None:
    """Answer one request after another, in the process, until its standard input closes."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints is no answer
    requests: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()

    def reply(**words: Any) -> None:
        answers.write(json.dumps(words) + "\n")
        answers.flush()

    try:
        while True:
            answer(json.loads(requests.get()), reply)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(1)


def _listen(requests: SimpleQueue[bytes]) -> None:
    text = b""
    while chunk := os.read(0, 1 << 16):  # not sys.stdin: its lock would be held at our own end
        *lines, text = (text + chunk).split(b"\n")
        for line in lines:
            requests.put(line)
    os._exit(1)
