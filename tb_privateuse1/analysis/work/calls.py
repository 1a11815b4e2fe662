"""Read the recorded inputs of calls; equal calls are parsed once."""

from __future__ import annotations

import functools

from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork, parse_arguments
from tb_privateuse1.trace.captures import CapturedOps
from tb_privateuse1.trace.model import Ops, Trace

_KEPT = 1 << 14
"""Distinct calls that stay parsed, of all traces: some 20 MB. Training repeats few hundred."""


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
