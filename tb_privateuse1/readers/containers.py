"""Read a pickle that holds plain containers, and run nothing of it.

A pickle is a program of opcodes. Some import and call what they name. Here each opcode is
checked against a list before the first is run: those that build dictionaries, lists, strings and
numbers (pickletools has all of them). No opcode jumps, so the order in the file is the order in
which they run. What is refused as well, as it takes memory or time out of proportion:

* tuples of anything but up to three numbers: nested ones overflow the stack when they are hashed.
  A tuple of two texts is made a list, which nothing hashes;
* numbers of more than nine bytes, and places in the memo beyond the size of the file;
* more than a container for each eight bytes.

Protocols 2 to 5 are read; torch writes Python's default, which is 4 or 5.
"""

from __future__ import annotations

import contextlib
import gc
import io
import pickle
import re
from collections.abc import Iterator
from typing import Any

_HEAD = re.compile(rb"\x80[\x02-\x05]")
_STOP = b"."
_FRAME = b"\x95"
_FRAME_BYTES = 9
_PAIR = b"\x86"
_TEXTS = {b"X": (5, 4), b"\x8c": (2, 1), b"h": (2, 0), b"j": (5, 0)}
"""Opcodes of texts, new ones and those from the memo: their length, and bytes of the text's."""
_SHORT = 64
"""Bytes of the shortest text that the patterns do not know; long ones are rare."""
_DIGITS = (6, 8, 5, 7, 0, 1, 2, 3, 4, 9)
"""Bytes of long numbers; those of times and addresses come first."""
_BUFFER_BYTES = 1 << 17
"""The unpickler looks ahead as far. Without a buffer it calls ``read`` for each opcode."""
_BYTES_PER_CONTAINER = 8
_FEW_CONTAINERS = 10_000

_Edits = list[tuple[int, int, bytes]]
"""Where parts of the pickle begin and end, in order, and what replaces them."""


class NotPlain(ValueError):
    """A pickle that is damaged, or is not made of plain containers."""


def load(data: bytes) -> Any:
    """Return the object of a pickle: dictionaries, lists, strings, numbers, True, False and None.

    Tuples of two texts are lists. Raises NotPlain; then nothing of it was run.
    """
    data = _edited(data, check(data))
    with no_collection():
        try:
            return _Plain(io.BufferedReader(io.BytesIO(data), _BUFFER_BYTES)).load()
        except (
            pickle.UnpicklingError, ArithmeticError, AttributeError, EOFError, LookupError,
            TypeError, ValueError,
        ) as error:  # fmt: skip
            raise NotPlain(f"{type(error).__name__}: {error}") from error


def check(data: bytes) -> _Edits:
    """Return the edits that make lists of tuples of two texts, and remove frames.

    Raises NotPlain if a pickle has an opcode that is not on the list, or ends early.
    """
    if not _HEAD.match(data):
        raise NotPlain("no pickle of protocol 2 to 5")
    if data.count(b"]") + data.count(b"}") > len(data) // _BYTES_PER_CONTAINER + _FEW_CONTAINERS:
        raise NotPlain("too many containers")
    put = _put(len(data))
    plain, pair = _plain_opcodes(put), _pair_of_texts(put)
    to_memo = re.compile(put, re.DOTALL)
    edits: _Edits = []
    at = 2
    while True:
        found = plain.match(data, at)
        at = found.end() if found else at
        if found := pair.match(data, at):
            edits += (at, at, b"("), (found.end() - 1, found.end(), b"l")
            at = found.end()
            continue
        if data[at : at + 1] == _STOP:
            return edits
        if data[at : at + 1] == _FRAME:
            at = _end_of_frame(data, at, edits)
            continue
        begin, first = at, len(edits)
        at = _end_of_text(data, at, to_memo, edits)
        if data[at : at + 1] in _TEXTS:
            frames = len(edits)
            second = _end_of_text(data, at, to_memo, edits)
            if data[second : second + 1] == _PAIR:
                edits.insert(first, (begin, begin, b"("))
                edits.append((second, second + 1, b"l"))
                at = second + 1
            else:
                del edits[frames:]  # the second text is looked at again


