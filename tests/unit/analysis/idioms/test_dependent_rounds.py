"""Which loops over items carry a state from round to round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tb_privateuse1.analysis.idioms.independent_rounds import independent_rounds
from tests.support.sized import FP32, SizedProgram, Tensor, full, recorded

ITEMS, WIDTH = 16, 64
ALL, ROW, COLUMN = (full(*shape, dtype=FP32) for shape in ((ITEMS, WIDTH), (WIDTH,), (ITEMS,)))
MASK = full(ITEMS, dtype="bool")
SQUARE, SIDE = full(64, 64, dtype=FP32), full(64, dtype=FP32)


def independent(body: Callable[[SizedProgram], None]) -> list[bool]:
    """Whether each loop of a step needs no round of its own."""
    run = SizedProgram()
    for _ in range(2):
        with run.step():
            run.rest(1)
            run.run("aten::relu", ALL)
            body(run)
            run.rest(1)
    trace = run.trace()
    ops = trace.ops
    top = np.flatnonzero((ops.parent < 0) | np.isin(ops.parent, np.flatnonzero(ops.kind != 0)))
    named = [trace.text(name).startswith("aten::") for name in ops.name[top]]
    found = independent_rounds(trace, top[named])
    return found.independent.tolist()


def item(run: SizedProgram, index: int, tensor: Tensor = ALL) -> None:
    run.op("aten::select", 1, **recorded(tensor, "0", str(index)))


def anchors(run: SizedProgram) -> None:
    """Each item with all of them; a mask is read twice, and a number is copied inside of a sum."""
    for i in range(ITEMS):
        item(run, i)
        run.run("aten::sub", ALL, ROW, "1")
        run.run("aten::pow", ALL, "2")
        run.run("aten::sum", ALL, "[1]", "False", "")
        run.run("aten::eq", COLUMN, "1")
        run.run("aten::any", MASK)
        run.run("aten::bitwise_not", MASK)
        run.run("aten::any", MASK)
        with run.around("aten::add", **recorded(full(dtype=FP32), full(dtype=FP32), "1")):
            run.run("aten::copy_", full(dtype=FP32), full(dtype=FP32), "False")


def test_rounds_that_read_all_items_and_a_result_twice_need_no_other() -> None:
    assert independent(anchors) == [True, True]


def shortest_paths(run: SizedProgram) -> None:
    """All paths by way of one more place: each round reads what the one before has written."""
    for i in range(64):
        item(run, i, SQUARE)
        run.run("aten::add", SIDE, "1", "1")
        run.run("aten::minimum", SQUARE, SIDE)


def checked_paths(run: SizedProgram) -> None:
    """The same, and each round asks whether anything has changed: it reads old and new paths."""
    for i in range(64):
        item(run, i, SQUARE)
        run.run("aten::add", SIDE, "1", "1")
        run.run("aten::minimum", SQUARE, SIDE)
        run.run("aten::ne", SQUARE, SQUARE)
        run.run("aten::any", full(64, 64, dtype="bool"))


def cell(run: SizedProgram) -> None:
    """What a round reads is an item and a state of its size; a head reads the new state."""
    for i in range(ITEMS):
        item(run, i)
        run.run("aten::mul", ROW, "2")
        run.run("aten::tanh", ROW)
        run.run("aten::add", ROW, ROW, "1")
        run.run("aten::mean", ROW, "")


def recurrent(run: SizedProgram) -> None:
    run.run("aten::zeros_like", ROW)
    cell(run)


def cut_off(run: SizedProgram) -> None:
    """The state of the step before, of which a view is taken."""
    run.op("aten::detach", 1, **recorded(ROW))
    cell(run)


def converted(run: SizedProgram) -> None:
    """Each item is converted by the program, and a round changes what is left."""
    for i in range(ITEMS):
        item(run, i)
        with run.around("aten::to", **recorded(ROW, "6", "False", "True")):
            run.run("aten::copy_", ROW, ROW, "False")
        run.run("aten::add_", ROW, ROW, "1")


@pytest.mark.parametrize("body", [shortest_paths, checked_paths, recurrent, cut_off, converted])
def test_a_state_is_carried_on(body: Callable[[SizedProgram], None]) -> None:
    assert independent(body) == [False, False]
