"""Record by the steps of a trainer; whatever fails, the training goes on."""

from __future__ import annotations

import atexit
import contextlib
import warnings
from collections.abc import Callable, Collection
from typing import Any

from torch.autograd.profiler import record_function
from torch.profiler import schedule
from torch.profiler.profiler import ProfilerAction

from tb_privateuse1 import capture
from tb_privateuse1.capture import backend

_running: list[StepRecorder] = []
"""The recorder of this process that records, if any: torch has one profiler at a time."""


class StepRecorder:
    """Record the steps of a trainer with ``capture.profile``, into ``logdir``.

    ``wait``, ``warmup``, ``active`` and ``repeat`` count the trainer's steps, as in
    ``torch.profiler.schedule``. ``ranks`` are those that record, by default all. ``use_gzip``
    and ``worker_name`` are those of ``capture.tensorboard_trace_handler``; ``options`` are those of
    ``capture.profile``, where ``record_shapes`` is on by default.
    """

    def __init__(
        self,
        logdir: str = "log",
        *,
        wait: int = 2,
        warmup: int = 1,
        active: int = 3,
        repeat: int = 1,
        ranks: Collection[int] | None = None,
        worker_name: str | None = None,
        use_gzip: bool = False,
        **options: Any,
    ) -> None:
        # Only what can be pickled is kept: a trainer may send its callbacks to other processes.
        self._logdir = logdir
        self._schedule = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat}
        schedule(**self._schedule)  # raises where they are wrong
        self._ranks = ranks
        self._files: dict[str, Any] = {"worker_name": worker_name, "use_gzip": use_gzip}
        self._options = {"record_shapes": True, **options}
        self._prof: Any = None
        self._steps = 0
        self._windows = 0
        self._is_over = False
        self._has_stepped = False
        self._between: Any = None

    def begin_step(self) -> None:
        """Begin a step, and the recording with the first one; nothing while a step is not over."""
        if not self._steps:
            self._steps = 1
            self._attempt(self._start)
        elif self._is_over:
            self._steps += 1
            self._attempt(self._next)
        self._is_over = False

    def end_step(self) -> None:
        """Mark the step as over: it lasts until the next one begins, or until a pause."""
        self._is_over = self._steps > 0

    def pause(self, name: str) -> None:
        """Begin work named ``name`` that belongs to no step, if a step is over."""
        if self._is_over and self._prof is not None and self._between is None:
            self._attempt(lambda: self._leave(name))

    def resume(self) -> None:
        """End the work that belongs to no step."""
        if self._between is not None:
            self._between.__exit__(None, None, None)
            self._between = None

    def stop(self) -> None:
        """Write what was recorded, and say so if it is nothing; the next step starts anew."""
        self.resume()
        prof, self._prof = self._prof, None
        steps, self._steps = self._steps, 0
        if prof is None:
            return
        _running.remove(self)
        atexit.unregister(self.stop)
        self._attempt(prof.stop)
        if not self._windows:
            _warn("no-window", f"nothing was recorded in {steps} steps; use a smaller wait")

    def _start(self) -> None:
        for other in list(_running):  # that of a training that an exception ended
            other.stop()
        rank, _ = backend.rank_and_world_size()
        if self._ranks is not None and (rank or 0) not in self._ranks:
            return
        self._windows = 0
        self._has_stepped = False
        write = capture.tensorboard_trace_handler(self._logdir, **self._files)

        def write_window(prof: Any) -> None:
            self._windows += 1
            write(prof)

        options = {"schedule": schedule(**self._schedule), "on_trace_ready": write_window}
        self._prof = capture.profile(**{**options, **self._options})
        _running.append(self)
        atexit.register(self.stop)
        self._prof.start()

    def _next(self) -> None:
        """Let the profiler go on to the next step, unless a pause already did."""
        prof = self._prof
        if prof is None:
            return
        self.resume()
        if self._has_stepped:
            self._has_stepped = False
            prof.open_step()
        else:
            prof.step()

    def _leave(self, name: str) -> None:
        """End the range of the step: what follows is in none. A complete window ends before it."""
        prof = self._prof
        prof.close_step()
        if prof.current_action is ProfilerAction.RECORD_AND_SAVE:
            prof.advance()
            self._has_stepped = True
        if prof.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._between = record_function(name)
            self._between.__enter__()

    def _attempt(self, act: Callable[[], object]) -> None:
        try:
            act()
        except Exception as error:
            prof, self._prof = self._prof, None
            if self in _running:
                _running.remove(self)
            with contextlib.suppress(Exception):
                prof.stop()
            _warn(
                "recording-ended",
                f"the recording ended, the training goes on: {type(error).__name__}: {error}",
            )


def _warn(code: str, message: str) -> None:
    warnings.warn(f"[{code}] {message}", capture.CaptureWarning, stacklevel=3)
