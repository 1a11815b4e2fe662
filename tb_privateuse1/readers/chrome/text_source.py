"""Random access to the text of a file, plain or packed, from a place onward.

Of a packed text only what may be asked for again is held; a plain one is read where it lies.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from typing import Protocol

from tb_privateuse1.readers.decompress import Source

_HELD = 8 << 20
"""Bytes behind the latest block that are held while blocks are read one after the other."""


class Text(Protocol):
    """The text of a file. Offsets are those of the unpacked text."""

    @property
    def file(self) -> int | None:
        """Return the descriptor of a plain file, whose offsets are the text's; None of others."""

    def read(self, start: int, size: int) -> bytes:
        """Return ``size`` bytes, fewer at the end. ``start`` must not lie in forgotten text."""

    def blocks(self, start: int) -> Iterator[bytes]:
        """Yield the text from a place on."""

    def forget(self, stop: int) -> None:
        """Forget the text before a place."""

    def holds(self, start: int) -> bool:
        """Return whether the text from a place on can be read."""


class PlainText:
    """A file of this machine that is not packed."""

    def __init__(self, source: Source, file: int) -> None:
        self.file = file
        self._source = source

    def read(self, start: int, size: int) -> bytes:
        """Return ``size`` bytes, fewer at the end."""
        try:
            return os.pread(self.file, size, start)
        except OSError:  # who reads the same blocks reports it
            return b""

    def blocks(self, start: int) -> Iterator[bytes]:
        """Yield the text from a place on."""
        return self._source.blocks(start)

    def forget(self, stop: int) -> None:
        """Do nothing: nothing is held."""

    def holds(self, start: int) -> bool:
        """Return whether the text from a place on can be read: all of it can."""
        return start >= 0


class StreamedText:
    """A text that comes once, block by block."""

    def __init__(self, source: Source) -> None:
        self.file = None
        self._source = source
        self._blocks = source.blocks()
        self._held: deque[bytes] = deque()
        self._start = self._stop = 0

    def read(self, start: int, size: int) -> bytes:
        """Return ``size`` bytes, fewer at the end."""
        while self._stop < start + size and self._more():
            pass
        parts, at = [], self._start
        for block in self._held:
            if at >= start + size:
                break
            if at + len(block) > start:
                parts.append(memoryview(block)[max(0, start - at) : start + size - at])
            at += len(block)
        return b"".join(parts)

    def blocks(self, start: int) -> Iterator[bytes]:
        """Yield the text from a place on. Only the last of it can be read again."""
        while start < self._stop or self._more():
            yield (block := self.read(start, self._stop - start))
            start += len(block)
            self.forget(start - _HELD)

    def forget(self, stop: int) -> None:
        """Forget the text before a place."""
        while self._held and self._start + len(self._held[0]) <= stop:
            self._start += len(self._held.popleft())

    def holds(self, start: int) -> bool:
        """Return whether the text from a place on is held, or comes later."""
        return start >= self._start

    def _more(self) -> bool:
        block = next(self._blocks, None)
        if block is None:
            return False
        self._held.append(block)
        self._stop += len(block)
        return True
