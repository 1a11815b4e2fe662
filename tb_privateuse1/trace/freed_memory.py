"""Give freed memory back to the system, where the C library would keep it (glibc).

glibc has a heap for each thread, up to eight times the processors, and gives back the end of each
alone. A server's threads come and go, and what they computed together was in other heaps each time.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from collections.abc import Callable

_M_ARENA_MAX = -8
"""Of ``mallopt(3)``."""
_HEAPS = 2
"""Threads of Python take turns, so that more heaps hardly save time (docs, performance)."""


@functools.cache
def _function(name: str) -> Callable[..., int] | None:
    """Return a function of the C library; None without it, such as on macOS or with musl."""
    if not sys.platform.startswith("linux"):
        return None
    with contextlib.suppress(OSError, AttributeError):
        found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
        return found
    return None


def use_few_heaps() -> bool:
    """Have threads that start from now on share heaps; return whether that can be."""
    setting = _function("mallopt")
    return setting is not None and bool(setting(_M_ARENA_MAX, _HEAPS))


def give_back() -> bool:
    """Give all whole free pages back; return whether there were any. It takes milliseconds."""
    trim = _function("malloc_trim")
    return trim is not None and bool(trim(0))
