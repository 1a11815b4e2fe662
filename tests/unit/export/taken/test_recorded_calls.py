"""Recorded calls: which ones can run alone, and with which times and work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_privateuse1.export.taken.recorded_calls import (
    ListInput,
    RecordedCall,
    TensorInput,
    ValueInput,
    call_of,
    most_time,
)
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tests.support import make

MM = {
    "Input Dims": [[4, 8], [8, 2]],
    "Input type": ["float", "float"],
    "Input Strides": [[8, 1], [1, 8]],
    "Concrete Inputs": ["", ""],
}
CAT = {
    "Input Dims": [[[4, 8], [4, 8]], []],
    "Input type": ["TensorList", "Scalar"],
    "Concrete Inputs": ["", "1"],
}


def op(name: str, start: float, end: float, **args: Any) -> dict[str, Any]:
    event = make.op(name, start, end)
    event["args"] |= args
    return event


def everything(trace: Trace, count: int = 10, name: str | None = None) -> list[RecordedCall]:
    return most_time(trace, np.ones(len(trace.ops), np.bool_), count, name)


def test_equal_calls_are_one_with_medians() -> None:
    trace = make.trace(
        op("aten::mm", 0, 10, **MM), op("aten::mm", 20, 50, **MM), op("aten::mm", 60, 80, **MM)
    )
    (call,) = everything(trace)
    assert call.operator == "aten::mm"
    assert call.inputs == (
        TensorInput((4, 8), (8, 1), "float32"),
        TensorInput((8, 2), (1, 8), "float32"),
    )
    assert (call.recorded.calls, call.recorded.host_ns) == (3, 20_000)
    assert call.recorded.device_ns is None
    assert call.recorded.name == "CPU"
    assert call.work.flops == 2 * 4 * 8 * 2
    assert call == call_of(trace, 1)


def test_device_time_is_of_all_activities_inside() -> None:
    linear = {**make.op("aten::linear", 0, 30, id=1)}
    linear["args"] |= MM
    trace = make.trace(
        linear,
        make.op("aten::mm", 2, 20, id=2),
        make.launch(3, 4, correlation=5),
        make.kernel("gemm", 20, 50, correlation=5),
        make.launch(6, 7, correlation=6),
        make.kernel("split_k", 50, 60, correlation=6),
    )
    call = call_of(trace, 0)
    assert call.recorded.device_ns == 40_000
    assert call.recorded.device_bound_ns == 0
    assert call.recorded.timeline == "measured"


def test_lists_take_the_type_of_their_shapes() -> None:
    trace = make.trace(op("aten::mm", 0, 1, **MM), op("aten::cat", 2, 9, **CAT))
    call = everything(trace)[0]
    assert call.inputs == (ListInput(((4, 8), (4, 8)), ("float32", "float32")), ValueInput("1"))


def test_of_a_name_and_at_most_so_many() -> None:
    trace = make.trace(op("aten::mm", 0, 1, **MM), op("aten::cat", 2, 9, **CAT))
    assert [one.operator for one in everything(trace, 1)] == ["aten::cat"]
    assert [one.operator for one in everything(trace, name="aten::mm")] == ["aten::mm"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("MmBackward0", "torch has no such operator"),
        ("a::b c", "torch has no such operator"),
        ("c10d::allreduce_", "it needs its other ranks"),
        ("record_param_comms", "it needs its other ranks"),
        ("aten::_copy_from", "it is a part of another operator"),
    ],
)
def test_what_torch_cannot_call_alone_is_refused(name: str, why: str) -> None:
    trace = make.trace(op(name, 0, 1, **MM))
    assert everything(trace) == []
    with pytest.raises(TraceError) as error:
        call_of(trace, 0)
    assert error.value.code == "not_runnable"
    assert str(error.value.message) == f"{name} cannot run alone: {why}."


def test_no_other_recording_has_what_an_operator_does_not_take() -> None:
    none = {"Input Dims": [[], []], "Input type": ["ScalarList", "Scalar"]}
    with pytest.raises(TraceError) as error:
        call_of(make.trace(op("aten::empty", 0, 1, **none)), 0)
    assert str(error.value.message) == "aten::empty takes no tensors."
    with pytest.raises(TraceError) as error:
        call_of(make.trace(op("aten::cat", 0, 1, **{**CAT, "Input Dims": [[[3, 3]], []]})), 0)
    assert error.value.hint is None


def test_inputs_must_have_been_recorded() -> None:
    untyped = {**CAT, "Input Dims": [[[3, 3]], []]}
    for args in ({}, untyped, {**MM, "Input Dims": "damaged"}):
        trace = make.trace(op("aten::cat", 0, 1, **args))
        assert everything(trace) == []
        with pytest.raises(TraceError) as error:
            call_of(trace, 0)
        assert error.value.code == "not_runnable"


def test_a_row_that_is_not_there() -> None:
    with pytest.raises(TraceError) as error:
        call_of(make.trace(op("aten::mm", 0, 1, **MM)), 7)
    assert error.value.code == "bad_option"


@pytest.mark.parametrize(("name", "counts"), [("aten::mul_", [1, 2]), ("aten::pow", [1, 1, 1])])
def test_calls_that_differ_in_a_factor_are_one(name: str, counts: list[int]) -> None:
    """The bias correction of an optimizer is another number in each step; an exponent counts."""
    inputs = {"Input Dims": [[4], []], "Input type": ["float", "Scalar"]}
    texts = ["-0.001", "-1.5e-05", "2"]
    calls = [
        op(name, 100 * n, 100 * n + 10 * (n + 1), **inputs, **{"Concrete Inputs": ["", text]})
        for n, text in enumerate(texts)
    ]
    found = sorted(everything(make.trace(*calls)), key=lambda call: call.recorded.calls)
    assert [call.recorded.calls for call in found] == counts
    if name == "aten::mul_":
        assert (found[1].recorded.host_ns, found[1].recorded.host_least_ns) == (15_000, 10_000)
