"""End a command by a signal only where it can end the process that it started."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Ctrl-C, what ends a job, and a terminal that closes; Windows has no SIGHUP."""


class Signals:
    """The first signal that came. It raises once ``allow`` was called; later ones do nothing.

    A signal while a process is being started would leave that process behind.
    """

    def __init__(self) -> None:
        self._number: int | None = None
        self._allowed = False
        self._raised = False

    def allow(self) -> None:
        """Raise what came so far, and from now on what comes.

        Raises KeyboardInterrupt for SIGINT, else SystemExit with the exit code of a shell.
        """
        self._allowed = True
        self._raise()

    def come(self, number: int, frame: FrameType | None) -> None:
        """Note a signal; the arguments are those of a handler."""
        del frame
        if self._number is None:
            self._number = number
        self._raise()

    def _raise(self) -> None:
        if self._number is None or not self._allowed or self._raised:
            return
        self._raised = True
        if self._number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + self._number)


@contextlib.contextmanager
def by_signals() -> Iterator[Signals]:
    """Handle the signals that end a command inside of the block, and as before behind it.

    Handlers belong to the main thread: in another one, the signals are left alone.
    """
    signals = Signals()
    before = {}
    try:
        if threading.current_thread() is threading.main_thread():
            before = {number: signal.signal(number, signals.come) for number in _SIGNALS}
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
