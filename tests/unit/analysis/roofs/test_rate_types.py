"""Data types with rates, from torch's names."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.roofs.rate_types import RATE_TYPES, rate_type
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
