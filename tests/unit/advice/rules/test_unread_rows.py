"""Products cut to a few rows, and products that somebody reads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from tb_privateuse1.advice.rules.unread_rows import RULE
from tests.support.program import found
from tests.support.sized import FP32, Input, SizedProgram, full, recorded

BATCH, LENGTH, WIDTH, WORDS = 8, 512, 1024, 8192
ROWS = BATCH * LENGTH
OLD: dict[str, Any] = {"Input Dims": [[BATCH, LENGTH, WORDS], [], []]}
Body = Callable[[SizedProgram], None]


def steps(body: Body) -> SizedProgram:
    run = SizedProgram()
    for _ in range(3):
        with run.step():
            for _ in range(4):
                run.product(ROWS, WIDTH, WIDTH)
                run.run("aten::add", full(ROWS, WIDTH), full(ROWS, WIDTH), "1")
            mix(run)
            body(run)
            run.wait()
    return run


def mix(run: SizedProgram) -> None:
    """Each row needs all rows before: what follows is all that may be needless."""
    run.run("aten::_softmax", full(ROWS, WIDTH), "0", "False")


def scores(run: SizedProgram, rows: int = ROWS) -> None:
    run.product(rows, WIDTH, WORDS)
    flat = recorded(full(rows, WORDS), f"[{BATCH}, {rows // BATCH}, {WORDS}]")
    run.op("aten::_unsafe_view", 1, **flat)


def select(run: SizedProgram, *shape: int, dtype: str = "float", dim: str = "1") -> None:
    run.op("aten::select", 1, **recorded(full(*shape, dtype=dtype), dim, "-1"))


def choose(run: SizedProgram) -> None:
    run.run("aten::argmax", full(BATCH, WORDS), "-1")


def last_row(run: SizedProgram) -> None:
    """The scores of a whole prompt, and the last one's word."""
    scores(run)
    everything = full(BATCH, LENGTH, WORDS)
    run.op("aten::slice", 1, **recorded(everything, "0", "0", "9223372036854775807", "1"))
    select(run, BATCH, LENGTH, WORDS)
    choose(run)


def last_row_first(run: SizedProgram) -> None:
    select(run, BATCH, LENGTH, WIDTH)
    scores(run, BATCH)
    choose(run)


def test_scores_behind_each_token_of_a_prompt() -> None:
    before, after = steps(last_row), steps(last_row_first)
    (row,) = found(RULE, before.trace())
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.2)
    assert found(RULE, after.trace()) == []


def in_float32(run: SizedProgram) -> None:
    """Scores are cast and capped before the last ones are taken."""
    scores(run)
    run.run("aten::copy_", full(ROWS, WORDS, dtype=FP32), full(ROWS, WORDS), "False")
    run.run("aten::mul", full(BATCH, LENGTH, WORDS, dtype=FP32), "0.5")
    run.run("aten::_log_softmax", full(BATCH, LENGTH, WORDS, dtype=FP32), "-1", "False")
    select(run, BATCH, LENGTH, WORDS)
    choose(run)


def test_what_is_done_to_each_row_goes_as_well() -> None:
    (with_cast,), (alone,) = (found(RULE, steps(body).trace()) for body in (in_float32, last_row))
    assert with_cast.saving_ns is not None
    assert alone.saving_ns is not None
    assert with_cast.saving_ns > 1.3 * alone.saving_ns


def one_of_many_columns(run: SizedProgram) -> None:
    """The value of all actions, and one is read: no softmax needs the others."""
    run.product(ROWS, WIDTH, WORDS)
    select(run, ROWS, WORDS)
    run.run("aten::relu", full(ROWS))


def test_columns_count_as_well() -> None:
    assert len(found(RULE, steps(one_of_many_columns).trace())) == 1


QUERIES, KEYS = full(ROWS, WIDTH), full(WORDS, WIDTH)
PAIRS = full(ROWS, WORDS)


def linear(run: SizedProgram, inner: int, outer: int, length: int = LENGTH) -> None:
    run.run("aten::linear", full(BATCH, length, inner), full(outer, inner), full(outer))


