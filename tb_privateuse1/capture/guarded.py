"""A profiler that never ends the program, whatever else profiles, stops or fails."""

from __future__ import annotations

import os
import threading
from typing import Any, Literal

from torch.autograd.profiler import profile as autograd_profile
from torch.autograd.profiler_util import EventList
from torch.profiler.profiler import profile as torch_profile

from tb_privateuse1.capture import replacement
from tb_privateuse1.capture.profiler import DeviceProfiler
from tb_privateuse1.capture.sessions import is_recorded, sessions
from tb_privateuse1.capture.termination import termination


class profile(DeviceProfiler):
    """``torch.profiler.profile`` that also records PrivateUse1 devices.

    Takes what the installed torch's takes, and ``route``: ``auto`` prefers ``native`` to
    ``events`` to ``torch``; a trial before the first recording decides. Without ``activities``, a
    machine whose accelerator is a PrivateUse1 backend is recorded with CPU and that. An exception
    in ``on_trace_ready`` becomes a warning.

    ``prime_ms``: keep the device busy for so long at the start of the first recorded step of each
    cycle, so that the events measure its kernels' durations; ``auto``: twice as long as the step
    before took; 0: only where ``prime`` is called. It changes what that step shows. Of use in the
    event route only.

    In the event route ``profile_memory`` is on by default: allocator events are evidence.

    ``max_events``, ``max_bytes``, ``max_seconds``: a window that is beyond one of them ends with
    its step, and is written; None: no limit; ``auto``: what the memory that is available at the
    window's start can hold. ``stopped_by`` says which one ended the last window.

    ``shapes_every``, ``stacks_every``: record shapes, or stacks, in the first window and in each
    n-th behind it. ``memory_snapshot``: write what the device's allocator did in the window beside
    the trace, if ``torch.<device>.memory`` can tell.

    A window is recorded by one profiler of the process: one that starts while another records
    does not record. Calls in a wrong order are ignored. Both are warnings.
    """

    _stage: Literal["idle", "prepared", "recording"] = "idle"
    _is_started = _was_stopped = _is_lost = _has_results = False
    _pid = _thread = 0

    def start(self) -> None:
        """Start, as in torch; again only after ``stop``."""
        if self._is_of_parent():
            return
        if self._is_started:
            self._ignore("start() was called again before stop()")
            return
        self._was_stopped = False
        with termination.postponed():
            self._begin()
            super().start()
        self.open_step()

    def close_step(self) -> None:
        """End the range of the step, except in a forked child."""
        if self._pid == os.getpid():
            super().close_step()

    def open_step(self) -> None:
        """Begin the range of the step, except after ``stop`` and in a forked child."""
        if self._is_started and not self._is_of_parent():
            super().open_step()

    def advance(self) -> None:
        """Go on to the next step, as in torch; not after ``stop``."""
        if self._is_of_parent():
            return
        if self._was_stopped:
            self._ignore("step() was called after stop()")
            return
        with termination.postponed():
            self._begin()
            sessions.tidy()
            super().advance()

    def stop(self) -> None:
        """Stop, as in torch; once for each ``start``."""
        if self._is_of_parent():
            return
        self.close_step()
        if not self._is_started:
            self._ignore("stop() was called, but the profiler was not running")
            return
        with termination.postponed():
            self._is_started, self._was_stopped = False, True
            sessions.tidy()
            super().stop()
            self._show()

    def __exit__(self, *exception: Any) -> None:
        """Stop; a forked child that leaves through its parent's profiler does nothing."""
        if not self._is_of_parent():
            super().__exit__(*exception)  # type: ignore[no-untyped-call]

    def prepare_trace(self) -> None:
        """Prepare a cycle, unless another profiler is at work."""
        self._is_lost = self._has_results = False
        with sessions.exclusive() as reason:
            if reason is not None:
                self._lose("profiler-busy", f"a window is not recorded: {reason}")
                return
            try:
                super().prepare_trace()
                self._stage = "prepared"
            except Exception as error:
                self._lose("start-failed", f"the profiler could not be prepared: {_text(error)}")

    def start_trace(self) -> None:
        """Start recording what was prepared, unless another profiler came between."""
        if self._stage != "prepared":
            return
        if not sessions.holds(self.profiler) or is_recorded():
            self._lose("profiler-busy", "a window is not recorded: another profiler came first")
            return
        self._thread = threading.get_ident()
        self._stage = "recording"
        termination.opened(self)
        try:
            super().start_trace()
        except Exception as error:
            self._lose("start-failed", f"the profiler could not start: {_text(error)}")
            sessions.leave(self.profiler, self._thread)

    def stop_trace(self) -> None:
        """Stop recording, if this thread can and no other profiler took Kineto."""
        was_recording = self._stage == "recording"
        self._stage = "idle"
        termination.closed(self)
        if not was_recording:
            return
        inner: Any = self.profiler
        if self._thread != threading.get_ident():
            lost = "the profiler must be stopped in the thread in which its window began"
        elif not sessions.holds(inner):
            lost = "another profiler started while this one recorded"
        else:
            self._stop()
            return
        self._lose("window-lost", f"a window was not saved: {lost}")
        sessions.leave(inner, self._thread)

    def _stop(self) -> None:
        inner: Any = self.profiler
        try:
            super().stop_trace()
        except Exception as error:
            self.notes.add("stop-failed", f"a window ended with an error: {_text(error)}")
        if is_recorded():
            # torch waits for the device first. That failed, so it has not stopped yet.
            device, inner.use_device = inner.use_device, None
            try:
                inner.__exit__(None, None, None)
            except Exception as error:
                self._lose("stop-failed", f"the profiler could not be stopped: {_text(error)}")
            inner.use_device = device
        self._has_results = inner.kineto_results is not None and not self._is_lost

    def export_trace(self, path: str, *args: Any, **options: Any) -> Any:
        """Write the last cycle's trace alone, as torch does; nothing if it was not recorded."""
        inner: Any = self.profiler
        if self._is_lost and inner.kineto_results is None:
            self.notes.renew("export-failed", f"{path} was not written: nothing was recorded")
            self._show()
            return None
        return super().export_trace(path, *args, **options)

    def cut_short(self, reason: str) -> None:
        """Save what is being recorded, because the process ends."""
        if self._stage != "recording" or self._is_of_parent():
            return
        if self._thread != threading.get_ident():
            self.notes.add("window-lost", f"{reason} came while another thread recorded a window")
            self._show()
            return
        self._cycle.add("cut-short", f"{reason} came while a window was recorded: it is incomplete")
        self.stop()

    def _trace_ready(self) -> None:
        if self._has_results:
            super()._trace_ready()
        else:
            self._show()

    def _begin(self) -> None:
        self._is_started, self._pid = True, os.getpid()

    def _is_of_parent(self) -> bool:
        """Return whether it was started before this process was forked."""
        return self._is_started and self._pid != os.getpid()

    def _ignore(self, message: str) -> None:
        self.notes.add("call-ignored", message)
        self._show()

    def _lose(self, code: str, message: str) -> None:
        """Note that this cycle has no results, and let torch's tables be empty."""
        self.notes.add(code, message)
        self._stage, self._is_lost, self._has_results = "idle", True, False
        self._limits.stop()
        termination.closed(self)
        if self.profiler is None:
            self.profiler = autograd_profile(use_kineto=True)
        inner: Any = self.profiler
        if inner.kineto_results is None:
            is_new = hasattr(inner, "_function_events")  # the other name: before torch 2.6
            empty = EventList([])  # type: ignore[no-untyped-call]
            empty._build_tree()  # type: ignore[no-untyped-call]
            setattr(inner, "_function_events" if is_new else "function_events", empty)
            inner._needs_processing = False


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


# Frameworks pass only the arguments that they see in the signature.
replacement.show_options(profile.__init__, torch_profile.__init__)
sessions.watch()
