"""How often a test of random inputs repeats: a part in ``make test``, all in ``make long``."""

from __future__ import annotations

import os

VARIABLE = "TB_PRIVATEUSE1_TESTS"
"""``long`` selects all repeats, and the tests marked ``exhaustive``."""
LONG = os.environ.get(VARIABLE) == "long"
_FEWEST = 5


def repeats(all: int, one_in: int = 4) -> int:
    """Return how many of all examples, seeds or mutants this run takes: one in so many, or all."""
    return all if LONG else max(_FEWEST, all // one_in)
