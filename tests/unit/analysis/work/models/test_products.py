"""FLOPs and bytes of matrix products: scaled, integer, grouped, packed."""

from __future__ import annotations

import pytest

from tests.unit.analysis.work.calls import flops, moved, tensor, work

FP8, INT8, HALF = "c10::Float8_e4m3fn", "signed char", "c10::BFloat16"


def test_scaled_products_write_the_given_type() -> None:
    a, b, one = tensor(4, 8, dtype=FP8), tensor(8, 6, dtype=FP8), tensor()
    args = (a, b, one, one, None, None)
    assert flops("aten::_scaled_mm", *args, 15, False) == 2 * 4 * 8 * 6
    assert moved("aten::_scaled_mm", *args, 15, False) == (32 + 48 + 8, 48)
    assert moved("aten::_scaled_mm", *args, None, False)[1] == 24


def test_integer_products() -> None:
    a, b = tensor(4, 8, dtype=INT8), tensor(8, 6, dtype=INT8)
    assert moved("aten::_int_mm", a, b) == (32 + 48, 4 * 24)


@pytest.mark.parametrize(
    ("a", "b", "flops_expected", "elements"),
    [
        ((10, 8), (3, 8, 6), 2 * 10 * 8 * 6, 60),
        ((3, 10, 8), (3, 8, 6), 2 * 3 * 10 * 8 * 6, 180),
        ((10, 8), (8, 6), 2 * 10 * 8 * 6, 180),
        ((3, 10, 8), (8, 6), 2 * 10 * 8 * 6, 60),
    ],
)
def test_grouped_products(
    a: tuple[int, ...], b: tuple[int, ...], flops_expected: int, elements: int
) -> None:
    args = (tensor(*a, dtype=HALF), tensor(*b, dtype=HALF), tensor(3, dtype="int"), None, None)
    assert flops("aten::_grouped_mm", *args) == flops_expected
    assert moved("aten::_grouped_mm", *args)[1] == 2 * elements


def test_packed_weights_of_four_bits() -> None:
    args = (tensor(4, 64, dtype=HALF), tensor(4, 1, 32, 4, dtype="int"), 32, tensor(2, 32, 2))
    assert flops("aten::_weight_int4pack_mm", *args) == 2 * 4 * 64 * 32


def test_sizes_that_do_not_fit_are_unknown() -> None:
    assert work("aten::mm", tensor(4, 8), tensor(7, 6)) is None
    assert work("other::linear", tensor(4, 8), tensor(7, 6)) is None
    assert work("aten::mm", tensor(2**31, 2**31), tensor(2**31, 2**31)) is None


def test_scaled_products_of_newer_torch_and_of_engines() -> None:
    a, b, scale = tensor(4, 8, dtype=FP8), tensor(8, 6, dtype=FP8), tensor(1)
    lists = [scale], [1], [0], [scale], [1], [0]
    assert flops("aten::_scaled_mm_v2", a, b, *lists, None, 15) == 2 * 4 * 8 * 6
    assert moved("aten::_scaled_mm_v2", a, b, *lists, None, 15) == (32 + 48, 48)
    out = tensor(4, 6, dtype=HALF)
    assert moved("_C::cutlass_scaled_mm", out, a, b, scale, scale, None) == (32 + 48 + 8, 48)
    assert work("_C::cutlass_scaled_mm", tensor(4, 7), a, b, scale, scale, None) is None
    assert moved("sgl_kernel::fp8_scaled_mm", a, b, scale, scale, 15) == (32 + 48 + 8, 48)
    grouped = tensor(10, 8, dtype=FP8), tensor(3, 8, 6, dtype=FP8), *lists, tensor(3, dtype="int")
    assert flops("aten::_scaled_grouped_mm_v2", *grouped, None, 15) == 2 * 10 * 8 * 6
