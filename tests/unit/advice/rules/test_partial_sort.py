"""Sorts for a few elements, and orders that are needed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.partial_sort import RULE
from tests.support.program import found
from tests.support.sized import FP32, Input, SizedProgram, full, recorded

BATCH, WORDS = 64, 32_768
SCORES, ORDER = full(BATCH, WORDS, dtype=FP32), full(BATCH, WORDS, dtype="long int")
MASK, ONE = full(BATCH, WORDS, dtype="bool"), full(BATCH, 1, dtype="long int")
Body = Callable[[SizedProgram], None]


def run_of(name: str, *inputs: Input, us: float, device: bool = True) -> Body:
    def body(run: SizedProgram) -> None:
        run.op(name, 5 if device else us, kernel=us if device else 0, **recorded(*inputs))

    return body


def program(*bodies: Body, device: bool = True) -> SizedProgram:
    run = SizedProgram()
    for _ in range(3):
        with run.step():
            run_of("aten::mm", full(BATCH, 32), full(32, WORDS), us=100, device=device)(run)
            for body in bodies:
                body(run)
            if device:
                run.wait()
            run.rest(2)
    return run


SORT = run_of("aten::sort", SCORES, "-1", "True", us=1500)
SOFTMAX = run_of("aten::softmax", SCORES, "-1", "", us=100)
SUMS = run_of("aten::cumsum", SCORES, "-1", "", us=100)
LIMIT = run_of("aten::gt", SCORES, "0.9", us=50)
FILL = run_of("aten::masked_fill", SCORES, MASK, "0", us=100)
SAMPLE = run_of("aten::multinomial", SCORES, "1", "False", "", us=200)
LOOK_UP = run_of("aten::gather", ORDER, "1", ONE, "False", us=5)
PUT_BACK = run_of("aten::scatter", MASK, "1", ORDER, MASK, us=100)
TOP = run_of("aten::slice", ORDER, "1", "0", "100", "1", us=0)
ALL_ROWS = run_of("aten::slice", ORDER, "0", "0", "9223372036854775807", "1", us=0)
LIKELY = (SOFTMAX, SUMS, LIMIT, FILL, SAMPLE)


@pytest.mark.parametrize(
    "bodies",
    [
        (SORT, *LIKELY, LOOK_UP),  # top-p over the sorted scores
        (SORT, SOFTMAX, SUMS, LIMIT, PUT_BACK, FILL, SOFTMAX, SAMPLE),  # as transformers has it
        (SORT, ALL_ROWS, TOP),  # the first hundred
        (SORT, run_of("aten::select", SCORES, "1", "31129", us=0)),  # a quantile
        (run_of("aten::argsort", SCORES, "-1", "True", us=1500), TOP),
    ],
)
def test_sorts_for_a_few_elements(bodies: tuple[Body, ...]) -> None:
    (row,) = found(RULE, program(*bodies).trace())
    assert row.saving_share is not None
    assert 0.3 < row.saving_share < 0.9
    assert row.title.startswith("1 sort a step")


def test_the_work_between_becomes_shorter_too() -> None:
    (whole,) = found(RULE, program(SORT, *LIKELY, LOOK_UP).trace())
    (alone,) = found(RULE, program(SORT, PUT_BACK).trace())
    assert whole.saving_ns is not None
    assert alone.saving_ns is not None
    assert alone.saving_ns == pytest.approx(3 * 1_500_000 * (1 - 3 / 15), rel=0.05)
    assert whole.saving_ns - alone.saving_ns == pytest.approx(3 * 550_000 * 7 / 8, rel=0.1)


def test_a_sort_without_a_device() -> None:
    (row,) = found(
        RULE,
        program(
            run_of("aten::sort", SCORES, "-1", "True", us=9000, device=False),
            run_of("aten::multinomial", SCORES, "1", "False", "", us=900, device=False),
            run_of("aten::gather", ORDER, "1", ONE, "False", us=5, device=False),
            device=False,
        ).trace(),
    )
    assert row.saving_share is not None
    assert row.saving_share > 0.6


BOXES = run_of("aten::index", full(BATCH * WORDS, 4), ORDER, us=50)
LABELS = run_of("aten::gather", SCORES, "1", ORDER, "False", us=50)


@pytest.mark.parametrize(
    "bodies",
    [
        (SORT, BOXES),  # suppression of boxes, edges of a graph, tokens of experts
        (SORT, LABELS, SUMS),  # a loss or a metric over all ranks
        (SORT, SOFTMAX, SUMS),  # a distribution: who reads the order is not known
        (SORT, TOP, BOXES),  # a few for a log, and all
        (SORT, run_of("aten::scatter", SCORES, "1", ORDER, SCORES, us=50)),  # ranks
        (SORT,),
        (run_of("aten::topk", SCORES, "100", us=300), SOFTMAX, LOOK_UP),
        (run_of("aten::sort", full(BATCH, 64), "-1", us=300),),
    ],
)
def test_orders_that_are_needed(bodies: tuple[Body, ...]) -> None:
    assert found(RULE, program(*bodies).trace()) == []
