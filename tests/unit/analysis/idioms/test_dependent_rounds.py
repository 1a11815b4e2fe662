"""Which loops over items carry a state from round to round."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

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


FOUND, AS_FOUND = full(16, 16, dtype="long int"), full(16, 16, dtype="bool")


def pictures(run: SizedProgram, *, keeps: bool = False) -> None:
    """A metric by picture and class, of two tensors in turn: a sum casts its truth values.

    Or each class is what the one before has kept in whole numbers.
    """
    run.run("aten::mul", FOUND, FOUND)
    for _ in range(2):
        run.op("aten::unbind", 1, **recorded(full(8, 16, 16, dtype="long int"), "0"))
    for _ in range(8):
        for kind in range(5):
            for _ in range(2):
                run.run("aten::eq", FOUND, str(kind))
            run.run("aten::__and__", AS_FOUND, AS_FOUND)
            with run.around("aten::to" if keeps else "aten::sum", **recorded(AS_FOUND, "")):
                run.run("aten::copy_", FOUND, AS_FOUND, "False")
                if not keeps:
                    run.run("aten::fill_", full(dtype="long int"), "0")
    run.run("aten::mean", full(8, 5, dtype=FP32), "[0]", "False", "")


def test_parts_of_two_tensors_are_the_items_of_one_loop() -> None:
    """Its rounds are the outer ones, though the inner ones are as equal."""
    assert independent(pictures) == [True, True]
    assert independent(partial(pictures, keeps=True)) == [False, False]


def masked_cells(run: SizedProgram) -> None:
    """A cell that keeps its state where a sequence has ended: inputs and masks in turn."""
    run.op("aten::unbind", 1, **recorded(full(8, 4, 64, dtype=FP32), "0"))
    run.op("aten::unbind", 1, **recorded(full(8, 4, 1, dtype="bool"), "0"))
    state = full(4, 64, dtype=FP32)
    for _ in range(8):
        run.run("aten::add", state, state, "1")
        run.run("aten::tanh", state)
        run.run("aten::where", full(4, 1, dtype="bool"), state, state)
    run.run("aten::mean", state, "[0]", "False", "")


def test_a_state_between_parts_of_two_tensors_is_needed() -> None:
    assert independent(masked_cells) == [False, False]


def on_the_host(run: SizedProgram, *, carries: bool) -> None:
    """Beside a device, a loop over a tensor on the host: it launches nothing."""
    for i in range(ITEMS):
        item(run, i)
        run.op("aten::mul", 5, **recorded(ROW, "0.9"))
        if carries:
            run.op("aten::add", 5, **recorded(ROW, ROW, "1"))


@pytest.mark.parametrize("carries", [True, False])
def test_a_loop_that_launches_nothing_is_judged_by_its_operators(carries: bool) -> None:
    assert independent(partial(on_the_host, carries=carries)) == [not carries] * 2


SCORES, ALONE, CHANGES = (full(*shape, dtype=FP32) for shape in ((12, 9), (12, 1, 9), (9, 9)))


def log_of_sums(run: SizedProgram, *shape: int) -> None:
    """Run torch's operator: it reads its input and its largest values twice, and fills results."""
    scores, sums = full(*shape, dtype=FP32), full(*shape[:-1], dtype=FP32)
    column = full(*shape[:-1], 1, dtype=FP32)
    with run.around("aten::logsumexp", **recorded(scores, "[-1]", "False")):
        with run.around("aten::amax", 5, **recorded(scores, "[-1]", "True")):
            run.op("aten::fill_", 5, **recorded(column, "-inf"))
        run.op("aten::abs", 5, **recorded(sums))
        run.op("aten::masked_fill_", 5, **recorded(sums, full(*shape[:-1], dtype="bool"), "0"))
        run.op("aten::sub", 5, **recorded(scores, column, "1"))
        run.op("aten::exp_", 5, **recorded(scores))
        with run.around("aten::sum", 5, **recorded(scores, "[-1]", "False", "")):
            run.op("aten::fill_", 5, **recorded(column, "0."))
        run.op("aten::log_", 5, **recorded(sums))
        run.op("aten::add_", 5, **recorded(sums, sums, "1"))


