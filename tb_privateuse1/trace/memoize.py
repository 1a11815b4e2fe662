"""Memoize a function of a trace, within the memory budget."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from tb_privateuse1.trace.memory_budget import BUDGET
from tb_privateuse1.trace.model import Trace

_T = TypeVar("_T")


def take_over(trace: Trace, function: Callable[[Trace], _T], value: _T) -> None:
    """Give a trace the result that a memoized function has of another one with the same rows."""
    own = function.__wrapped__  # type: ignore[attr-defined]
    BUDGET.compute(trace, own, lambda: value)


def memoize(function: Callable[[Trace], _T]) -> Callable[[Trace], _T]:
    """Return the function with one cached result per trace; callers must not change results.

    Threads that call it at the same time wait for the first one's result. The result counts in
    the memory budget. It must not hold the trace, which would then never be released.
    """

    @functools.wraps(function)
    def cached(trace: Trace) -> _T:
        return BUDGET.compute(trace, function, lambda: function(trace))

    return cached
