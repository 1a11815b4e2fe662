"""Convert decoded values to int64 columns, exactly, however the file spells a number."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from itertools import repeat
from typing import Any

import numpy as np

from tb_privateuse1.trace.table import F64, I64, Bools

EXACT_US = 2.0**43
"""Below this a float64 in µs has a spacing under 1 ns. (Kineto's times are relative to a base of
the last three months, 2^42.8 µs.)"""

LIMIT_US = 2.0**51
"""71 years: no recording is as long, or as late after its base or 1970. Below this limit sums and
differences of two times fit into int64 nanoseconds."""

_LIMIT = Decimal(LIMIT_US)
_ZERO = Decimal(0)
_MANY = 30
_MASK = (1 << 64) - 1


def parse_ids(values: Sequence[Any], missing: int = -1) -> I64:
    """Convert numbers or numerals to int64; ids of 2^63 and above wrap, and so stay distinct.

    Null and other values become ``missing``.
    """
    try:
        return np.fromiter(values, np.int64, len(values))
    except (TypeError, ValueError, OverflowError):
        return np.array([_id(v, missing) for v in values], np.int64)


def _id(value: Any, missing: int) -> int:
    if not isinstance(value, int | float | str):
        return missing
    try:
        number = int(value)
    except (ValueError, OverflowError):
        try:
            plain = Decimal(value)
        except (InvalidOperation, ValueError):
            return missing
        if _digits(plain) >= _MANY:
            return missing
        number = int(plain)
    number &= _MASK
    return number - (1 << 64) if number >> 63 else number


def _digits(value: Decimal) -> int:
    """Return the decimal exponent without making the integer; ``_MANY`` for NaN and infinity."""
    return value.adjusted() if value.is_finite() else _MANY


def nanoseconds(microseconds: F64) -> I64:
    """Convert µs (below ``EXACT_US``, or whole) to ns, rounded half to even."""
    whole = np.floor(microseconds)
    # The fraction is exact in float64; the product of the whole number would not be.
    part: I64 = np.rint((microseconds - whole) * 1000).astype(np.int64)
    return whole.astype(np.int64) * 1000 + part


def exact_nanoseconds(microseconds: Sequence[Decimal]) -> tuple[I64, Bools]:
    """Convert decimal µs to ns. Return also which values are valid; the others become 0."""
    try:
        sound = not microseconds or max(map(abs, microseconds)) < _LIMIT
    except ArithmeticError:  # "NaN" does not compare, and 1e9999999 has no absolute value
        sound = False
    if sound:
        whole = map(Decimal.to_integral_value, map(operator.mul, microseconds, repeat(1000)))
        return parse_ids(list(whole)), np.ones(len(microseconds), np.bool_)
    good = np.array([_digits(d) < _MANY and abs(d) < _LIMIT for d in microseconds], np.bool_)
    plain = [d if ok else _ZERO for d, ok in zip(microseconds, good, strict=True)]
    return exact_nanoseconds(plain)[0], good
