"""Lists of decoded values -> int64 columns, exact, however the file spells a number."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from tb_privateuse1.trace import I64

_EXACT_US = 2.0**43
"""Below this a float64 of microseconds still tells three decimals apart: its spacing is under
1 ns there. (Kineto's times are relative to a base of the last three months, 2^42.8 us.)"""

_MASK = (1 << 64) - 1


def ids(values: Sequence[Any], missing: int = -1) -> I64:
    """Numbers or numerals to int64; ids of 2^63 and above keep their 64 bits, so stay distinct.

    ``missing`` stands for null and for what is no number.
    """
    try:
        column = np.array(values)
        if column.dtype.kind in "iu":
            return column.astype(np.int64)
    except (OverflowError, ValueError):
        pass
    return np.array([_id(v, missing) for v in values], np.int64)


def _id(value: Any, missing: int) -> int:
    if value is None:
        return missing
    try:
        number = int(value)
    except (ValueError, OverflowError):
        try:
            number = int(Decimal(value))
        except (InvalidOperation, ValueError, OverflowError):
            return missing
    number &= _MASK
    return number - (1 << 64) if number >> 63 else number


def fits_float(values: Sequence[Any]) -> bool:
    """Whether microseconds decoded as int or float are exact to the nanosecond."""
    kinds = set(map(type, values))
    if kinds <= {int}:
        return True
    if not kinds <= {int, float}:
        return False
    return bool(np.abs(np.array(values, np.float64)).max() < _EXACT_US)


def nanoseconds(microseconds: Sequence[Any]) -> I64:
    """Microseconds as int, float, Decimal or numeral to int64 ns, rounded half to even.

    Floats must have passed ``fits_float``. Null and what is no number give 0: the caller drops
    events without a time before.
    """
    kinds = set(map(type, microseconds))
    if kinds <= {int, float}:
        if kinds == {int}:
            whole_us = np.array(microseconds, np.int64)
            return whole_us * 1000
        us = np.array(microseconds, np.float64)
        whole = np.floor(us)
        # The fraction of a float64 is exact, so that no digit is lost in a product.
        part: I64 = np.rint((us - whole) * 1000).astype(np.int64)
        return whole.astype(np.int64) * 1000 + part
    return np.array([_exact(v) for v in microseconds], np.int64)


def _exact(value: Any) -> int:
    try:
        return int((Decimal(value) * 1000).to_integral_value())
    except (InvalidOperation, ValueError, OverflowError, TypeError):
        return 0