def as_large_as_the_weight(run: SizedProgram, *, ahead: bool = True) -> None:
    """The weight of a layer has as many elements as the scores, and is read again later."""
    if ahead:
        linear(run, ROWS, WORDS, 1)
    run.product(ROWS, WIDTH, WORDS)
    select(run, BATCH, LENGTH, WORDS)
    choose(run)
    run.op("aten::embedding", 5, **recorded(full(WORDS, ROWS), full(BATCH, 1, dtype="int64")))
    linear(run, ROWS, WORDS, 1)


def test_a_parameter_of_the_same_size_is_no_reader() -> None:
    """What is made first, and then a layer's weight, may be its result."""
    assert len(found(RULE, steps(as_large_as_the_weight).trace())) == 1
    made = steps(functools.partial(as_large_as_the_weight, ahead=False))
    assert found(RULE, made.trace()) == []


def part(run: SizedProgram, name: str, *inputs: Input, sizes: str, strides: str) -> None:
    """A call that makes a view, or indices that torch applies to one."""
    with run.around(name, 1, **recorded(*inputs)):
        run.op("aten::as_strided", 1, **recorded(inputs[0], sizes, strides, "0"))


def diagonal(run: SizedProgram) -> None:
    run.product(ROWS, WIDTH, ROWS)
    part(
        run, "aten::diagonal", full(ROWS, ROWS), "0", "0", "1",
        sizes=f"[{ROWS}]", strides=f"[{ROWS + 1}]",
    )  # fmt: skip


def traced(run: SizedProgram) -> None:
    run.product(ROWS, WIDTH, ROWS)
    run.run("aten::trace", full(ROWS, ROWS))


def few_rows(run: SizedProgram) -> None:
    """The rows that a mask chooses, as for words to be guessed."""
    run.product(ROWS, WIDTH, WORDS)
    part(run, "aten::index", PAIRS, "", sizes=f"[64, {WORDS}]", strides="[0, 1]")


def gathered(run: SizedProgram) -> None:
    run.product(ROWS, WIDTH, WORDS)
    run.run("aten::gather", PAIRS, "1", full(ROWS, 1, dtype="long int"), "False")


def selected(run: SizedProgram) -> None:
    run.product(ROWS, WIDTH, WORDS)
    run.run("aten::index_select", PAIRS, "0", full(64, dtype="long int"))


def distances(run: SizedProgram) -> None:
    """No product is inside of a sum of absolute differences."""
    run.op("aten::cdist", 5, kernel=3000, **recorded(QUERIES, KEYS, "1."))
    run.run("aten::gather", PAIRS, "1", full(ROWS, 1, dtype="long int"), "False")


@pytest.mark.parametrize("body", [diagonal, traced, few_rows, gathered, selected, distances])
def test_a_part_is_known_by_its_view(body: Body) -> None:
    (row,) = found(RULE, steps(body).trace())
    without = steps(lambda run: run.op("aten::mul", 5, kernel=20, **recorded(QUERIES, QUERIES)))
    whole = 1000 * (steps(body).now - without.now)
    assert row.saving_ns == pytest.approx(whole, rel=0.2)


