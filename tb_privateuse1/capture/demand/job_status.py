"""Keep a job's status file fresh, so that others see which jobs there are to ask.

The file is written at each change, and every few seconds by a thread: a job that hangs in a step
still shows that it lives, and where.
"""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tb_privateuse1.capture.demand.files import job_path, write_atomically
from tb_privateuse1.capture.thread_times import OWN
from tb_privateuse1.capture.warnings import Notes

_OLD_S = 7 * 86_400.0
"""What killed jobs left behind is removed after this time."""
_WAIT_S = 2.0
"""For another thread's writing, so that a stuck file system does not stop the training."""


class JobStatus:
    """The status file of this process in ``folder``.

    ``facts`` returns its content, with ``worker``; it is called in either thread. Whatever goes
    wrong is one note.
    """

    def __init__(
        self, folder: Path, facts: Callable[[], dict[str, Any]], period_s: float, notes: Notes
    ) -> None:
        self._folder = folder
        self._facts = facts
        self._period_s = period_s
        self._notes = notes
        self._path: Path | None = None
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._written = 0.0
        # Taken again by a signal's handler that interrupts a writing.
        self._lock = threading.RLock()

    def start(self) -> None:
        """Write it first, and go on until ``stop``."""
        self._remove_old()
        self.write()
        self.resume()

    def resume(self) -> None:
        """Let the thread write it from here on; it does so already unless ``pause`` was called."""
        if self._thread is None:
            self._ended = threading.Event()
            self._thread = threading.Thread(
                target=self._beat, args=(self._ended,), name=OWN + "status", daemon=True
            )
            self._thread.start()

    def pause(self) -> None:
        """End the thread, which a recording of stacks would show; ``refresh`` takes its place."""
        thread, self._thread = self._thread, None
        self._ended.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_WAIT_S)

    def refresh(self) -> None:
        """Write it if the thread is paused, and it is time."""
        if self._thread is None and time.monotonic() - self._written > self._period_s:
            self.write()

    def write(self) -> None:
        """Write it now; never raises."""
        if not self._lock.acquire(timeout=_WAIT_S):
            return
        try:
            self._write()
        except Exception as error:
            self._notes.add(*unavailable(self._folder, error))
        finally:
            self._lock.release()

    def stop(self) -> None:
        """Write it last."""
        self.pause()
        self.write()

    def _write(self) -> None:
        # The logdir itself is not made again: somebody removed or unmounted it on purpose.
        if not self._folder.is_dir():
            self._folder.mkdir()
        facts = self._facts()
        path = job_path(self._folder, facts["worker"])
        write_atomically(path, {**facts, "changed_ns": time.time_ns(), "period_s": self._period_s})
        if self._path is not None and self._path != path:  # the rank became known
            self._path.unlink(missing_ok=True)
        self._path = path
        self._written = time.monotonic()

    def _beat(self, ended: threading.Event) -> None:
        # Its own random numbers: those of the program are part of its results.
        wait_s = self._period_s * random.SystemRandom().random()
        while not ended.wait(wait_s):
            self.write()
            wait_s = self._period_s

    def _remove_old(self) -> None:
        """Remove status files and recordings that killed jobs left behind."""
        before = time.time() - _OLD_S
        try:
            for path in self._folder.glob("job-*.json"):
                if path.stat().st_mtime < before:
                    path.unlink()
            for path in self._folder.glob("recordings-*"):
                if path.stat().st_mtime < before:
                    shutil.rmtree(path, ignore_errors=True)
        except OSError:
            return


def unavailable(folder: Path, error: Exception) -> tuple[str, str]:
    """Return the note for an error that prevents the status from being written."""
    what = f"{type(error).__name__}: {error}"
    return "demand-unavailable", f"nobody can ask while {folder} cannot be written: {what}"
