"""End properly when a scheduler of jobs, such as Slurm or Kubernetes, ends the process."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any


class Termination:
    """Call ``end`` at SIGTERM, and end the process as before.

    Only in the main thread, and only if the program handles the signal not at all: a program that
    does ends by itself.
    """

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end
        self._handler = self._handle  # the same object each time, so that it is recognized
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._handler)

    def restore(self) -> None:
        """Let the signal do what it did before, unless the program changed that."""
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) is self._handler:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _handle(self, number: int, _: Any) -> None:
        self._end()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
