"""Checkpoints: places in a file from which single events can be read again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.readers.chrome.windows import ReadPosition
from tb_privateuse1.trace.file_checkpoints import Checkpoints

_EVERY_BYTES = 4 << 20


class CheckpointTrail:
    """Collect the places of windows, one in every ``_EVERY_BYTES`` of text."""

    def __init__(self) -> None:
        self._places: list[ReadPosition] = []
        self._events: list[int] = []

    def add(self, place: ReadPosition | None, event: int) -> None:
        """Add the place of a window, None if it cannot be resumed, and its first event's number."""
        last = self._places[-1].offset_bytes if self._places else -_EVERY_BYTES
        if place and place.offset_bytes - last >= _EVERY_BYTES:
            self._places.append(place)
            self._events.append(event)

    def checkpoints(self) -> Checkpoints:
        """Return the places as a table."""
        types = Checkpoints.column_types()
        columns = {
            name: np.array([getattr(place, name) for place in self._places], types[name])
            for name in ReadPosition._fields
        }
        return Checkpoints(event=np.array(self._events, np.int64), **columns)


def checkpoint_before(checkpoints: Checkpoints, event: int) -> tuple[ReadPosition | None, int]:
    """Return the last place before an event, None for the file's start, and its first event."""
    row = int(np.searchsorted(checkpoints.event, event, side="right")) - 1
    if row < 0:
        return None, 0
    offset, window, damages, long, bare = _values(checkpoints, row)
    return ReadPosition(offset, window, damages, long, bool(bare)), int(checkpoints.event[row])


def _values(checkpoints: Checkpoints, row: int) -> Iterator[int]:
    return (int(getattr(checkpoints, name)[row]) for name in ReadPosition._fields)
