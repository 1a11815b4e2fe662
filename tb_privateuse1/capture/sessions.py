"""Know which profiler of the process is active, so that ours never disturbs another one.

Kineto, which records, is one per process; the state that hands operators to it is one per thread.
torch checks neither: a second profiler takes Kineto from the first, whose stop or export is then a
segmentation fault. Each profiler passes ``torch.autograd.profiler.profile._prepare_trace``, so that
is where we watch.
"""

from __future__ import annotations

import atexit
import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch.autograd import profiler

_C: Any = torch._C._autograd

autograd: Any = profiler
"""torch's module; most of what is needed of it has no types."""
_Holder = Callable[[], Any]


def _nobody() -> None:
    """Return no profiler."""


class Sessions:
    """The profilers of this process, each a ``torch.autograd.profiler.profile``; one has Kineto."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._holder: _Holder = _nobody
        self._left: dict[int, Any] = {}
        """Of each thread, the profiler that was not stopped in it: its state is still there."""
        self._is_muted = False
        """Whether this is a forked child whose parent recorded, in which nothing is recorded."""
        self._is_watching = False
        self._ran_before = False

    def watch(self) -> None:
        """Follow torch's profilers from now on; may be called again."""
        with self._lock:
            if self._is_watching:
                return
            self._is_watching = True
            self._ran_before = _is_enabled_somewhere()
        prepare, leave = autograd.profile._prepare_trace, autograd.profile.__exit__

        @functools.wraps(prepare)
        def watched_prepare(inner: Any) -> None:
            self._take(inner)
            prepare(inner)

        @functools.wraps(leave)
        def watched_leave(inner: Any, *exception: Any) -> Any:
            try:
                return leave(inner, *exception)
            finally:
                self._release(inner)

        autograd.profile._prepare_trace = watched_prepare
        autograd.profile.__exit__ = watched_leave
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    @contextmanager
    def exclusive(self) -> Iterator[str | None]:
        """Let no other profiler take Kineto; yields why one has it or this thread, or None."""
        with self._lock:
            self.tidy()
            yield self._reason()

    def holds(self, inner: Any) -> bool:
        """Return whether Kineto is still that of ``inner``, which prepared it."""
        return self._holder() is inner

    def leave(self, inner: Any, thread: int) -> None:
        """Take over ``inner``, which cannot be stopped: it was started in ``thread``."""
        self._left[thread] = inner
        self.tidy()
        atexit.register(self.tidy)  # torch does not survive the interpreter's end with it

    def tidy(self) -> None:
        """End what was left running in this thread, once nobody else has Kineto."""
        thread = threading.get_ident()
        with self._lock:
            inner = self._left.get(thread)
            if inner is None or (self._holder() is not None and not self.holds(inner)):
                return
            del self._left[thread]
            with suppress(RuntimeError):
                if self.holds(inner):
                    inner.use_device = None
                    inner.__exit__(None, None, None)
                elif is_recorded():
                    _replace_state()

    def _reason(self) -> str | None:
        if self._holder() is not None or (self._ran_before and _is_enabled_somewhere()):
            return "another profiler of this process is running or about to"
        if is_recorded() and not self._is_muted and threading.get_ident() not in self._left:
            return "emit_itt, emit_nvtx or the like is recording this thread"
        return None

    def _take(self, inner: Any) -> None:
        with self._lock:
            self._holder = weakref.ref(inner)
            if self._is_muted:
                self._is_muted = False
                _C._enable_record_function(True)

    def _release(self, inner: Any) -> None:
        with self._lock:
            if self.holds(inner):
                self._holder = _nobody

    def _forked(self) -> None:
        """Forget the parent's profilers in a forked child, and record nothing for them."""
        self._lock = threading.RLock()
        self._holder = _nobody
        self._left = {}
        if is_recorded():
            self._is_muted = True
            _C._enable_record_function(False)


def _replace_state() -> None:
    """End what records this thread although another thread took Kineto from it, and lost it.

    A recording of nothing takes its place. torch drops the old state only if Kineto is prepared
    when it prepares.
    """
    empty = autograd.profile(use_kineto=True)
    empty._prepare_trace()
    empty._prepare_trace()
    empty._start_trace()
    empty.__exit__(None, None, None)


def is_recorded() -> bool:
    """Return whether a profiler of any kind records this thread."""
    return bool(_C._profiler_enabled())


def _is_enabled_somewhere() -> bool:
    return bool(getattr(autograd, "_is_profiler_enabled", False))


sessions = Sessions()
"""Those of this process."""
