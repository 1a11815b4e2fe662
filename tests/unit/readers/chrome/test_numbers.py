"""Numbers in any spelling, exact to the nanosecond and to all 64 bits."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.readers.chrome import numbers

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
        (["12.0", 1], [12, 1]),
        ([float("inf"), float("nan"), 3], [MISSING, MISSING, 3]),
        (["1e999999999", "9" * 5000, 1], [MISSING, MISSING, 1]),
        ([[1], {}, 1], [MISSING, MISSING, 1]),
        ([1.0, 7], [1, 7]),
        ([], []),
    ],
)
def test_ids(values: list[object], expected: list[int]) -> None:
    column = numbers.parse_ids(values, MISSING)
    assert column.dtype == np.int64
    assert column.tolist() == expected


@given(st.integers(0, 2**43 * 1000 - 1))
def test_floats_below_2_to_43_us_keep_every_nanosecond(ns: int) -> None:
    us = float(f"{ns // 1000}.{ns % 1000:03d}")
    assert us < numbers.EXACT_US
    assert numbers.nanoseconds(np.array([us])).tolist() == [ns]


@given(st.integers(-(2**60), 2**60))
def test_decimals_keep_every_nanosecond(ns: int) -> None:
    sign = "-" if ns < 0 else ""
    text = f"{sign}{abs(ns) // 1000}.{abs(ns) % 1000:03d}"
    column, good = numbers.exact_nanoseconds([Decimal(text)])
    assert (column.tolist(), good.tolist()) == ([ns], [True])


def test_integer_microseconds() -> None:
    us = np.array([1663123456789012], np.float64)
    assert numbers.nanoseconds(us).tolist() == [1663123456789012000]


@pytest.mark.parametrize("absurd", ["1e300", "-1e300", "NaN", "Infinity", "1e16", "1e999999999"])
def test_what_no_clock_gives_is_told_apart(absurd: str) -> None:
    column, good = numbers.exact_nanoseconds([Decimal("2.5"), Decimal(absurd)])
    assert (column.tolist(), good.tolist()) == ([2500, 0], [True, False])


def test_no_decimals_at_all() -> None:
    column, good = numbers.exact_nanoseconds([])
    assert (len(column), len(good)) == (0, 0)
