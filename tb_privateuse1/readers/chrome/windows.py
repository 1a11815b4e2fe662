"""Cut a list of events in a long text into windows of whole events.

A window ends between two events, which looks like ``},{``. That this is not inside a string or a
list is certain once ``[`` + window + ``]`` can be decoded, which has to be done anyway. If decoding
fails, the window shrinks to the damaged event alone. That event is repaired if its meaning is
plain, else skipped up to the next event that can be decoded. So no complete event is lost, and a
sound file costs no more than its decoding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

from tb_privateuse1.readers.chrome.buffer import Buffer
from tb_privateuse1.readers.chrome.json_values import BROKEN, trailing_length, value_length
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.chrome.repair import repair_text
from tb_privateuse1.readers.chrome.top_level_keys import is_rest

T = TypeVar("T")

WINDOW = 1 << 19
"""Bytes decoded at once. More would not fit the CPU's cache: see docs/internals/performance.md."""
_SMALL = 1 << 12
TAIL = 1 << 12
"""Bytes in which the last boundary of a window is searched first."""
_ONE = 1 << 16
"""Bytes in which the end of a single event is searched first."""
_MAX_EVENT = 1 << 24
_MAX_LONG = 8
"""Failed searches for an event's end beyond ``_ONE`` bytes, after which there are no more."""
_REACH = 64
"""The longest match of ``_EVENT``, not counting spaces."""
_MAX_PLACES = 20_000
"""Damaged places after which the rest is skipped, so that a hostile file ends soon."""

_MAX_CLOSING = 1000
"""Brackets behind the last event that are tested for closing its list."""

_BOUNDARY = re.compile(rb"\}\s*,\s*(?=\{)")
_COMMAS = re.compile(rb"[\s,]*")
_EVENT = re.compile(rb'\{\s*"')
_PHASE = re.compile(rb'"ph"\s*:')
_BEHIND = re.compile(rb'\}|,\s*"(?:[^"\\]++|\\.)*+"\s*:', re.DOTALL)
_CLOSING = re.compile(rb'\](?=\s*(?:\}|,\s*"))')
_LAST = re.compile(rb"\](?=\s*\Z)")
_SPACE = re.compile(rb"\s*")


class ReadPosition(NamedTuple):
    """Where a window begins, and the state that decides how the text is cut from there."""

    offset_bytes: int
    window_bytes: int
    damages: int
    long: int
    bare: bool


