"""Tensors that torch makes from lists, and from arrays and numbers."""

from __future__ import annotations

import pytest

from tb_privateuse1.advice.rules.listed_tensors import RULE
from tests.support.program import Program, found
from tests.support.sized import full, recorded, unshaped

LONG = full(64, dtype="long int")
READING_US, CALLS = 20, 30


def tensor(run: Program, size: str = "[64]", reading_us: float = READING_US) -> None:
    """``torch.tensor`` of a list: it reads the list between two of its operators."""
    run.op("aten::empty", 1, **recorded(size, "4", "0", "", "False", ""))
    run.rest(reading_us)
    run.op("aten::to", 1, **recorded(LONG, "", "", "4", "False", "False", ""))
    run.op("aten::lift_fresh", 1, **recorded(LONG))


def program(
    *,
    size: str = "[64]",
    reads: bool = True,
    framed: bool = False,
    reading_us: float = READING_US,
) -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=50, **recorded(full(64, 64), full(64, 64)))
            for _ in range(CALLS):
                if not reads:
                    run.op("aten::to", 1, **recorded(LONG, "", "", "4", "False", "False", ""))
                    run.op("aten::lift_fresh", 1, **recorded(LONG))
                elif framed:
                    with run.frame("<built-in method tensor of type object at 0x7f>"):
                        run.rest(READING_US)
                        tensor(run, size)
                else:
                    tensor(run, size, reading_us)
            run.rest(100)
            run.wait()
    return run


def test_lists_are_read_while_the_device_waits() -> None:
    (row,) = found(RULE, program().trace())
    assert row.events == 3 * CALLS
    assert row.saving_ns == pytest.approx(3000 * CALLS * (READING_US + 3), rel=0.1)


def test_a_frame_has_the_search_for_the_type_as_well() -> None:
    (row,) = found(RULE, program(framed=True).trace())
    assert row.saving_ns == pytest.approx(3000 * CALLS * (2 * READING_US + 3), rel=0.1)


def test_numbers_and_arrays_are_no_lists() -> None:
    assert found(RULE, program(size="[]").trace()) == []
    assert found(RULE, program(reads=False).trace()) == []


def test_without_shapes_a_list_takes_far_longer_to_read_than_a_number() -> None:
    (row,) = found(RULE, unshaped(program(reading_us=60)))
    assert row.events == 3 * CALLS
    assert row.saving_ns == pytest.approx(3000 * CALLS * 63, rel=0.1)
    assert "input shapes (record_shapes=True)" in row.lacks
    assert found(RULE, unshaped(program(size="[]", reading_us=3))) == []
    assert found(RULE, unshaped(program(reads=False))) == []


def test_without_shapes_a_number_that_is_held_up_is_no_list() -> None:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=50, **recorded(full(64, 64), full(64, 64)))
            tensor(run, "[]", 500)
            for _ in range(CALLS):
                tensor(run, "[]", 1)
            run.wait()
    assert found(RULE, unshaped(run)) == []
