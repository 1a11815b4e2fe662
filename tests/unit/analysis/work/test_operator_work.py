"""FLOPs and bytes of operators: one of several nested ones does the work."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace.groupby import with_descendants
from tb_privateuse1.trace.model import MISSING, Trace
from tests.support import make
from tests.unit.analysis.work.calls import tensor, texts

A, B, OUT = tensor(4, 8), tensor(8, 6), tensor(4, 6)
PRODUCT = 2 * 4 * 8 * 6


def op(name: str, start: float, end: float, *inputs: object, **args: Any) -> make.Event:
    return make.op(name, start, end, **texts(name, *inputs), **args)


def own_flops(trace: Trace) -> dict[str, int]:
    work = operator_work(trace)
    rows = np.flatnonzero(work.known)
    return {trace.text(trace.ops.name[row]): int(work.flops[row]) for row in rows}


def test_the_innermost_operator_does_the_work() -> None:
    trace = make.trace(
        op("aten::linear", 0, 20, A, tensor(6, 8)),
        op("aten::addmm", 1, 19, tensor(6), A, B, 1, 1),
    )
    assert own_flops(trace) == {"aten::addmm": PRODUCT}
    total = with_descendants(trace.ops.parent, np.maximum(operator_work(trace).flops, 0))
    assert total.tolist() == [PRODUCT, PRODUCT]


def test_lighter_work_inside_is_further_work() -> None:
    trace = make.trace(op("aten::mm", 0, 20, A, B), op("aten::copy_", 1, 9, A, A, False))
    assert own_flops(trace) == {"aten::mm": PRODUCT, "aten::copy_": 0}


def test_work_without_inputs_inside_is_that_of_the_operator_around() -> None:
    trace = make.trace(op("aten::mm", 0, 20, A, B), make.op("aten::mm", 1, 9))
    assert own_flops(trace) == {"aten::mm": PRODUCT}
    assert operator_work(trace).known.tolist() == [True, False]


def test_what_launches_itself_works_besides_what_it_calls() -> None:
    outer = op("aten::mean", 0, 20, A, [1], False, None, id=1)
    inner = op("aten::div_", 10, 19, tensor(4), 8.0, id=2)
    assert own_flops(make.trace(outer, inner)) == {"aten::div_": 4}
    launched = make.trace(
        outer, inner, make.launch(1, 2, correlation=1), make.kernel("k", 3, 4, correlation=1)
    )
    assert own_flops(launched) == {"aten::mean": 32, "aten::div_": 4}


def test_annotations_and_unknown_names_have_none() -> None:
    trace = make.trace(
        make.annotation("aten::mm", 0, 9, **texts("aten::mm", A, B)), op("aten::view", 10, 11, A)
    )
    work = operator_work(trace)
    assert not work.known.any()
    assert (work.flops == MISSING).all()


def test_equal_calls_have_equal_work() -> None:
    calls = [op("aten::mm", 10 * i, 10 * i + 5, A, B if i % 2 else tensor(8, 3)) for i in range(9)]
    assert operator_work(make.trace(*calls)).flops.tolist() == [
        PRODUCT if i % 2 else PRODUCT // 2 for i in range(9)
    ]


def test_a_trace_may_be_empty() -> None:
    assert len(operator_work(make.trace())) == 0
