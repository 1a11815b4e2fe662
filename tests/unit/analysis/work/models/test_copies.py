"""Bytes of casts, padding and repeats."""

from __future__ import annotations

from tests.unit.analysis.work.calls import flops, moved, tensor, work

X, HALF = tensor(6, 8), tensor(6, 8, dtype="c10::Half")


def test_a_cast_is_a_copy() -> None:
    assert moved("aten::copy_", HALF, X, False) == (192, 96)
    assert moved("aten::_to_copy", X, 5) == (192, 96)
    assert moved("npu::_copy_from", X, HALF, False) == (192, 96)
    assert flops("aten::copy_", HALF, X, False) == 0


def test_padding() -> None:
    assert moved("aten::constant_pad_nd", X, [1, 1], 0.0) == (192, 240)
    assert moved("aten::constant_pad_nd", X, [-1, 0], 0.0) == (192, 168)
    assert work("aten::constant_pad_nd", X, [-9, 0], 0.0) is None


def test_repeats() -> None:
    assert moved("aten::repeat", X, [2, 3]) == (192, 6 * 192)
