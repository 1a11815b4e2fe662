"""Read a pickle that holds plain containers, and run nothing of it.

A pickle is a program of opcodes. Some import and call what they name. Here each opcode is
checked against a list before the first is run: those that build dictionaries, lists, strings and
numbers (pickletools has all of them). No opcode jumps, so the order in the file is the order in
which they run. What is refused as well, as it takes memory or time out of proportion:

* tuples of anything but up to three numbers: nested ones overflow the stack when they are hashed;
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
_LONG_TEXT = 0x58
"""BINUNICODE: the only opcode whose length may be large."""
_MOST_DIGITS = 9
_BYTES_PER_CONTAINER = 8
_FEW_CONTAINERS = 10_000


class NotPlain(ValueError):
    """A pickle that is damaged, or is not made of plain containers."""


def load(data: bytes) -> Any:
    """Return the object of a pickle: dictionaries, lists, strings, numbers, True, False and None.

    Raises NotPlain; then nothing of it was run.
    """
    check(data)
    with _no_collection():
        try:
            return _Plain(io.BytesIO(data)).load()
        except (
            pickle.UnpicklingError, ArithmeticError, AttributeError, EOFError, LookupError,
            TypeError, ValueError,
        ) as error:  # fmt: skip
            raise NotPlain(f"{type(error).__name__}: {error}") from error


def check(data: bytes) -> None:
    """Raise NotPlain if a pickle has an opcode that is not on the list, or ends early."""
    if not _HEAD.match(data):
        raise NotPlain("no pickle of protocol 2 to 5")
    if data.count(b"]") + data.count(b"}") > len(data) // _BYTES_PER_CONTAINER + _FEW_CONTAINERS:
        raise NotPlain("too many containers")
    plain = _plain_opcodes(len(data))
    at = 2
    while True:
        found = plain.match(data, at)
        at = found.end() if found else at
        code = data[at : at + 1]
        if code == _STOP:
            return
        if not code:
            raise NotPlain("it ends early")
        if code[0] != _LONG_TEXT:
            raise NotPlain(f"opcode {code!r} at byte {at}")
        length = int.from_bytes(data[at + 1 : at + 5], "little")
        at += 5 + length
        if at > len(data):
            raise NotPlain("it ends early")


def _plain_opcodes(size: int) -> re.Pattern[bytes]:
    """Return the pattern of a series of allowed opcodes with their arguments, but long texts."""
    high = min(size >> 24, 255) if size >> 24 else 0
    middle = 255 if high else size >> 16
    place = b"..[\\x00-\\x%02x][\\x00-\\x%02x]" % (middle, high)
    digits = b"|".join(b"\\x%02x.{%d}" % (n, n) for n in range(_MOST_DIGITS + 1))
    number = b"(?:K.|M..|J.{4}|\\x8a(?:" + digits + b"))"
    texts = b"|".join(b"\\x%02x.{%d}" % (n, n) for n in range(256))
    opcodes = (
        rb"h.",  # from the memo
        rb"\x94",  # to the memo
        rb"q.",
        number * 3 + rb"\x87",  # tuples of numbers, and single numbers
        number * 2 + rb"\x86",
        number + rb"\x85",
        number,
        rb"[(N\x88\x89\]})aesu]",  # mark, None, True, False, [], {}, (), and adding to them
        rb"j.{4}",
        rb"r" + place,
        rb"\x8c(?:" + texts + rb")",
        rb"G.{8}",  # a float
        rb"\x95.{8}",  # a frame: it only groups opcodes
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
