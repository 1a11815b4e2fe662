"""Full garbage collections of Python as ranges of the recording, also without stacks.

torch has them as frames, if its experimental ``record_python_gc_info`` is set and stacks are
recorded (torch/csrc/autograd/profiler_python.cpp).
"""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import Any

from torch.autograd.profiler import record_function

_NAME = "Python GC"
"""As torch calls them."""
_FULL = 2
"""The generation with all objects; the younger ones take microseconds, and come often."""


class GarbageCollections:
    """Records the collections of one window."""

    def __init__(self) -> None:
        self._range: Any = None

    def start(self) -> None:
        """Begin a window."""
        self.stop()
        gc.callbacks.append(self._called)

    def stop(self) -> None:
        """End it."""
        with suppress(ValueError):
            gc.callbacks.remove(self._called)

    def _called(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] < _FULL:
            return
        if phase == "start":
            self._range = record_function(_NAME)
            self._range.__enter__()
        elif self._range is not None:  # else the window began within it
            self._range.__exit__(None, None, None)
            self._range = None
