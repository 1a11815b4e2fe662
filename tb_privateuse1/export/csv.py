"""Comma-separated values of a view's result: its table, one line per row, for spreadsheets.

The table is the field ``rows``; of a result without it (overview), the first one that holds
times: the steps. Figures are those of the JSON, in its units; null is an empty cell, and a list
within a row is JSON.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import typing
from typing import Any

import msgspec

from tb_privateuse1.trace import TraceError


def table(result: Any) -> str:
    """The result's table, with the field names as its head. Raises TraceError ``no_table``."""
    name, kind = _table(type(result))
    columns = [field.name for field in dataclasses.fields(kind)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(getattr(row, c)) for c in columns] for row in getattr(result, name))
    return out.getvalue()


def _cell(value: Any) -> Any:
    return msgspec.json.encode(value).decode() if isinstance(value, tuple) else value


def _table(result: type[Any]) -> tuple[str, Any]:
    hints = typing.get_type_hints(result)
    tables = [
        (field.name, typing.get_args(hints[field.name])[0])
        for field in dataclasses.fields(result)
        if typing.get_origin(hints[field.name]) is tuple
    ]
    tables = [(name, kind) for name, kind in tables if dataclasses.is_dataclass(kind)]
    for name, kind in tables:
        if name == "rows":
            return name, kind
    for name, kind in tables:
        if any(field.name.endswith("_ns") for field in dataclasses.fields(kind)):
            return name, kind
    raise TraceError("no_table", f"{result.__name__} has no table that could be CSV.", "Use JSON.")
