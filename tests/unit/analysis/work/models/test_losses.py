"""Bytes of loss functions."""

from __future__ import annotations

from tests.unit.analysis.work.calls import moved, tensor

X, TARGET = tensor(6, 8), tensor(6, dtype="long int")


def test_one_element_per_target_is_read() -> None:
    assert moved("aten::nll_loss_forward", X, TARGET, None, 1, -100) == (6 * 12, 8)
    assert moved("aten::nll_loss_forward", X, TARGET, None, 0, -100) == (6 * 12, 28)


def test_a_loss_is_a_number_or_one_per_element() -> None:
    assert moved("aten::mse_loss", X, X, 1) == (384, 4)
    assert moved("aten::mse_loss", X, X, 0) == (384, 192)
    assert moved("aten::mse_loss", X, X) == (384, None)
