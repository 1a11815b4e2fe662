"""The outermost keys of a trace file up to its next list of events."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from tb_privateuse1.readers.chrome.metadata import BROKEN, Keys, value_length

State = Literal["list", "end", "broken", "unfinished"]

_FIRST = re.compile(rb"[\s,]*")
_COMMA = re.compile(rb"\s*,\s*|\s*(?=\})")
_KEY = re.compile(rb'"((?:[^"\\]++|\\.)*+)(?:"\s*(:?)\s*|\\?\Z)', re.DOTALL)

_BRACE = re.compile(rb"[\s,]*\}\s*\Z")


class Members:
    """``"key": value, …``, each looked at once, however often a list is looked for.

    ``keys`` holds the values so far, undecoded; ``length`` is how much of the text they take.
    """

    def __init__(self) -> None:
        self.keys: Keys = {}
        self.length = 0
        self._between = _FIRST

    def walk(self, text: bytes, start: int) -> State:
        """Go on in a text whose members begin at ``start``: later calls may have more of it.

        ``list``: ``length`` leads behind the opening bracket of the next ``traceEvents``. ``end``:
        the object is over. ``broken``: what follows is no member. ``unfinished``: the text ends.
        """
        while (state := self._member(text, start)) is None:
            self._between = _COMMA
        return state

    def _member(self, text: bytes, start: int) -> State | None:
        """Go behind one member, or return why that is impossible."""
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
    """Whether whole keys follow, up to the end of the file or another list of events."""
    members = Members()
    state = members.walk(text, at)
    if state == "end":
        return _BRACE.match(text, at + members.length) is not None
    return state == "list"
