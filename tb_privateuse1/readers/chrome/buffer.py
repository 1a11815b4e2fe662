"""The part of a long text that is being looked at, filled from blocks as needed."""

from __future__ import annotations

import re
from collections.abc import Iterator


class Buffer:
    """``text`` from ``at`` on is what was not consumed yet; ``eof`` if no more will come.

    ``offset`` is where in the whole text the first block begins.
    """

    def __init__(self, blocks: Iterator[bytes], offset: int = 0) -> None:
        self.text = b""
        self.at = 0
        self.eof = False
        self._blocks = blocks
        self._behind = offset  # what the blocks so far go up to
        self._unchanged = offset  # from here on ``text`` is what the blocks had

    def offset(self) -> int | None:
        """Where ``at`` is in the whole text; None if the text here was replaced."""
        offset = self._behind - (len(self.text) - self.at)
        return offset if offset >= self._unchanged else None

    def need(self, size: int) -> None:
        """Have ``size`` bytes from ``at`` on, or all that there are."""
        missing = size - (len(self.text) - self.at)
        parts = []
        while missing > 0 and not self.eof:
            block = next(self._blocks, None)
            if block is None:
                self.eof = True
            else:
                parts.append(block)
                missing -= len(block)
                self._behind += len(block)
        if parts:
            self.text = b"".join((memoryview(self.text)[self.at :], *parts))
            self.at = 0

    def more(self) -> bool:
        """Have at least half as many bytes again, so that looking again stays linear."""
        size = len(self.text) - self.at
        self.need(size + max(1, size // 2))
        return len(self.text) - self.at > size

    def skip(self, pattern: re.Pattern[bytes]) -> bytes:
        """Go behind what matches here, however long; the byte that stands there, or nothing."""
        while True:
            found = pattern.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.text) or not self.more():
                return self.text[self.at : self.at + 1]

    def replace(self, stop: int, text: bytes) -> None:
        """Put ``text`` in the place of what is between ``at`` and ``stop``."""
        self._unchanged = self._behind - (len(self.text) - stop)
        self.text = b"".join((text, memoryview(self.text)[stop:]))
        self.at = 0
