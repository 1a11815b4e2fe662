"""Element types of lists of tensors, which recordings lack."""

from __future__ import annotations

from tb_privateuse1.analysis.work.list_types import types_by_shape
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace.model import MISSING, Trace
from tests.support import make
from tests.unit.analysis.work.calls import tensor, texts

HALF = "c10::BFloat16"


def trace_of(*others: dict[str, object]) -> Trace:
    """Return a trace that joins two tensors of unknown type after calls with the given ones."""
    calls = [
        make.op("aten::neg", 10 * i, 10 * i + 5, **texts("aten::neg", one))
        for i, one in enumerate(others)
    ]
    join = texts("aten::cat", [tensor(4, 8), tensor(2, 8)], 0)
    return make.trace(*calls, make.op("aten::cat", 500, 510, **join))


def joined_bytes(trace: Trace) -> tuple[int, int]:
    work = operator_work(trace)
    return int(work.read_bytes[-1]), int(work.written_bytes[-1])


def test_a_list_has_the_type_of_the_tensors_of_its_shapes() -> None:
    assert joined_bytes(trace_of(tensor(4, 8, dtype=HALF))) == (96, 96)
    assert joined_bytes(trace_of(tensor(2, 8), tensor(4, 8))) == (192, 192)


def test_a_shape_of_several_types_is_decided_by_the_others() -> None:
    found = trace_of(tensor(4, 8), tensor(4, 8, dtype=HALF), tensor(2, 8))
    assert joined_bytes(found) == (192, 192)


def test_several_types_or_none_leave_it_unknown() -> None:
    for others in ([tensor(4, 8), tensor(4, 8, dtype=HALF)], [tensor(5)]):
        assert joined_bytes(trace_of(*others)) == (MISSING, MISSING)


def test_numbers_do_not_count() -> None:
    assert types_by_shape(trace_of(tensor())) == {}