@pytest.mark.parametrize("inner", [16, 256])
def test_elements_on_their_own_read_more_than_their_product(inner: int) -> None:
    """All pairs of columns; those of two columns are read by number, as columns may be."""

    def pairs(run: SizedProgram) -> None:
        run.run("aten::bmm", full(ROWS, 64, inner), full(ROWS, inner, 64))
        chosen = full(64 * 63 // 2, dtype="long int")
        run.run("aten::index_select", full(ROWS, 64 * 64), "1", chosen)

    def columns(run: SizedProgram) -> None:
        run.product(ROWS, 64, WORDS)
        run.run("aten::index_select", PAIRS, "1", full(WORDS // 4, dtype="long int"))

    assert [len(found(RULE, steps(body).trace())) for body in (pairs, columns)] == [0, 1]


def test_elements_have_another_fix_than_rows() -> None:
    fixes = {found(RULE, steps(body).trace())[0].fix for body in (diagonal, gathered)}
    assert fixes != {found(RULE, steps(few_rows).trace())[0].fix}
    assert len(fixes) == 1


def contrasted(run: SizedProgram) -> None:
    """The diagonal of a softmax: each chance is one of all."""
    run.product(ROWS, WIDTH, ROWS)
    run.run("aten::_log_softmax", full(ROWS, ROWS), "1", "False")
    part(
        run, "aten::diagonal", full(ROWS, ROWS), "0", "0", "1",
        sizes=f"[{ROWS}]", strides=f"[{ROWS + 1}]",
    )  # fmt: skip


def turned(run: SizedProgram) -> None:
    """A view of all elements, which a product reads."""
    run.product(ROWS, WIDTH, ROWS)
    part(
        run, "aten::transpose", full(ROWS, ROWS), "0", "1",
        sizes=f"[{ROWS}, {ROWS}]", strides=f"[1, {ROWS}]",
    )  # fmt: skip
    run.product(ROWS, ROWS, 64)


def unknown_index(run: SizedProgram) -> None:
    """Indices whose view is not recorded."""
    run.product(ROWS, WIDTH, WORDS)
    run.run("aten::index", PAIRS, "")


def all_windows(run: SizedProgram) -> None:
    """Windows that overlap are all elements."""
    run.product(ROWS, WIDTH, WORDS)
    part(
        run, "aten::unfold", PAIRS, "1", "64", "32",
        sizes=f"[{ROWS}, {WORDS // 32 - 1}, 64]", strides=f"[{WORDS}, 32, 1]",
    )  # fmt: skip


def softmax_of_one_column(run: SizedProgram) -> None:
    """A chance is one of all: the softmax needs every column."""
    run.product(ROWS, WIDTH, WORDS)
    run.run("aten::_softmax", full(ROWS, WORDS), "-1", "False")
    select(run, ROWS, WORDS)


def all_scores(run: SizedProgram) -> None:
    """Training: a loss of all rows, and the last one for a log."""
    scores(run)
    run.run("aten::_log_softmax", full(ROWS, WORDS), "-1", "False")
    run.run("aten::nll_loss_forward", full(ROWS, WORDS), full(ROWS))
    select(run, BATCH, LENGTH, WORDS)


def halves(run: SizedProgram) -> None:
    """A gated layer takes both halves; so do queries, keys and values, or bidirectional states."""
    run.product(ROWS, WIDTH, 2 * WIDTH)
    for first in (0, WIDTH):
        cut = recorded(full(ROWS, 2 * WIDTH), "1", str(first), str(first + WIDTH), "1")
        run.op("aten::slice", 1, **cut)
    run.run("aten::mul", full(ROWS, WIDTH), full(ROWS, WIDTH))


def each_row(run: SizedProgram) -> None:
    """A loop over all sequences."""
    scores(run)
    for _ in range(BATCH):
        select(run, BATCH, LENGTH, WORDS, dim="0")


def shifted(run: SizedProgram) -> None:
    """All rows but the last one have a next word."""
    scores(run)
    cut = recorded(full(BATCH, LENGTH, WORDS), "1", "0", "-1", "1")
    run.op("aten::slice", 1, **cut)


def residual(run: SizedProgram) -> None:
    """A sum has another tensor of the same size, which is needed elsewhere."""
    run.product(ROWS, WIDTH, 2 * WIDTH)
    run.run("aten::add", full(ROWS, 2 * WIDTH), full(ROWS, 2 * WIDTH), "1")
    select(run, BATCH, LENGTH, 2 * WIDTH)
    run.run("aten::sum", full(ROWS, 2 * WIDTH))


def kept_for_later(run: SizedProgram) -> None:
    """The last scores choose the word; all of them are joined to those of before."""
    last_row(run)
    run.run("aten::cat", [full(BATCH, LENGTH, WORDS), full(BATCH, LENGTH, WORDS)], "1")


def unknown_dimension(run: SizedProgram) -> None:
    """Old recordings have no values."""
    scores(run)
    run.op("aten::select", 1, **OLD)


@pytest.mark.parametrize(
    "body",
    [
        softmax_of_one_column,
        all_scores,
        halves,
        each_row,
        shifted,
        residual,
        kept_for_later,
        unknown_dimension,
        contrasted,
        turned,
        unknown_index,
        all_windows,
    ],
)
def test_results_that_are_needed(body: Body) -> None:
    assert found(RULE, steps(body).trace()) == []
