"""Read a file of one event per line (NDJSON, JSON Lines) as if it were a list of events.

A line break between two objects becomes the comma of a list. In valid JSON no ``}`` is followed by
a line break and a ``{`` without a comma, so that nothing inside an event changes. Each byte keeps
its place, and a file's checkpoints hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from tb_privateuse1.readers.chrome.buffer import Buffer
from tb_privateuse1.readers.chrome.json_values import BROKEN, Keys, value_length

FIRST_BYTES = 1 << 16
"""In so much of a file its first event ends."""
_STEPS = (1 << 12, 1 << 14, FIRST_BYTES)

_BREAK = re.compile(rb"\}[ \t\r]*\n\s*(?=\{)")
_MOST_HELD = 1 << 20
_LETTER = re.compile(rb'"[^"\\]"')
_BEFORE = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?=\{)")


def begins_with_event(text: bytes) -> bool | None:
    """Return whether a text begins with an event that is in no list: the first of its lines.

    None: the text ends before that is certain.
    """
    before = _BEFORE.match(text)
    if before is None:
        return False
    text = text[before.end() :]
    try:
        keys = msgspec.json.decode(text[: value_length(text)], type=Keys)
    except BROKEN as error:
        return None if "truncated" in str(error) else False
    phase = bytes(keys.get("ph", b""))
    return "traceEvents" not in keys and _LETTER.fullmatch(phase) is not None


def has_events_per_line(buffer: Buffer) -> bool:
    """Return whether a file whose text is in a buffer has one event per line."""
    for size in _STEPS:
        buffer.need(size)
        found = begins_with_event(buffer.text)
        if found is not None:
            return found
    return False


def lines_as_list(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the text of such a file with commas between its events and a bracket at its end."""
    held = b""
    for block in blocks:
        text = held + block
        filled = text.rstrip()
        # What may be the beginning of a break between events waits for the next block.
        keep = len(filled) - 1 if filled.endswith(b"}") else len(text)
        if len(text) - keep > _MOST_HELD:
            keep = len(text)
        held = text[keep:]
        yield _with_commas(text[:keep])
    yield held + b"]" if held else b""


def _with_commas(text: bytes) -> bytes:
    # Nearly all breaks are these two; the pattern is slower by far.
    text = text.replace(b"}\n{", b"},{").replace(b"}\r\n{", b"}\r,{")
    return _BREAK.sub(_with_comma, text)


def _with_comma(match: re.Match[bytes]) -> bytes:
    return match[0].replace(b"\n", b",", 1)