def _end_of_frame(data: bytes, at: int, edits: _Edits) -> int:
    """Return where a frame's opcode ends: it only groups others, and its length would be wrong."""
    end = at + _FRAME_BYTES
    if int.from_bytes(data[at + 1 : end], "little") > len(data):
        raise NotPlain("it ends early")
    edits.append((at, end, b""))
    return end


def _end_of_text(data: bytes, at: int, to_memo: re.Pattern[bytes], edits: _Edits) -> int:
    """Return where the opcodes of one text end, of putting it into the memo, and of a frame."""
    code = data[at : at + 1]
    if code not in _TEXTS:
        raise NotPlain(f"opcode {code!r} at byte {at}" if code else "it ends early")
    head, digits = _TEXTS[code]
    end = at + head + int.from_bytes(data[at + 1 : at + 1 + digits], "little")
    if end > len(data):
        raise NotPlain("it ends early")
    stored = to_memo.match(data, end)
    end = stored.end() if stored else end
    return _end_of_frame(data, end, edits) if data[end : end + 1] == _FRAME else end


def _edited(data: bytes, edits: _Edits) -> bytes:
    pieces: list[bytes] = []
    done = 0
    for start, end, text in edits:
        pieces += data[done:start], text
        done = end
    return b"".join([*pieces, data[done:]])


def _put(size: int) -> bytes:
    """Return the pattern of the opcodes that put into the memo, at a place within the size."""
    high = min(size >> 24, 255) if size >> 24 else 0
    middle = 255 if high else size >> 16
    return rb"(?:\x94|q.|r" + b"..[\\x00-\\x%02x][\\x00-\\x%02x])" % (middle, high)


def _new_text(put: bytes) -> bytes:
    """Return the pattern of a short text, and of putting it into the memo."""
    short = b"|".join(b"\\x%02x.{%d}" % (n, n) for n in range(_SHORT))
    padded = b"|".join(b"\\x%02x\\0\\0\\0.{%d}" % (n, n) for n in range(_SHORT))
    return b"(?:\\x8c(?:" + short + b")|X(?:" + padded + b"))" + put + b"?+"


def _pair_of_texts(put: bytes) -> re.Pattern[bytes]:
    """Return the pattern of a tuple of two short texts, or of texts from the memo."""
    text = b"(?:h.|j.{4}|" + _new_text(put) + b")"
    return re.compile(text + text + rb"\x86", re.DOTALL)


def _plain_opcodes(put: bytes) -> re.Pattern[bytes]:
    """Return the pattern of a series of allowed opcodes with their arguments.

    It ends in front of long texts, and of two texts that may be a tuple. The pattern tries one
    kind after the other, so the most frequent ones come first: a key with a number, then marks.
    """
    digits = b"|".join(b"\\x%02x.{%d}" % (n, n) for n in _DIGITS)
    number = b"(?:J.{4}|K.|M..|\\x8a(?:" + digits + b"))"
    numbers = number + rb"(?:\x85|" + number + rb"(?:\x86|" + number + rb"\x87))?+"
    new = _new_text(put)
    text = b"(?:h.|j.{4}|" + new + b")"
    is_alone = rb"(?:(?![hjX\x8c\x95])|(?!\x95|X(?!S\0\0\0)|\x8c(?!S)|T[\x86\x95]))"
    is_alone = is_alone.replace(b"S", b"[\\0-\\x%02x]" % (_SHORT - 1)).replace(b"T", text)
    opcodes = (
        b"h.(?:" + numbers + b"|" + is_alone + b")",
        rb"[(N\x88\x89\]})aesu]++",  # mark, None, True, False, [], {}, (), and adding to them
        put,
        b"j.{4}" + is_alone,
        new + is_alone,
        numbers,  # tuples of numbers, and single numbers
        rb"G.{8}",  # a float
    )
    return re.compile(b"(?:" + b"|".join(opcodes) + b")*+", re.DOTALL)


class _Plain(pickle.Unpickler):
    """An unpickler that knows no class and no function, should one be asked for all the same."""

    def find_class(self, module: str, name: str, /) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is no plain container")


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Collect no garbage meanwhile: each round would visit the millions of containers made so far.

    A function that makes columns of them is decorated with it: the containers must be gone before
    the next round.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
