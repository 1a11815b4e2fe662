"""Hold which tracks a timeline shows first, which it unfolds, and its phases."""

from __future__ import annotations

from msgspec import Struct


class FirstLook(Struct, frozen=True):
    """Which tracks stand first, which are unfolded, and the strip of phases."""

    main: int
    """The row of the thread that drives the training loop; ``NONE`` without one."""
    opens_frames: bool
    """Whether its Python frames limit the steps, so that all their rows are shown."""
    phases: tuple[tuple[str, int, int], ...]
    """Kind, start and end (ns) of each; they tile the recording."""
