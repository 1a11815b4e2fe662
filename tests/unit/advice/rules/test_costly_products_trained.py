"""Products in a costly form, with the gradients that go and those that stay."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.advice.rules.costly_products import RULE
from tests.support.autograd import ENGINE, TrainingProgram, steps
from tests.support.program import found
from tests.support.sized import matrix, recorded

TABLE, ROWS, SUMS = matrix(5000, 64), matrix(32, 200, 64), matrix(32, 64)
WORK_US, ADDED_US = 1000, 800


def summed_lookup(run: TrainingProgram, *, added_us: float = 0) -> None:
    """Look rows up and add them up; their table's gradient is added to that of another lookup."""
    words = ((32, 200), "long int")
    looked, summed = (dict[str, Any]({"Sequence number": number}) for number in (1, 2))
    back = [{**one, "Fwd thread id": 1} for one in (looked, summed)]
    run.product(4096, 1024, 1024)
    run.op("aten::embedding", 5, kernel=WORK_US, **recorded(TABLE, words), **looked)
    run.op("aten::sum", 5, kernel=WORK_US, **recorded(ROWS, "[1]", "False"), **summed)
    with run.around(f"{ENGINE}SumBackward1", **back[1]), run.around("SumBackward1", **back[1]):
        run.op("aten::div", 5, kernel=WORK_US, **recorded(ROWS, "200"))
    with run.around(f"{ENGINE}EmbeddingBackward0", **back[0]):
        with run.around("EmbeddingBackward0", **back[0]):
            name = "aten::embedding_dense_backward"
            run.op(name, 5, kernel=WORK_US, **recorded(ROWS, words, "5000", "-1", "False"))
        if added_us:
            run.op("aten::add", 5, kernel=added_us, **recorded(TABLE, TABLE, "1"))


def test_gradients_of_two_readers_are_still_added() -> None:
    """The table's gradient has the same size in the other form, and another reader's beside it."""
    alone = steps(summed_lookup)
    beside = steps(lambda run: summed_lookup(run, added_us=ADDED_US))
    (one,), (other,) = (found(RULE, run.trace()) for run in (alone, beside))
    assert one.saving_ns == pytest.approx(4000 * 3 * WORK_US, rel=0.03)
    assert other.saving_ns == pytest.approx(one.saving_ns, rel=0.01)
