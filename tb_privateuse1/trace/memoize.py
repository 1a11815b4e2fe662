"""What several views ask of a trace is worked out once, and kept while there is room for it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from tb_privateuse1.trace.memory_budget import BUDGET
from tb_privateuse1.trace.model import Trace

_T = TypeVar("_T")


def memoize(function: Callable[[Trace], _T]) -> Callable[[Trace], _T]:
    """The function, asked once per trace: for answers that nobody changes.

    Threads that ask at the same time wait for the first one's answer. It counts in the memory
    budget, and must not hold the trace itself, which would then never be let go.
    """

    @functools.wraps(function)
    def answer(trace: Trace) -> _T:
        return BUDGET.compute(trace, function, lambda: function(trace))

    return answer
