"""Parse the top-level keys of a trace file up to its next list of events."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from tb_privateuse1.readers.chrome.json_values import BROKEN, Keys, value_length

State = Literal["list", "end", "broken", "unfinished"]

_FIRST = re.compile(rb"[\s,]*")
_COMMA = re.compile(rb"\s*,\s*|\s*(?=\})")
_KEY = re.compile(rb'"((?:[^"\\]++|\\.)*+)(?:"\s*(:?)\s*|\\?\Z)', re.DOTALL)

_BRACE = re.compile(rb"[\s,]*\}\s*\Z")


class Members:
    """Parses ``"key": value, …``; each member is parsed once, also if the text comes in parts.

    ``keys`` holds the values so far, undecoded; ``length`` is the length of their text.
    """

    def __init__(self) -> None:
        self.keys: Keys = {}
        self.length = 0
        self._between = _FIRST

    def walk(self, text: bytes, start: int) -> State:
        """Continue in a text whose members begin at ``start``; later calls may pass more of it.

        ``list``: ``length`` ends behind the opening bracket of the next ``traceEvents``. ``end``:
        the object ends. ``broken``: no member follows. ``unfinished``: the text ends.
        """
        while (state := self._member(text, start)) is None:
            self._between = _COMMA
        return state

    def _member(self, text: bytes, start: int) -> State | None:
        """Skip one member, or return the state that prevents it."""
        between = self._between.match(text, start + self.length)
        if between is None:
            return "broken"
        at = between.end()
        if text[at : at + 1] == b"}":
            return "end"
        key = _KEY.match(text, at)
        behind = key.end() if key else at
        if behind == len(text):
            return "unfinished"
        if key is None or not key[2]:
            return "broken"
        if key[1] == b"traceEvents" and text[behind : behind + 1] == b"[":
            self.length = behind + 1 - start
            return "list"
        try:
            length = value_length(memoryview(text)[behind:])
            name = msgspec.json.decode(b'"' + key[1] + b'"', type=str)
        except BROKEN as error:
            return "unfinished" if "truncated" in str(error) else "broken"
        stop = behind + length
        if stop == len(text):  # a number may go on
            return "unfinished"
        self.keys[name] = msgspec.Raw(text[behind:stop].rstrip())
        self.length = stop - start
        return None


def is_rest(text: bytes, at: int) -> bool:
    """Return whether whole keys follow, up to the file's end or another list of events."""
    members = Members()
    state = members.walk(text, at)
    if state == "end":
        return _BRACE.match(text, at + members.length) is not None
    return state == "list"
