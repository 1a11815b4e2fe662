"""Bytes of softmax and its gradient."""

from __future__ import annotations

from tests.unit.analysis.work.calls import moved, tensor, work

X = tensor(6, 8, dtype="c10::Half")


def test_half_to_float() -> None:
    assert moved("aten::_softmax", X, -1, False) == (96, 96)
    assert moved("aten::_softmax", X, -1, True) == (96, 192)


def test_backward_writes_the_type_of_the_input() -> None:
    grad = tensor(6, 8)
    assert moved("aten::_log_softmax_backward_data", grad, grad, -1, 5) == (384, 96)
    assert work("aten::_softmax_backward_data", grad, tensor(6), -1, 5) is None
