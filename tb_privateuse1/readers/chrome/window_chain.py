"""Find the windows of a valid JSON text without decoding it, for parallel reading.

As long as each window can be decoded, where the next one begins depends on its last bytes only:
``Windows`` cuts at the last boundary in a number of bytes. So windows can be cut by one process and
decoded by others. If one cannot be decoded, those behind it may begin elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tb_privateuse1.readers.chrome.text_source import Text
from tb_privateuse1.readers.chrome.windows import TAIL, WINDOW, ReadPosition, last_boundary


class Cut(NamedTuple):
    """A window: its place, and where its text ends."""

    place: ReadPosition
    stop: int


class Chain:
    """The windows from a place on. ``place`` is where the next one begins.

    It has ``ended`` near the end of the text, or where there is no boundary.
    """

    def __init__(self, text: Text, place: ReadPosition) -> None:
        self._text = text
        self.place = place
        self.ended = False

    def __iter__(self) -> Iterator[Cut]:
        """Yield the next windows; it may be done again for those after them."""
        while (cut := self._cut()) is not None:
            yield cut
        self.ended = True

    def _cut(self) -> Cut | None:
        place = self.place
        start, size = place.offset_bytes, place.window_bytes
        if len(self._text.read(start + size - 1, 1)) < 1:
            return None
        reach = TAIL
        while True:
            begin = max(start, start + size - reach)
            tail = self._text.read(begin, start + size - begin)
            found = last_boundary(tail, 0, len(tail))
            if found is not None:
                stop, behind = (begin + at for at in found)
                bytes_ = min(2 * size, WINDOW)
                self.place = place._replace(offset_bytes=behind, window_bytes=bytes_)
                return Cut(place, stop)
            if begin == start:
                return None
            reach *= 8
