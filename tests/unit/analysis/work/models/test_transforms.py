"""FLOPs and bytes of Fourier transforms."""

from __future__ import annotations

import pytest

from tests.unit.analysis.work.calls import flops, moved, tensor, work

COMPLEX = "c10::complex<float>"


def test_a_fourier_transform_of_real_points_is_half() -> None:
    whole = 5 * 3 * 8 * 3
    assert flops("aten::_fft_c2c", tensor(3, 8, dtype=COMPLEX), [1], 0, True) == whole
    assert flops("aten::_fft_r2c", tensor(3, 8), [1], 0, True) == whole // 2
    assert flops("aten::_fft_c2r", tensor(3, 5, dtype=COMPLEX), [-1], 2, 8) == whole // 2
    assert moved("aten::_fft_r2c", tensor(3, 8), [1], 0, False) == (96, 192)


def test_several_dimensions_are_one_transform() -> None:
    x = tensor(4, 8, dtype=COMPLEX)
    assert flops("aten::_fft_c2c", x, [0, 1], 0, True) == 5 * 32 * 5


@pytest.mark.parametrize("dims", [[2], [-3], []])
def test_dimensions_that_are_not_there(dims: list[int]) -> None:
    assert work("aten::_fft_c2c", tensor(4, 8, dtype=COMPLEX), dims, 0, True) is None


def test_windows_and_borders_that_do_not_fit() -> None:
    x = tensor(2, 4, 8, 8)
    assert work("aten::im2col", x, [3, 3], [1, 1], [1, 1], [0, 1]) is None
    assert work("aten::im2col", x, [3], [1, 1], [1, 1], [1, 1]) is None
    assert work("aten::col2im", tensor(2, 35, 16), [8, 8], [3, 3], [1, 1], [1, 1], [2, 2]) is None
    assert work("aten::reflection_pad2d", x, [1]) is None
    assert work("aten::reflection_pad2d", x, [-9, 0]) is None
