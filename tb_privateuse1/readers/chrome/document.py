"""Find the lists of events and the top-level keys in the text of a trace file.

Supported: an object with ``traceEvents`` (once or several times) among any other keys, a bare
list, or one event per line; any spacing; UTF-8 with or without a byte order mark. Only the current
window and the other keys are in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, TypeVar

import msgspec

from tb_privateuse1.i18n import say
from tb_privateuse1.readers.chrome import json_values
from tb_privateuse1.readers.chrome.buffer import Buffer
from tb_privateuse1.readers.chrome.event_lines import has_events_per_line, lines_as_list
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.chrome.top_level_keys import Members
from tb_privateuse1.readers.chrome.windows import ReadPosition, Windows
from tb_privateuse1.trace.errors import TraceError

T = TypeVar("T")

_MAX_METADATA = 1 << 26
_SPACE = re.compile(rb"\s*")
_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
_REACH = 64
"""The longest match of ``_LIST``, not counting spaces."""


class Document:
    """One file's text. ``keys`` holds the top-level keys met so far, undecoded.

    ``place`` is where the latest window begins, see ``Windows``. If one is passed, ``blocks`` start
    there, and the text before it is not read.
    """

    def __init__(
        self, blocks: Iterator[bytes], name: str, tally: Tally, place: ReadPosition | None = None
    ) -> None:
        self.keys: dict[str, msgspec.Raw] = {}
        self.place = place
        self._blocks = blocks
        self._buffer = Buffer(blocks, place.offset_bytes if place else 0)
        self._name = name
        self._tally = tally
        self._windows: Windows[Any] | None = None
        self.has_lines = False
        """Whether the file has one event per line; then its text is not that of its windows."""

    def next_place(self) -> ReadPosition | None:
        """Return where the window after the latest begins; None if it cannot be resumed there."""
        return self._windows.next_place() if self._windows else None

    def windows(self, decode: Callable[[bytes], list[T]]) -> Iterator[tuple[bytes, list[T]]]:
        """Yield lists of events ``[…]`` as JSON text and as decoded, see ``Windows``.

        Raises TraceError ``not_json`` or ``not_a_trace`` if there is no list of events.
        """
        place = self.place
        bare = place.bare if place else self._open()
        later = False
        while True:
            events = Windows(self._buffer, decode, self._tally, bare=bare, place=place, later=later)
            self._windows = events
            for window in events:
                self.place = events.place
                yield window
                del window
            place, later = None, True
            if bare or not events.ended or not self._next_list():
                return
            self._tally.add("several_event_lists")

    def _open(self) -> bool:
        """Go to the first event. Return whether the file is a bare list."""
        buffer = self._buffer
        if has_events_per_line(buffer):
            self.has_lines = True
            buffer = self._buffer = Buffer(lines_as_list(chain((buffer.text,), self._blocks)))
            buffer.need(_REACH)
            buffer.at = buffer.text.index(b"{")
            return True
        buffer.need(_REACH)
        head = buffer.text[:_REACH]
        if head[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in head[:2]:
            hint = say("Save it as UTF-8: torch writes nothing else.")
            raise TraceError(
                "not_json", say("{name} is UTF-16 text, or no text at all.", name=self._name), hint
            )
        buffer.at = 3 if head.startswith(b"\xef\xbb\xbf") else 0
        first = buffer.skip(_SPACE)
        if first == b"[":
            buffer.at += 1
            return True
        if first != b"{":
            buffer.need(_MAX_METADATA)
            raise json_values.no_trace(self._name, buffer.text[buffer.at :])
        buffer.at += 1
        if not self._next_list(first=True):
            buffer.need(_MAX_METADATA)
            raise json_values.no_trace(self._name, b"{" + buffer.text[buffer.at :])
        return False

    def _next_list(self, *, first: bool = False) -> bool:
        """Skip the opening bracket of the next list of events. Return False if there is none."""
        buffer, members = self._buffer, Members()
        while (state := members.walk(buffer.text, buffer.at)) == "unfinished":
            if len(buffer.text) - buffer.at > _MAX_METADATA or not buffer.more():
                break
        if state in ("list", "end"):
            self.keys |= members.keys
            buffer.at += members.length if state == "list" else 0
            return state == "list"
        bracket = self._search(members.length)
        if bracket is None:
            if not first:
                self._end(buffer.text[buffer.at :])
            return False
        start, stop = bracket
        self._tally.add("metadata_damaged")
        self.keys |= json_values.salvage(buffer.text[buffer.at : buffer.at + start])
        buffer.at += stop
        return True

    def _search(self, scanned: int) -> tuple[int, int] | None:
        """Return start and end of what looks like the start of a list, from ``at``; or None."""
        buffer = self._buffer
        while True:
            if match := _LIST.search(buffer.text, buffer.at + scanned):
                return match.start() - buffer.at, match.end() - buffer.at
            held = len(buffer.text) - buffer.at
            scanned = max(scanned, held - _REACH)
            if held > _MAX_METADATA or not buffer.more():
                return None

    def _end(self, rest: bytes) -> None:
        """Salvage damaged keys behind the last list."""
        whole = rest.rstrip().endswith(b"}")
        self._tally.add("metadata_damaged" if whole else "truncated")
        self.keys |= json_values.salvage(rest)
