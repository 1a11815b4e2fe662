"""A sliding window over a long text, filled from blocks as needed."""

from __future__ import annotations

import re
from collections.abc import Iterator


class Buffer:
    """``text`` from ``at`` on is not consumed yet; ``eof`` is true after the last block.

    ``offset`` is the position of the first block in the whole text.
    """

    def __init__(self, blocks: Iterator[bytes], offset: int = 0) -> None:
        self.text = b""
        self.at = 0
        self.eof = False
        self._blocks = blocks
        self._behind = offset  # the end of the blocks so far, in the whole text
        self._unchanged = offset  # from here on ``text`` equals the blocks

    def offset(self) -> int | None:
        """Return the position of ``at`` in the whole text; None if the text here was replaced."""
        offset = self._behind - (len(self.text) - self.at)
        return offset if offset >= self._unchanged else None

    def need(self, size: int) -> None:
        """Fill the buffer to ``size`` bytes from ``at`` on, or to the end of the text."""
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
        """Grow by at least half, so that repeated searches stay linear. False at the end."""
        size = len(self.text) - self.at
        self.need(size + max(1, size // 2))
        return len(self.text) - self.at > size

    def skip(self, pattern: re.Pattern[bytes]) -> bytes:
        """Skip what matches here, however long. Return the next byte, or nothing at the end."""
        while True:
            match = pattern.match(self.text, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.text) or not self.more():
                return self.text[self.at : self.at + 1]

    def replace(self, stop: int, text: bytes) -> None:
        """Replace the text between ``at`` and ``stop``."""
        self._unchanged = self._behind - (len(self.text) - stop)
        self.text = b"".join((text, memoryview(self.text)[stop:]))
        self.at = 0
