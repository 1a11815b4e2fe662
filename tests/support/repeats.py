"""What of the long tests this run takes: a part in ``make test``, all in ``make long``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

VARIABLE = "TB_PRIVATEUSE1_TESTS"
"""``long`` selects all repeats and samples, and the tests marked ``exhaustive``."""
LONG = os.environ.get(VARIABLE) == "long"
_FEWEST = 5

Item = TypeVar("Item")


def repeats(all: int, one_in: int = 4) -> int:
    """Return how many of all examples, seeds or mutants this run takes: one in so many, or all."""
    return all if LONG else max(_FEWEST, all // one_in)


def sampled(all: Iterable[Item], one_in: int = 6) -> list[Item]:
    """Return which parameters of a slow test this run takes: one in so many, or all."""
    return list(all)[:: 1 if LONG else one_in]
