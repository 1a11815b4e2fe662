"""Save what is being recorded when the process ends: by a signal, or while the profiler runs.

Slurm and Kubernetes end a process by SIGTERM, whose default is to die at once. While a recording
is open, and only if nobody else handles the signal, it is saved first; then the process dies of
the signal as it would have. A handler of the program's or a framework's is left alone: it leaves
through ``with``, or through the interpreter's exit, and both save the recording.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Recorder(Protocol):
    """A recording that can be saved when the process ends."""

    def cut_short(self, reason: str) -> None:
        """End the recording, if this thread can, and save it."""


class Termination:
    """The open recordings of the process, and the end that waits for one that is being saved."""

    def __init__(self) -> None:
        self._open: list[Recorder] = []
        """Also those that the program let go of, because they still record."""
        self._handled: set[int] = set()
        self._depth = 0
        self._pending: int | None = None
        self._knows_forks = False
        self._pid = os.getpid()
        self._mask: set[signal.Signals] | set[int] | None = None

    def opened(self, recorder: Recorder) -> None:
        """Save ``recorder`` from now on if the process ends."""
        self.closed(recorder)
        self._open.append(recorder)
        self._pid = os.getpid()
        # Anew each time: the last one registered runs first, while the backend is still there.
        atexit.unregister(self._at_exit)
        atexit.register(self._at_exit)
        if not self._knows_forks and hasattr(os, "register_at_fork"):
            self._knows_forks = True
            os.register_at_fork(
                before=self._before_fork,
                after_in_parent=self._unblock,
                after_in_child=self._forked,
            )
        if not _is_main():
            return  # Python delivers signals to the main thread, which cannot stop this one
        for number in SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self._on_signal)
                self._handled.add(number)

    def closed(self, recorder: Recorder) -> None:
        """There is nothing more to save; signals act again as before."""
        self._open = [one for one in self._open if one is not recorder]
        if not self._open and not self._depth:
            self._restore()

    @contextmanager
    def postponed(self) -> Iterator[None]:
        """Let the profiler start, stop or save before a signal ends the process."""
        if not _is_main():
            yield
            return
        self._depth += 1
        try:
            yield
        finally:
            self._depth = max(0, self._depth - 1)  # 0 in a child that was forked in here
            if not self._depth:
                number, self._pending = self._pending, None
                if number is not None:
                    self._end(number)
                elif not self._open:
                    self._restore()

    def _on_signal(self, number: int, _: Any) -> None:
        if signal.getsignal(number) != self._on_signal:
            return  # another handler passes it on, and ends the process in its own way
        if self._depth and self._pid == os.getpid():
            self._pending = number
        else:
            self._end(number)

    def _end(self, number: int) -> None:
        """Save what is open, and die of the signal; a second one does not wait for that."""
        signal.signal(number, signal.SIG_DFL)
        self._handled.discard(number)
        try:
            if self._pid == os.getpid():  # not in a child that has only just been forked
                self.save(signal.Signals(number).name)
        finally:
            os.kill(os.getpid(), number)

    def _at_exit(self) -> None:
        self.save("the end of the program")

    def save(self, reason: str) -> None:
        """End and save all open recordings of the process, as far as this thread can."""
        for recorder in list(self._open):
            recorder.cut_short(reason)

    def _restore(self) -> None:
        if not _is_main():
            return
        for number in self._handled:
            if signal.getsignal(number) == self._on_signal:
                signal.signal(number, signal.SIG_DFL)
        self._handled.clear()

    def _before_fork(self) -> None:
        """Hold signals back: Python drops those that reach a child before it knows its handlers."""
        if self._handled:
            self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)

    def _forked(self) -> None:
        """A forked child has none of its parent's recordings."""
        self._open = []
        self._depth, self._pending = 0, None
        self._restore()
        self._unblock()

    def _unblock(self) -> None:
        mask, self._mask = self._mask, None
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


termination = Termination()
"""That of this process."""