def tagged_words(run: SizedProgram) -> None:
    """Each word needs the sums of the one before, and has a part of its own."""
    run.op("aten::unbind", 1, **recorded(full(13, 12, 9, dtype=FP32), "0"))
    for _ in range(13):
        run.op("aten::add", 5, **recorded(ALONE, CHANGES, "1"))
        log_of_sums(run, 12, 9, 9)
        run.op("aten::add", 5, **recorded(SCORES, SCORES, "1"))
    run.op("aten::mean", 5, **recorded(SCORES, "[1]", "False", ""))


def test_what_a_sum_is_filled_with_is_its_result() -> None:
    assert independent(tagged_words) == [False, False]


def words_by_tag(run: SizedProgram, *, carries: bool = False, widens: bool = True) -> None:
    """Each word needs the one before, but its tags need no other; or each tag keeps a sum."""
    one = full(9, dtype=FP32)
    sums, column = full(12, dtype=FP32), full(12, 1, dtype=FP32)
    run.op("aten::unbind", 1, **recorded(full(13, 12, 9, dtype=FP32), "0"))
    for _ in range(13):
        for tag in range(9):
            run.op("aten::select", 1, **recorded(CHANGES, "0", str(tag)))
            run.op("aten::add", 5, **recorded(SCORES, one, "1"))
            run.op("aten::select", 1, **recorded(SCORES, "1", str(tag)))
            run.op("aten::unsqueeze", 1, **recorded(sums, "1"))
            if widens:
                run.op("aten::expand", 1, **recorded(column, "[-1, 9]", "False"))
            run.op("aten::add", 5, **recorded(SCORES, SCORES, "1"))
            log_of_sums(run, 12, 9)
            if carries:
                run.op("aten::add", 5, **recorded(sums, sums, "1"))
            run.op("aten::unsqueeze", 1, **recorded(sums, "1"))
        run.op("aten::cat", 5, **recorded([column] * 9, "1"))
    run.op("aten::mean", 5, **recorded(SCORES, "[1]", "False", ""))


def test_rounds_inside_of_rounds_that_need_each_other_may_need_none() -> None:
    """An operator reads its input in two parts, and a place is repeated for a view."""
    assert independent(words_by_tag) == [False, *[True] * 13] * 2


def test_inner_rounds_may_need_each_other_too() -> None:
    assert not any(independent(partial(words_by_tag, carries=True)))


def test_a_second_input_that_nothing_explains_may_be_a_state() -> None:
    """Two whole tensors are added, and no place is repeated: one may be of the round before."""
    assert not any(independent(partial(words_by_tag, widens=False)))


def cells_in_parts(run: SizedProgram) -> None:
    """A cell of torch reads an item, and its state in another part."""
    for i in range(ITEMS):
        item(run, i)
        with run.around("aten::gru_cell", **recorded(ROW, ROW)):
            run.op("aten::sigmoid", 5, **recorded(ROW))
            run.op("aten::mul", 5, **recorded(ROW, ROW))


def test_a_part_may_read_the_state_alone() -> None:
    assert independent(cells_in_parts) == [False, False]


TAGS, WORDS = full(12, 9, dtype=FP32), full(14, 12, 9, dtype=FP32)


def tagged(run: SizedProgram, *, carries: bool) -> None:
    """Scores of words; each with those of the words before, or without."""
    run.op("aten::unbind", 1, **recorded(WORDS, "0"))
    for _ in range(14):
        run.op("aten::unsqueeze", 1, **recorded(TAGS, "1"))
        run.run("aten::add", full(12, 1, 9, dtype=FP32), CHANGES, "1")
        log_of_sums(run, 12, 9, 9)
        if carries:
            run.run("aten::add", TAGS, TAGS, "1")


@pytest.mark.parametrize("carries", [True, False])
def test_what_an_operator_makes_inside_is_no_state(carries: bool) -> None:
    assert independent(partial(tagged, carries=carries)) == [not carries] * 2


def cell_of_two_states(run: SizedProgram) -> None:
    """Its states are a list, whose types no profiler records."""
    state = full(16, 128, dtype=FP32)
    run.op("aten::unbind", 1, **recorded(full(8, 16, 128, dtype=FP32), "0"))
    for _ in range(8):
        with run.around("aten::lstm_cell", **recorded(state, [state, state])):
            run.run("aten::mul", state, state)
            run.run("aten::add_", state, state, "1")
            run.run("aten::tanh", state)
            run.run("aten::mul", state, state)


def test_states_in_a_list_are_carried_on() -> None:
    assert independent(cell_of_two_states) == [False, False]
