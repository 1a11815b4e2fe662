"""Data types with rates, from torch's names."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.roofs.rate_types import RATE_TYPES, product_types, rate_type
from tb_privateuse1.trace.model import NONE


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("float", "fp32"),
        ("double", "fp64"),
        ("c10::BFloat16", "bf16"),
        ("c10::Half", "fp16"),
        ("c10::Float8_e4m3fn", "fp8"),
        ("torch.float8_e5m2", "fp8"),
        ("torch.float4_e2m1fn_x2", "fp4"),
        ("signed char", "int8"),
        ("c10::complex<float>", "fp32"),
        ("torch.bfloat16", "bf16"),
    ],
)
def test_types_with_rates(name: str, expected: str) -> None:
    assert RATE_TYPES[rate_type(name)] == expected


@pytest.mark.parametrize("name", ["int", "long int", "bool", "Scalar", "", "short int"])
def test_types_without_rates(name: str) -> None:
    assert rate_type(name) == NONE


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("bf16", "bf16", "bf16"),
        ("bf16", "int8", "bf16"),
        ("fp8", "fp16", "fp16"),
        ("fp4", "bf16", "bf16"),
        ("bf16", "fp16", "fp32"),
        ("fp32", "fp64", "fp64"),
    ],
)
def test_the_wider_operand_decides_a_product(first: str, second: str, expected: str) -> None:
    one, two = (np.array([RATE_TYPES.index(name)], np.int8) for name in (first, second))
    assert RATE_TYPES[product_types(one, two)[0]] == expected
    assert RATE_TYPES[product_types(two, one)[0]] == expected


def test_an_operand_without_a_rate_leaves_the_product_without() -> None:
    none, bf16 = np.array([NONE], np.int8), np.array([RATE_TYPES.index("bf16")], np.int8)
    assert product_types(none, bf16)[0] == NONE
    assert product_types(bf16, none)[0] == NONE
