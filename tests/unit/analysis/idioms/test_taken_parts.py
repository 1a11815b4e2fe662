"""Calls that make several views of a tensor: no one alone says how much is read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tb_privateuse1.advice.rules.unread_rows import RULE
from tests.support.autograd import TrainingProgram, steps
from tests.support.program import found
from tests.support.sized import full, recorded

ROWS, WIDTH, WORDS = 4096, 1024, 8192
SCORES, FLAT = full(ROWS, WORDS), full(ROWS * WORDS)


def in_parts(run: TrainingProgram, parts: Sequence[int]) -> None:
    """Compute scores, and view as many rows as each part has, all in one call."""
    run.product(ROWS, WIDTH, WORDS)
    first = 0
    with run.around("aten::split_with_sizes", 1, **recorded(SCORES, str(list(parts)), "0")):
        for part in parts:
            view = f"[{part}, {WORDS}]", f"[{WORDS}, 1]", str(first * WORDS)
            run.op("aten::as_strided", 1, **recorded(SCORES, *view))
            first += part


def flat_in_parts(run: TrainingProgram, parts: Sequence[int]) -> None:
    """Change gradients of all weights at once, and give each weight its own."""
    run.run("aten::addcmul", FLAT, FLAT, full(), "-1")
    first = 0
    with run.around("aten::split_with_sizes", 1, **recorded(FLAT, str(list(parts)), "0")):
        for part in parts:
            run.op("aten::as_strided", 1, **recorded(FLAT, f"[{part}]", "[1]", str(first)))
            first += part


FEW, ALL = (64,), (64, 1024, 512, ROWS - 1600)
FEW_FLAT, ALL_FLAT = (WORDS,), (WORDS, 1024 * WORDS, (ROWS - 1025) * WORDS)


@pytest.mark.parametrize(("parts", "count"), [(FEW, 1), (ALL, 0)])
def test_all_parts_of_a_split_are_read(parts: Sequence[int], count: int) -> None:
    assert len(found(RULE, steps(lambda run: in_parts(run, parts)).trace())) == count


@pytest.mark.parametrize(("parts", "count"), [(FEW_FLAT, 1), (ALL_FLAT, 0)])
def test_all_parts_of_a_flat_tensor_are_read(parts: Sequence[int], count: int) -> None:
    assert len(found(RULE, steps(lambda run: flat_in_parts(run, parts)).trace())) == count
