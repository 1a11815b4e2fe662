"""What several views ask of a trace is worked out once, and kept as long as the trace is."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

from tb_privateuse1.trace import Trace

_T = TypeVar("_T")


def once(function: Callable[[Trace], _T]) -> Callable[[Trace], _T]:
    """The function, asked once per trace: for small answers, that nobody changes.

    Two threads that ask at the same time may both work it out; all get the same answer. It must
    not hold the trace itself, which would then never be let go.
    """
    kept: weakref.WeakKeyDictionary[Trace, _T] = weakref.WeakKeyDictionary()
    lock = threading.Lock()

    @functools.wraps(function)
    def answer(trace: Trace) -> _T:
        with lock:
            if trace in kept:
                return kept[trace]
        found = function(trace)
        with lock:
            return kept.setdefault(trace, found)

    return answer
