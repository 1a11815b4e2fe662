"""Read the recorded inputs of calls; equal calls are numbered and parsed once."""

from __future__ import annotations

import functools
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork, parse_arguments
from tb_privateuse1.trace.captures import CapturedOps
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Ops, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

_KEPT = 1 << 14
"""Distinct calls that stay parsed, of all traces: some 20 MB. Training repeats few hundred."""


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


def read_call(trace: Trace, row: int, ops: Ops | CapturedOps | None = None) -> Arguments | None:
    """Return the inputs of a row of ``trace.ops``, or of another table; None if none are recorded.

    Damaged inputs are None as well.
    """
    table = trace.ops if ops is None else ops
    columns = (table.name, table.shapes, table.dtypes, table.strides, table.concrete)
    return _parse(*(trace.text(column[row]) for column in columns))


def known_call(trace: Trace, row: int) -> Arguments:
    """Return ``read_call``; raises UnknownWork instead of None."""
    if (call := read_call(trace, row)) is None:
        raise UnknownWork
    return call


@functools.lru_cache(maxsize=_KEPT)
def _parse(name: str, shapes: str, dtypes: str, strides: str, concrete: str) -> Arguments | None:
    try:
        return parse_arguments(name, shapes, dtypes, strides, concrete)
    except UnknownWork:
        return None
