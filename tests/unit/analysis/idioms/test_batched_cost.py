"""The gradients of a loop, which one operator for all rounds computes as well."""

from typing import Any

import numpy as np

from tb_privateuse1.analysis.idioms.batched_cost import Ranges, gradients_of
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.model import Trace
from tests.support.autograd import ENGINE
from tests.support.program import Program

ROUNDS = 3
ADDS = f"{ENGINE}torch::autograd::AccumulateGrad"


def sequence(number: int, thread: int = 0) -> dict[str, Any]:
    """The numbers by which a gradient finds its operator."""
    return {"Sequence number": number, "Fwd thread id": thread}


def looked_up(*, foreign: bool = False) -> Trace:
    """A lookup in each round, and their gradients, each with an accumulation behind it."""
    run = Program()
    for number in range(ROUNDS):
        run.op("aten::embedding", 10, **sequence(number))
    run.op("aten::cat", 10, **sequence(ROUNDS))
    for number in range(ROUNDS)[::-1]:
        run.op(f"{ENGINE}EmbeddingBackward0", 10, **sequence(number, thread=1))
        run.op(ADDS, 4)
        run.rest(1)
        if foreign:
            run.op("aten::add_", 5)
    run.op(f"{ENGINE}CatBackward0", 10, **sequence(ROUNDS, thread=1))
    return run.trace()


def gradients(trace: Trace) -> Ranges:
    """The ranges of the gradients of the loop over all lookups."""
    ops = trace.ops
    first, last = (ops.start_ns.min(), ops.start_ns.min() + ROUNDS * 10_000)
    loop = Ranges(
        thread=ops.thread[:1],
        start_ns=np.array([first]),
        end_ns=np.array([last]),
        independent=np.ones(1, np.bool_),
    )
    top = np.flatnonzero(groupby.outermost_operators(ops))
    top = top[np.lexsort((ops.start_ns[top], ops.thread[top]))]
    return gradients_of(trace, top, loop)[0]


def test_accumulations_between_gradients_of_a_loop_go_with_it() -> None:
    """The last one stays: one tensor for all rounds has it as well."""
    ranges = gradients(looked_up())
    assert (ranges.end_ns - ranges.start_ns).tolist() == [40_000]


def test_another_operator_between_gradients_parts_them() -> None:
    ranges = gradients(looked_up(foreign=True))
    assert (ranges.end_ns - ranges.start_ns).tolist() == [10_000] * ROUNDS
