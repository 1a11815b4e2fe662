"""FLOPs and bytes of convolutions and their gradients."""

from __future__ import annotations

from typing import Any

from tb_privateuse1.analysis.work import operator_work
from tests.support import make
from tests.unit.analysis.work.calls import flops, moved, tensor, texts, work

X, W, OUT = tensor(2, 4, 8, 8), tensor(6, 4, 3, 3), tensor(2, 6, 4, 4)
ONCE = 2 * 2 * 16 * 6 * 4 * 9


def test_libraries_have_the_padding_first() -> None:
    assert flops("aten::cudnn_convolution", X, W, [1, 1], [2, 2], [1, 1], 1) == ONCE
    assert flops("aten::miopen_convolution", X, W, None, [1, 1], [2, 2], [1, 1], 1) == ONCE


def test_the_output_mask_decides_what_is_computed() -> None:
    rest = ([0], [2, 2], [1, 1], [1, 1], False, [0, 0], 1)
    name = "aten::convolution_backward"
    assert flops(name, OUT, X, W, *rest, [True, True, False]) == 2 * ONCE
    assert flops(name, OUT, X, W, *rest, [False, True, True]) == ONCE
    read = 4 * (2 * 6 * 16 + 2 * 4 * 64 + 216)
    assert moved(name, OUT, X, W, *rest, [False, True, True]) == (read, 4 * (216 + 6))


def test_sizes_that_do_not_fit_are_unknown() -> None:
    assert work("aten::cudnn_convolution", X, W, [1, 1], [0, 0], [1, 1], 1) is None
    assert work("aten::cudnn_convolution", X, tensor(6, 4, 20, 20), [0], [1], [1], 1) is None
    assert work("aten::convolution", X, tensor(6), None, [1], [0], [1], False, [0], 1) is None


def old(name: str, start: float, end: float, *inputs: object, **args: Any) -> make.Event:
    """An operator of torch 1.8, which recorded shapes without values."""
    recorded = texts(name, *inputs)
    del recorded["Concrete Inputs"]
    return make.op(name, start, end, **recorded, **args)


def test_without_values_forward_and_backward_complete_each_other() -> None:
    trace = make.trace(
        old("aten::conv2d", 0, 9, X, W),
        old("aten::cudnn_convolution", 1, 8, X, W),
        old("aten::cudnn_convolution_backward", 21, 39, X, OUT, W),
        old("aten::cudnn_convolution_backward_input", 22, 28, [], OUT, W),
        old("aten::cudnn_convolution_backward_weight", 30, 38, [], OUT, X),
    )
    found = operator_work.operator_work(trace)
    names = [trace.text(name) for name in trace.ops.name]
    flops_of = {n: f for n, f, own in zip(names, found.flops, found.known, strict=True) if own}
    assert flops_of == {
        "aten::cudnn_convolution": ONCE,
        "aten::cudnn_convolution_backward_input": ONCE,
        "aten::cudnn_convolution_backward_weight": ONCE,
    }


def test_a_forward_pass_without_values_or_gradient_is_unknown() -> None:
    trace = make.trace(old("aten::cudnn_convolution", 1, 8, X, W))
    assert not operator_work.operator_work(trace).known.any()


def test_gradients_of_several_shapes_leave_the_forward_pass_unknown() -> None:
    trace = make.trace(
        old("aten::cudnn_convolution", 1, 8, X, W),
        old("aten::cudnn_convolution_backward", 21, 39, X, OUT, W),
        old("aten::cudnn_convolution_backward", 41, 59, X, tensor(2, 6, 8, 8), W),
    )
    assert not operator_work.operator_work(trace).known.any()
