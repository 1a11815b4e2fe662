"""Yield the text of a file as it is, for an export that adds events to it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import msgspec

from tb_privateuse1.readers.chrome.decoder import list_of_raw
from tb_privateuse1.readers.chrome.document import Document
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.decompress import Source


class Verbatim:
    """The text of a file, for an export that adds events to it. Damaged parts are left out.

    ``keys`` is complete only after ``events``. Keys in front of the events are there from the first
    window on.
    """

    def __init__(self, path: str) -> None:
        self._document = Document(Source(path).blocks(), path, Tally())

    @property
    def keys(self) -> dict[str, msgspec.Raw]:
        """Return the top-level keys except the events, undecoded."""
        return self._document.keys

    def events(
        self, select: Callable[[list[msgspec.Raw]], list[bool]] | None = None
    ) -> Iterator[bytes]:
        """Yield events as JSON text, several at once with commas between. Raises as ``read``.

        ``select`` returns for some events which of them are wanted; None: all.
        """
        for text, events in self._document.windows(list_of_raw):
            if select is None:
                yield text[1:-1].strip()
            elif chosen := list(itertools.compress(events, select(events))):
                yield b",\n".join(map(bytes, chosen))
