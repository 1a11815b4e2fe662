"""Compact JSON: a list of objects becomes a table, with the names of its columns once.

``[{"name": "a", "ns": 1, "line": null}, …]`` becomes ``{"columns": ["name", "ns"], "all_null":
["line"], "rows": [["a", 1], …]}``. Values stay as they are, to the digit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec


class Table:
    """A list of objects with the same fields, without the columns that are null in all rows.

    It is no Struct: msgspec would encode one without asking for its ``plain``.
    """

    def __init__(
        self, columns: Sequence[str], all_null: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        self.columns = columns
        self.all_null = all_null
        self.rows = rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.plain() == other.plain()

    __hash__ = None  # type: ignore[assignment]

    def plain(self) -> dict[str, Any]:
        """Return the table as values of JSON."""
        nulls = {"all_null": self.all_null} if self.all_null else {}
        return {"columns": self.columns, **nulls, "rows": self.rows}

    def with_rows(self, rows: Sequence[Sequence[Any]]) -> Table:
        """Return the table with other rows."""
        return Table(self.columns, self.all_null, rows)


def compact(value: Any, columns: Collection[str] = ()) -> Any:
    """Return a value of JSON with its lists of objects as tables.

    ``columns`` are those to keep, of each table that has one of them; by default all.
    """
    if isinstance(value, dict):
        return {name: compact(item, columns) for name, item in value.items()}
    if not isinstance(value, list):
        return value
    if not is_table(value):
        return [compact(item, columns) for item in value]
    names = [name for name in value[0] if name in columns] or list(value[0])
    used = [name for name in names if any(row[name] is not None for row in value)]
    rows = [[compact(row[name], columns) for name in used] for row in value]
    nulls = [name for name in names if name not in used]
    return Table(used, nulls, rows)


def is_table(value: Any) -> bool:
    """Return whether a value is a list of objects with the same fields."""
    return (
        isinstance(value, list)
        and bool(value)
        and isinstance(value[0], dict)
        and all(isinstance(row, dict) and row.keys() == value[0].keys() for row in value)
    )


def column_names(value: Any) -> Iterator[str]:
    """Yield the names of the columns of all tables in a value of JSON, with repetitions."""
    if isinstance(value, dict):
        for item in value.values():
            yield from column_names(item)
    elif isinstance(value, list):
        if is_table(value):
            yield from value[0]
        for item in value:
            yield from column_names(item)


def to_json(value: Any) -> bytes:
    """Return the JSON of a compact value."""
    return msgspec.json.encode(value, enc_hook=lambda table: table.plain())
