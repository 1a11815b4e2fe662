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
_MOST_DIGITS = 9
_BYTES_PER_CONTAINER = 8
_FEW_CONTAINERS = 10_000

_Edits = dict[int, tuple[int, bytes]]
"""By where a part of the pickle begins: where it ends, and what replaces it."""


class NotPlain(ValueError):
    """A pickle that is damaged, or is not made of plain containers."""


def load(data: bytes) -> Any:
    """Return the object of a pickle: dictionaries, lists, strings, numbers, True, False and None.

    Tuples of two texts are lists. Raises NotPlain; then nothing of it was run.
    """
    data = _edited(data, check(data))
    with _no_collection():
        try:
            return _Plain(io.BytesIO(data)).load()
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
    plain, to_memo = _plain_opcodes(len(data)), re.compile(_put(len(data)), re.DOTALL)
    edits: _Edits = {}
    at = 2
    while True:
        found = plain.match(data, at)
        at = found.end() if found else at
        if data[at : at + 1] == _STOP:
            return edits
        if data[at : at + 1] == _FRAME:
            at = _end_of_frame(data, at, edits)
            continue
        end = _end_of_text(data, at, to_memo, edits)
        if data[end : end + 1] in _TEXTS:
            second = _end_of_text(data, end, to_memo, edits)
            if data[second : second + 1] == _PAIR:
                edits[at], edits[second] = (at, b"("), (second + 1, b"l")
                end = second + 1
        at = end


def _end_of_frame(data: bytes, at: int, edits: _Edits) -> int:
    """Return where a frame's opcode ends: it only groups others, and its length would be wrong."""
    end = at + _FRAME_BYTES
    if int.from_bytes(data[at + 1 : end], "little") > len(data):
        raise NotPlain("it ends early")
    edits[at] = (end, b"")
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
    pieces, done = [], 0
    for start, (end, text) in sorted(edits.items()):
        pieces += [data[done:start], text]
        done = end
    return b"".join([*pieces, data[done:]])


def _put(size: int) -> bytes:
    """Return the pattern of the opcodes that put into the memo, at a place within the size."""
    high = min(size >> 24, 255) if size >> 24 else 0
    middle = 255 if high else size >> 16
    return rb"(?:\x94|q.|r" + b"..[\\x00-\\x%02x][\\x00-\\x%02x])" % (middle, high)


def _plain_opcodes(size: int) -> re.Pattern[bytes]:
    """Return the pattern of a series of allowed opcodes with their arguments.

    It ends in front of long texts, and of two texts that may be a tuple.
    """
    digits = b"|".join(b"\\x%02x.{%d}" % (n, n) for n in range(_MOST_DIGITS + 1))
    number = b"(?:K.|M..|J.{4}|\\x8a(?:" + digits + b"))"
    put = _put(size)
    short = b"\\x8c(?:" + b"|".join(b"\\x%02x.{%d}" % (n, n) for n in range(256)) + b")"
    text = b"(?:h.|j.{4}|" + short + put + b"?+)"
    opcodes = (
        text + rb"(?!X|\x95|" + text + rb"[\x86\x95])",
        put,
        number * 3 + rb"\x87",  # tuples of numbers, and single numbers
        number * 2 + rb"\x86",
        number + rb"\x85",
        number,
        rb"[(N\x88\x89\]})aesu]",  # mark, None, True, False, [], {}, (), and adding to them
        rb"G.{8}",  # a float
    )
    return re.compile(b"(?:" + b"|".join(opcodes) + b")*+", re.DOTALL)


class _Plain(pickle.Unpickler):
    """An unpickler that knows no class and no function, should one be asked for all the same."""

    def find_class(self, module: str, name: str, /) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is no plain container")


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Collect no garbage meanwhile: each round would visit the millions of containers made so far.

    It lasts for the load alone.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
