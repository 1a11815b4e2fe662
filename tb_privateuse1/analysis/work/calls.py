"""Read the recorded inputs of calls; equal calls are numbered and parsed once."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork, parse_arguments
from tb_privateuse1.trace.captures import CapturedOps
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.memory_budget import BUDGET
from tb_privateuse1.trace.model import Ops, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

_KEPT = 1 << 16
"""Distinct calls of a trace that stay parsed. Training repeats few hundred. Further ones are parsed
each time: if they took the place of others, a pass over all calls would find none of them."""
_CALL_BYTES = 700
"""Memory of a parsed call with its key: 694 for graphs of many sizes, 582 for a training."""
_Kept = dict[tuple[str, ...], Arguments | None]


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
    return _parse(_parsed(trace), tuple([trace.text(one[row]) for one in _inputs(table)]))


def read_calls(trace: Trace, rows: I32 | I64) -> list[Arguments | None]:
    """Return ``read_call`` of rows of ``trace.ops``."""
    kept = _parsed(trace)
    columns = [map(trace.text, column[rows].tolist()) for column in _inputs(trace.ops)]
    return [_parse(kept, call) for call in zip(*columns, strict=True)]


def share_parsed(trace: Trace, other: Trace) -> None:
    """Let another trace with the same operators have the parsed calls of a trace."""
    BUDGET.compute(other, _parsed, lambda: _parsed(trace), weigh=lambda _: 0)


def known_call(trace: Trace, row: int) -> Arguments:
    """Return ``read_call``; raises UnknownWork instead of None."""
    if (call := read_call(trace, row)) is None:
        raise UnknownWork
    return call


def _inputs(table: Ops | CapturedOps) -> tuple[I32, ...]:
    return table.name, table.shapes, table.dtypes, table.strides, table.concrete


def _parsed(trace: Trace) -> _Kept:
    """Return the parsed calls of a trace, to which ``_parse`` adds."""
    return BUDGET.compute(trace, _parsed, _Kept, weigh=lambda _: _most_bytes(trace))


def _most_bytes(trace: Trace) -> int:
    return min(len(trace.ops), _KEPT) * _CALL_BYTES


def _parse(kept: _Kept, call: tuple[str, ...]) -> Arguments | None:
    if call in kept:
        return kept[call]
    try:
        found = parse_arguments(*call)
    except UnknownWork:
        found = None
    if len(kept) < _KEPT:
        kept[call] = found
    return found
