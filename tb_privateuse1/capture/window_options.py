"""Switch costly profiler options (stacks, shapes) on in every n-th window only."""

from __future__ import annotations

from typing import Any


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
