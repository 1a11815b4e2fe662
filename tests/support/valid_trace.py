"""The one check of the declared types of columns (``trace.table``)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.trace.model import NONE, TABLES, Trace
from tb_privateuse1.trace.table import I64, Rows, RowsBy, Table, declared_types


def check(trace: Trace) -> None:
    """Raises AssertionError if a table of the trace, or its metadata, breaks what is declared."""
    found = [*_of_meta(trace)]
    for name, kind in TABLES.items():
        table = getattr(trace, name)
        if type(table) is not kind:
            found.append(f"{name} is a {type(table).__name__}")
        found += (f"{name}.{text}" for text in (*problems(table, trace), *_of_order(table)))
    assert not found, "\n".join(found)


@contextlib.contextmanager
def checked_tables(trace: Trace) -> Iterator[None]:
    """Check each table that is derived from a trace when it is made. Raises AssertionError."""
    made = Table.__post_init__
    found: set[str] = set()

    def check_too(self: Table) -> None:
        made(self)
        if type(self) not in TABLES.values():  # parts of the trace's own tables lack columns
            found.update(f"{type(self).__name__}.{text}" for text in problems(self, trace))

    Table.__post_init__ = check_too  # type: ignore[method-assign]
    try:
        yield
    finally:
        Table.__post_init__ = made  # type: ignore[method-assign]
    assert not found, "\n".join(sorted(found))


def problems(table: Table, trace: Trace) -> Iterator[str]:
    """Yield the columns of a table whose shape, dtype or rows of a trace are not as declared."""
    rows = len(table)
    for name, declared in declared_types(type(table)).items():
        column = getattr(table, name)
        if column.shape != (rows,):
            yield f"{name} has the shape {column.shape}, not {(rows,)}"
            return
        if column.dtype != declared.dtype:
            yield f"{name} is {column.dtype}, not {np.dtype(declared.dtype)}"
        if isinstance(declared.kind, Rows):
            least = NONE if declared.kind.optional else 0
            yield from _of_rows(name, column, trace, declared.kind.table, least)
        elif isinstance(declared.kind, RowsBy):
            number = getattr(table, declared.kind.column)
            for i, of in enumerate(declared.kind.tables):
                yield from _of_rows(name, column[number == i], trace, of, NONE)


def _of_rows(name: str, column: I64, trace: Trace, table: str, least: int) -> Iterator[str]:
    """Yield that a column has rows that the trace's table, or its strings, does not have."""
    count = len(getattr(trace, table))
    if len(column) and (column.min() < least or column.max() >= count):
        yield f"{name} has {column.min()} to {column.max()}, not {least} to {count - 1} of {table}"


def _of_order(table: Table) -> Iterator[str]:
    """Yield what is wrong with the order of rows and times."""
    columns = dict(table.columns())
    if {"start_ns", "end_ns"} <= set(columns) and (table.end_ns < table.start_ns).any():  # type: ignore[attr-defined]
        yield "end_ns is before start_ns"
    same = np.ones(max(len(table) - 1, 0), np.bool_)
    for name in type(table).ORDER:
        before, after = columns[name][:-1], columns[name][1:]
        if (same & (after < before)).any():
            yield f"{name} is not in order"
        same &= before == after
    # Parents come before their rows: no row is its own ancestor.
    if "parent" in columns and (columns["parent"] >= np.arange(len(table))).any():
        yield "parent is not before its row"


def _of_meta(trace: Trace) -> Iterator[str]:
    meta, lanes = trace.meta, len(trace.lanes)
    if any(not 0 <= row < lanes for row in meta.missing_lanes):
        yield f"missing_lanes {meta.missing_lanes} of {lanes} lanes"
    dropped = meta.grounds.dropped if meta.grounds else ()
    if any(not 0 <= row < len(trace.ops) for row in dropped):
        yield f"grounds.dropped has a row that is not one of {len(trace.ops)} operators"
    for finding in meta.findings:
        for example in finding.examples:
            if not 0 <= example.row < len(getattr(trace, example.table)):
                yield f"an example of {finding.code} is row {example.row} of {example.table}"