class Windows(Generic[T]):
    """The windows of one list. The buffer is behind its opening bracket, or at ``place``.

    ``decode`` takes ``[…]`` and raises one of ``BROKEN`` for invalid JSON. ``bare``: nothing may
    follow the list. ``later``: it is not the file's first list. ``ended`` is true once the closing
    bracket is reached, false if the list is cut off or given up. ``place`` is where the last
    yielded window begins, None if reading cannot be resumed there.
    """

    def __init__(
        self,
        buffer: Buffer,
        decode: Callable[[bytes], list[T]],
        tally: Tally,
        *,
        bare: bool,
        place: ReadPosition | None = None,
        later: bool = False,
    ) -> None:
        self.ended = False
        self.place = place
        # A file may have a list of events every few bytes.
        self._size = place.window_bytes if place else _SMALL if later else WINDOW
        self._buffer = buffer
        self._decode = decode
        self._tally = tally
        self._bare = bare
        self._at_bracket = False  # just behind a possible closing bracket
        self._lost = False  # behind a damage, before the next event
        self._failures = 0
        self._places = place.damages if place else 0
        self._long = place.long if place else 0
        self._over = False
        self._open_ended = False  # no bracket closes the list

    def __iter__(self) -> Iterator[tuple[bytes, list[T]]]:
        """Yield lists of events as JSON text and as decoded."""
        while not self._over:
            self.place = self._here()
            window = None if self._lost else self._window(self._size)
            if window is None and not self._lost and self._size > _SMALL:
                self._size = _SMALL
                continue
            if window is None:
                self._size = _SMALL
                window = self._one()
            else:
                self._size = min(2 * self._size, WINDOW)
            if window is not None and window[1]:
                yield window
            window = None  # its events' memory is used again, while it is in the CPU's cache
            if self._at_bracket:
                self._at_bracket = False
                if self._is_end():
                    self.ended = True
                    return
                self._damage()

    def next_place(self) -> ReadPosition | None:
        """Return where the next window begins; None if reading cannot be resumed there."""
        return None if self._at_bracket or self._over else self._here()

    def _here(self) -> ReadPosition | None:
        offset = self._buffer.offset()
        if self._lost or offset is None:
            return None
        return ReadPosition(offset, self._size, self._places, self._long, self._bare)

    def _window(self, size: int) -> tuple[bytes, list[T]] | None:
        """Return all whole events in the next ``size`` bytes; None if decoding fails."""
        buffer = self._buffer
        buffer.need(size)
        at = buffer.at
        cut = last_boundary(buffer.text, at, at + size)
        stop, behind = cut or (at + size, at + size)
        close = b"]" if cut else b""
        decoded = self._decoded(b"".join((b"[", memoryview(buffer.text)[at:stop], close)))
        if decoded is None and cut:
            window = buffer.text[at:stop]
            fixed, repairs = repair_text(window)
            decoded = self._decoded(b"[" + fixed + close) if fixed != window else None
            if decoded is not None:
                self._tally.merge(repairs)
                buffer.replace(stop, fixed)
                at, behind = 0, behind - stop + len(fixed)
        if decoded is None:
            return None
        text, events, length = decoded
        if length is None and cut:
            buffer.at = behind
        else:
            buffer.at = min(len(buffer.text), at + (length or len(text)) - 1)
            self._at_bracket = True
        return text, events

    def _decoded(self, text: bytes) -> tuple[bytes, list[T], int | None] | None:
        """Decode ``[…]``. Return also its length if the list ends before the text does."""
        try:
            return text, self._decode(text), None
        except BROKEN as error:
            length = trailing_length(error)
        try:
            whole = text[:length].rstrip()
            return None if length is None else (whole, self._decode(whole), length)
        except BROKEN:
            return None

    def _one(self) -> tuple[bytes, list[T]] | None:
        """Return the next event alone; None if it was skipped, or at the list's end."""
        buffer = self._buffer
        first = buffer.skip(_COMMAS)
        if first == b"]":
            buffer.at += 1
            self._at_bracket = True
            return None
        if not first:
            self._cut_off()
            return None
        event = self._event()
        if event is None:
            return None
        if self._lost and not _PHASE.search(event):
            self._damage()
            return None
        decoded = self._decoded(b"[" + event + b"]")
        if decoded is None:
            fixed, repairs = repair_text(event)
            decoded = self._decoded(b"[" + fixed + b"]")
            self._tally.merge(repairs)
        if decoded is None:
            self._damage()
            return None
        buffer.at += len(event)
        buffer.skip(_COMMAS)
        self._lost, self._failures = False, 0
        return decoded[:2]

    def _event(self) -> bytes | None:
        """Return the text of the JSON value that starts here, repaired if that helps; or None."""
        buffer, limit = self._buffer, _ONE
        while True:
            buffer.need(limit)
            text = buffer.text[buffer.at : buffer.at + limit]
            whole = buffer.eof and len(text) < limit
            try:
                return text[: value_length(text)]
            except BROKEN as error:
                unfinished = "truncated" in str(error)
            stop = _BOUNDARY.search(text)
            fixed, repairs = repair_text(text[: stop.start() + 1] if stop else text)
            try:
                length = value_length(fixed)
            except BROKEN:
                pass
            else:
                self._tally.merge(repairs)
                buffer.replace(buffer.at + (stop.start() + 1 if stop else len(text)), fixed)
                return fixed[:length]
            if unfinished and whole and not _PHASE.search(text, stop.end() if stop else limit):
                self._cut_off()
                return None
            grows = unfinished and not whole and not self._lost and limit < _MAX_EVENT
            if not grows or self._long >= _MAX_LONG:
                self._long += limit > _ONE
                self._damage()
                return None
            limit *= 4

    def _cut_off(self) -> None:
        self._tally.add("truncated")
        self._over = True

    def _damage(self) -> None:
        """Skip to where the next event may start, and count one place of damage."""
        buffer = self._buffer
        if not self._lost:
            self._lost = True
            self._places += 1
            self._tally.add("damaged", 1, buffer.text[buffer.at : buffer.at + 80])
            if self._places > _MAX_PLACES:
                self._tally.add("too_damaged")
                self._over = True
                return
        # After many failures in a row, in growing steps: the effort stays linear.
        step = 1 << min(20, self._failures // 64)
        self._failures += 1
        buffer.need(max(_ONE, step))
        match = _EVENT.search(buffer.text, buffer.at + step)
        behind = match.start() if match else len(buffer.text)
        if buffer.eof and not _PHASE.search(buffer.text, behind) and self._tail():
            return
        buffer.at = min(len(buffer.text), buffer.at + step)
        while (match := _EVENT.search(buffer.text, buffer.at)) is None:
            buffer.at = max(buffer.at, len(buffer.text) - _REACH)
            if not buffer.more():
                self._cut_off()
                return
        buffer.at = match.start()

    def _tail(self) -> bool:
        """Behind the last event: skip the closing bracket. Return whether there is one."""
        if self._open_ended:
            return False
        buffer = self._buffer
        closing = _LAST if self._bare else _CLOSING
        for match in islice(closing.finditer(buffer.text, buffer.at), _MAX_CLOSING):
            if self._bare or is_rest(buffer.text, match.end()):
                buffer.at = match.end()
                self._at_bracket = True
                return True
        self._open_ended = True
        return False

    def _is_end(self) -> bool:
        """Return whether the bracket before this place closes the list, not a damaged value."""
        following = self._buffer.skip(_SPACE)
        if self._bare or not following:
            return not following
        buffer = self._buffer
        buffer.need(_ONE)
        if not _BEHIND.match(buffer.text, buffer.at):
            return False
        # After a damage this may be a list inside an event: then more events follow.
        return not self._places or not _PHASE.search(buffer.text, buffer.at, buffer.at + _ONE)


def last_boundary(text: bytes, start: int, stop: int) -> tuple[int, int] | None:
    """Return the last boundary before ``stop``: an event's end, and the next one's start."""
    stop = min(stop, len(text))
    reach = TAIL
    while True:
        begin = max(start, stop - reach)
        boundaries = list(_BOUNDARY.finditer(text, begin, stop))
        if boundaries:
            return boundaries[-1].start() + 1, boundaries[-1].end()
        if begin == start:
            return None
        reach *= 8
