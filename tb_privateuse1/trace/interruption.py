"""Let a long computation tell how far it is, and end where nobody waits for it any more.

A thread cannot be ended from outside. So what takes seconds calls ``checkpoint`` every so often.
Without somebody who watches, that does nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar


class Unfinished(Exception):
    """The work has not ended: that is no failure of what was computed."""


class Interrupted(Unfinished):
    """The computation was ended: it says nothing about what was computed."""


Watch = Callable[[int, int], None]
"""Hears how many of how many parts are done; (0, 0) is no news. May raise Interrupted."""

_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


def checkpoint(done: int = 0, parts: int = 0) -> None:
    """Report progress, if somebody watches. Raises Interrupted to end the computation."""
    if (watch := _watch.get()) is not None:
        watch(done, parts)


@contextlib.contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Have the checkpoints of this thread call ``watch``."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)
