"""Record in some windows only: stacks and shapes in each n-th, and the allocator's history.

``torch.<device>.memory`` keeps the history as torch's own memory tools read it; CUDA has it, other
backends may.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from tb_privateuse1.capture import output_files
from tb_privateuse1.capture.warnings import Notes

_NEEDED = ("_record_memory_history", "_dump_snapshot")


class MemorySnapshot:
    """The allocator's history of one window, if wanted. What fails is a note."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._memory: Any = None

    def start(self, device: str | None, notes: Notes) -> None:
        """Keep the allocator's history from here on."""
        self.stop(notes)
        if not self._wanted:
            return
        memory: Any = getattr(getattr(torch, device or "", None), "memory", None)
        missing = [name for name in _NEEDED if not hasattr(memory, name)]
        if missing:
            notes.add(
                "no-memory-snapshot",
                f"torch.{device}.memory has no {missing[0]}()"
                if device
                else "no device is recorded",
            )
            return
        try:
            memory._record_memory_history()
            self._memory = memory
        except Exception as error:
            notes.add("no-memory-snapshot", f"{type(error).__name__}: {error}")

    def write(self, trace: Path, notes: Notes) -> None:
        """Write the snapshot beside a trace, if there is one; it appears whole or not at all."""
        if self._memory is None:
            return
        path = output_files.snapshot_path(trace)
        try:
            output_files.write_file(path, lambda to: self._memory._dump_snapshot(str(to)))
        except Exception as error:
            notes.renew("no-memory-snapshot", f"{path} was not written: {error}")

    def stop(self, notes: Notes) -> None:
        """Keep no history any more."""
        memory, self._memory = self._memory, None
        if memory is None:
            return
        try:
            memory._record_memory_history(enabled=None)
        except Exception as error:
            notes.add("no-memory-snapshot", f"the history goes on: {error}")


class WindowOptions:
    """Shapes and stacks in the first window and each n-th behind it; None: as given to torch."""

    def __init__(self, shapes_every: int | None, stacks_every: int | None) -> None:
        """Raises ValueError for anything but positive whole numbers."""
        given = {"shapes_every": shapes_every, "stacks_every": stacks_every}
        for name, value in given.items():
            if value is not None and not (isinstance(value, int) and value > 0):
                raise ValueError(f"{name} must be a whole number from 1, or None, not {value!r}")
        self._every = {"record_shapes": shapes_every, "with_stack": stacks_every}
        self._windows = 0

    def apply(self, prof: Any) -> None:
        """Set the options of the window that ``prof`` is about to prepare."""
        for option, every in self._every.items():
            if every is not None:
                setattr(prof, option, self._windows % every == 0)
        self._windows += 1
