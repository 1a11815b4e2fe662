"""Intern texts and threads: equal ones share a number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tb_privateuse1.trace.model import NONE

_NUL = b"\0"
"""A character that sound JSON does not have."""


class Strings(dict[Any, int]):
    """Number texts in order of first occurrence; other values count as their ``str``."""

    def __missing__(self, text: Any) -> int:
        if not isinstance(text, str):
            return self[str(text)]
        number = self[text] = len(self)
        return number


class JsonTexts(dict[bytes, int]):
    """Number JSON texts; equal lists are one string, however the exporter spaced them."""

    def __init__(self, strings: Strings) -> None:
        super().__init__()
        self._strings = strings

    def __missing__(self, text: bytes) -> int:
        try:
            value = msgspec.json.decode(text) if text else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            value = None
        plain = value if value is None else msgspec.json.encode(value).decode()
        number = self[text] = NONE if plain is None else self._strings[plain]
        return number

    def numbers(self, values: Sequence[msgspec.Raw]) -> Iterator[int]:
        """Return the number of each value."""
        # To join and to split them is faster than to copy each.
        texts = _NUL.join(values).split(_NUL)
        if len(texts) != len(values):
            texts = [bytes(value) for value in values]
        return map(self.__getitem__, texts)


class ThreadRows(dict[Any, "_Tids"]):
    """Number threads, as ``self[pid][tid]``.

    ``by_text`` has the rows by pid and tid as strings, in order: torch of 2021 wrote the same tid
    as "25738" and as 25738.
    """

    def __init__(self) -> None:
        super().__init__()
        self.by_text: dict[tuple[str, str], int] = {}

    def row(self, pid: str, tid: str) -> int:
        """Return the row of a thread whose pid and tid are strings."""
        return self.by_text.setdefault((pid, tid), len(self.by_text))

    def __missing__(self, pid: Any) -> _Tids:
        tids = self[pid] = _Tids(str(pid), self.by_text)
        return tids


class _Tids(dict[Any, int]):
    def __init__(self, pid: str, by_text: dict[tuple[str, str], int]) -> None:
        super().__init__()
        self._pid = pid
        self._by_text = by_text

    def __missing__(self, tid: Any) -> int:
        row = self[tid] = self._by_text.setdefault((self._pid, str(tid)), len(self._by_text))
        return row
