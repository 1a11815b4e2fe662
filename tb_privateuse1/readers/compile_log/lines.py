"""Split a log into records, part by part: plain or packed, complete or cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from tb_privateuse1.readers.decompress import Source

_LINE = re.compile(
    rb"[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ (\d{1,18}) [^\]]{1,999}:\d+\] (\{\"(\w+)\":.*)"
)
_LONGEST = 8 << 20
"""Bytes of a line that is kept. torch writes no longer ones: metadata below 1 MB, and payloads with
line breaks."""
_MOST_PAYLOAD = 4 << 20
"""Bytes of a payload that are kept: the generated file of a large graph has some 100 KB."""


class Line(Struct):
    """A record: its process, kind, JSON and payload."""

    process: int
    kind: bytes
    text: bytes
    payload: bytes = b""


class LogFile:
    """The records of one file. ``truncated`` and ``damages`` are known once all are read."""

    def __init__(self, path: str, kinds: frozenset[bytes]) -> None:
        self.truncated = False
        self.damages = 0
        self._source = Source(path)
        self._kinds = kinds

    def records(self) -> Iterator[Line]:
        """Yield the records of the given kinds, each with its payload.

        Raises TraceError ``unreadable`` or ``too_large``.
        """
        current: Line | None = None
        payload: list[bytes] = []
        left = 0
        for line in self._lines():
            if line[:1] == b"\t":
                if current is not None and left > 0:
                    payload.append(line[1 : left + 1])
                    left -= len(line)
                continue
            if current is not None:
                current.payload = b"\n".join(payload)
                yield current
            current, payload, left = self._record(line), [], _MOST_PAYLOAD
        if current is not None:
            current.payload = b"\n".join(payload)
            yield current
        self.truncated |= self._source.fault is not None

    def _record(self, line: bytes) -> Line | None:
        """Return the record that a line begins; None if nobody asks for it."""
        match = _LINE.match(line)
        if match is None:
            self.damages += bool(line.strip())
            return None
        if match[3] not in self._kinds:
            return None
        return Line(int(match[1]), match[3], match[2])

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines without their ends; what is too long is one that cannot be read."""
        rest: list[bytes] = []
        length = 0
        for block in self._source.blocks():
            first, *others = block.split(b"\n")
            length += len(first)
            if length <= _LONGEST:
                rest.append(first)
            else:
                rest = [b"?"]
            if others:
                yield b"".join(rest).rstrip(b"\r")
                for line in others[:-1]:
                    yield line.rstrip(b"\r")
                rest, length = [others[-1]], len(others[-1])
        if length:
            # The last line of a program that runs, or was killed, may be half of one.
            self.truncated = True
            yield b"".join(rest)
