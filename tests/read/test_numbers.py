"""Numbers in any spelling, exact to the nanosecond and to all 64 bits."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.read import numbers

MISSING = -7


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], [1, 2]),
        ([1, None], [1, MISSING]),
        (["12", 3], [12, 3]),
        (["N/A", ""], [MISSING, MISSING]),
        ([2**53 + 1], [2**53 + 1]),
        ([2**63 + 5, 2**63 + 6], [-(2**63) + 5, -(2**63) + 6]),
        (["9223372036854775809"], [-(2**63) + 1]),
        ([1.0, 7], [1, 7]),
        ([], []),
    ],
)
def test_ids(values: list[object], expected: list[int]) -> None:
    column = numbers.ids(values, MISSING)
    assert column.dtype == np.int64
    assert column.tolist() == expected


@given(st.integers(0, 2**43 * 1000 - 1))
def test_floats_below_2_to_43_us_keep_every_nanosecond(ns: int) -> None:
    us = float(f"{ns // 1000}.{ns % 1000:03d}")
    assert numbers.fits_float([us])
    assert numbers.nanoseconds([us]).tolist() == [ns]


@given(st.integers(0, 2**60))
def test_decimals_keep_every_nanosecond(ns: int) -> None:
    text = f"{ns // 1000}.{ns % 1000:03d}"
    assert numbers.nanoseconds([Decimal(text)]).tolist() == [ns]


def test_absolute_fractional_microseconds_do_not_fit_a_float() -> None:
    assert not numbers.fits_float([1663123456789012.123, 1])
    assert not numbers.fits_float(["1663123456789012.123"])
    assert numbers.fits_float([1663123456789012])


def test_integer_microseconds() -> None:
    assert numbers.nanoseconds([1663123456789012]).tolist() == [1663123456789012000]


def test_what_is_no_number_has_no_length() -> None:
    assert numbers.nanoseconds(["N/A", None, "2.5"]).tolist() == [0, 0, 2500]
