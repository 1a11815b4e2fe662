"""Keys that are copied for each query head, and attention that shares them."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.advice.rules.layout_conversion import RULE as LAYOUT
from tb_privateuse1.advice.rules.repeated_tensor import RULE
from tests.support.program import found
from tests.support.sized import BF16, SizedProgram, full

GROUPS = 4
KEYS, REPEATED = full(16, 8, 1, 2048, 64), full(16, 8, GROUPS, 2048, 64)
SHARED = full(16, 8, 2048, 64)
HEADS = full(16, 8 * GROUPS, 2048, 64)


def expand(run: SizedProgram) -> None:
    """Make a view that has each key several times."""
    arguments: dict[str, Any] = {
        "Input Dims": [list(KEYS[0]), [], []],
        "Input type": [BF16, "ScalarList", "Scalar"],
        "Concrete Inputs": ["", str(list(REPEATED[0])), "False"],
    }
    run.op("aten::expand", 1, **arguments)


def program(repeats: bool, expands: bool = True, reads: str = "aten::mul") -> SizedProgram:
    run = SizedProgram()
    for _ in range(4):
        with run.step(), run.frame("model.py(5): attend"):
            run.product(4096, 4096, 4096)
            if repeats:
                if expands:
                    expand(run)
                with run.around("aten::clone"):
                    run.run("aten::copy_", REPEATED, REPEATED)
                run.run(reads, HEADS, HEADS)
            else:
                run.run(reads, SHARED, SHARED)
            run.wait()
    return run


def test_copies_and_what_they_add_to_their_reader_are_found() -> None:
    before = program(repeats=True)
    (row,) = found(RULE, before.trace())
    assert str(row.where) == "attend (model.py:5)"
    assert row.events == 4
    copied = 2 * 2 * 16 * 8 * GROUPS * 2048 * 64 / 1e6
    assert row.saving_ns is not None
    # A third of the reader's bytes are the repeated ones, and three of four of these are spared.
    assert row.saving_ns == pytest.approx(4000 * copied * (1 + 3 / 2 / 3 * 3 / 4), rel=0.05)


def test_its_copy_is_no_change_of_layout() -> None:
    assert found(LAYOUT, program(repeats=True).trace()) == []
    assert found(LAYOUT, program(repeats=True, expands=False).trace()) != []


def test_shared_keys_are_fine() -> None:
    assert found(RULE, program(repeats=False).trace()) == []


def test_another_copy_is_no_repetition() -> None:
    assert found(RULE, program(repeats=True, expands=False).trace()) == []


def test_who_needs_all_of_it_gets_it() -> None:
    """Such as a concatenation, which cannot broadcast."""
    assert found(RULE, program(repeats=True, reads="aten::cumsum").trace()) == []
