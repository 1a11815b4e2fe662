"""Format the stacks of torch's dumps as texts: frames with file, name and line.

Memory snapshots and flight recorders write frames alike (torch, ``CapturedTraceback``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32

_MOST_FRAMES = 200
_LONGEST = 300
_MOST_TEXT = 256 << 20


class Stacks:
    """The texts of stacks, as they are added to a list: each list of frames is read once."""

    def __init__(self, texts: list[str], tally: Tally) -> None:
        self._texts = texts
        self._tally = tally
        self._of_list: dict[int, int] = {}
        self._of_frames: dict[tuple[int, ...], int] = {}
        self._of_text: dict[str, int] = {}
        self._frame: dict[int, tuple[str, bool]] = {}
        self._left = _MOST_TEXT

    def column(self, lists: Sequence[Any]) -> I32:
        """Return the index of each list's text, ``NONE`` for an empty one."""
        known, index = self._of_list, self._index
        return np.array(
            [known[id(one)] if id(one) in known else index(one) for one in lists], np.int32
        )

    def _index(self, frames: Any) -> int:
        # The lists and frames live as long as the document, and so their ids are theirs alone.
        if type(frames) is not list:
            return NONE
        listed = frames if len(frames) <= _MOST_FRAMES else frames[:_MOST_FRAMES]
        key = tuple(map(id, listed))
        found = self._of_frames.get(key)
        if found is None:
            found = self._of_frames[key] = self._new(listed)
        self._of_list[id(frames)] = found
        return found

    def _new(self, frames: list[Any]) -> int:
        read = [self._text_of(frame) for frame in frames]
        # With C++ frames, which few can read, those of Python are the program's.
        python = [text for text, is_python in read if text and is_python]
        text = ";".join(python or [text for text, _ in read if text])
        if not text:
            return NONE
        if text not in self._of_text:
            self._left -= len(text)
            if self._left < 0:
                self._tally.add("stacks_dropped")
                return NONE
            self._of_text[text] = len(self._texts)
            self._texts.append(text)
        return self._of_text[text]

    def _text_of(self, frame: Any) -> tuple[str, bool]:
        if id(frame) not in self._frame:
            self._frame[id(frame)] = _frame_text(frame)
        return self._frame[id(frame)]


def _frame_text(frame: Any) -> tuple[str, bool]:
    """Return a frame as torch's profiler spells it, and whether it is one of Python."""
    if type(frame) is not dict:
        return "", False
    file, name, line = (frame.get(key) for key in ("filename", "name", "line"))
    file = _clean(file) if type(file) is str else "??"
    name = _clean(name) if type(name) is str else "??"
    number = line if type(line) is int and 0 <= line < 1 << 31 else 0
    return f"{file}({number}): {name}", file.endswith(".py") or file.startswith("<")


def _clean(text: str) -> str:
    """Return valid text without the mark that separates frames; the end of a long one."""
    short = text[-_LONGEST:].replace(";", ",")
    return short.encode("utf-8", "replace").decode("utf-8")
