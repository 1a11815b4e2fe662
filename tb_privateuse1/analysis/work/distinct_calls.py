"""Number the distinct calls of a recording once: each analysis groups one column of them."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I32, I64, Bools

Column = Literal["name", "shapes", "dtypes", "strides", "concrete"]
"""What the recorded inputs of a call are, in columns of ``trace.ops``."""

EVERY: tuple[Column, ...] = get_args(Column)


class _Calls(Struct, frozen=True):
    """The distinct calls: of each its first row, and by row of ``trace.ops`` its number."""

    first: I64
    number: I32


@memoize
def distinct_calls(trace: Trace) -> _Calls:
    """Return the distinct calls of a recording, in the order of their columns."""
    first, number = group_rows(*(getattr(trace.ops, name) for name in EVERY))
    return _Calls(first, number.astype(np.int32))


def group_calls(
    trace: Trace, rows: I64 | Bools, columns: tuple[Column, ...] = EVERY
) -> tuple[I64, I64]:
    """Group rows of ``trace.ops`` as ``group_rows`` does with these of their columns."""
    calls = distinct_calls(trace)
    number = calls.number[rows]
    if columns == EVERY:
        return group_rows(number)
    _, alike = group_rows(*(getattr(trace.ops, name)[calls.first] for name in columns))
    return group_rows(alike[number])
