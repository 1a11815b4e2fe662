"""Recognize calls, annotations and Python frames that wait, by their names."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

_WAITS = re.compile(
    r"synchroni[sz]e(?!_|(?-i:[a-z]))|waitfor|(stream|device|event)_?sync", re.IGNORECASE
)
_NO_WAIT = re.compile(r"wait_?event|event_?(query|record)|enqueue", re.IGNORECASE)
"""Matches ``_WAITS`` too, but returns at once."""

_POLLS = re.compile(r"(event|stream)_?query", re.IGNORECASE)

_SLEEPS = re.compile(
    r"\b(acquire|wait|poll|epoll|select|sleep|recv|recv_bytes|join|_wait_for_tstate_lock)\b"
)
"""Python's functions in which a thread waits for others, for data, or for time to pass."""

_KEPT = 1 << 13
"""Names whose answer is kept, of all traces: several analyses ask the same ones, at 5 us each."""


_WORDS = ("sync", "waitfor")
"""A name that matches ``_WAITS`` has one of them."""


def blocking(names: Iterable[str]) -> list[bool]:
    """Return ``blocks`` of each name; most need no expression. Beyond ASCII, more letters match."""
    sync, wait = _WORDS
    return [
        (sync in (lower := name.lower()) or wait in lower or not name.isascii()) and blocks(name)
        for name in names
    ]


@functools.lru_cache(maxsize=_KEPT)
def blocks(name: str) -> bool:
    """Return whether a call of this name makes the host wait for the device."""
    return bool(_WAITS.search(name)) and not _NO_WAIT.search(name)


@functools.lru_cache(maxsize=_KEPT)
def polls(name: str) -> bool:
    """Return whether a call of this name only asks whether the device is done."""
    return bool(_POLLS.search(name))


def sleeps(name: str) -> bool:
    """Return whether a Python frame of this name waits for a thread, for data, or for some time."""
    return bool(_SLEEPS.search(name))
