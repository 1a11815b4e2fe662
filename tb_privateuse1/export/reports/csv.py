"""CSV report of one table of a view's result, one line per row.

Figures have the JSON's units. Null is an empty cell, and a list within a row is JSON. A text that
a spreadsheet would run as a formula begins with an apostrophe, as in all CSV of this package.
The last column of every row names the window that the figures are of; a comment above the head
would be a row to a spreadsheet.
"""

from __future__ import annotations

import csv
import io
from typing import Any

import msgspec
from msgspec import Struct

from tb_privateuse1.export.formulas import quote_formula
from tb_privateuse1.views import result as views_result


def csv_table(result: Any, name: str | None = None) -> str:
    """Return a table of a result (see ``tables``); the field names are its head.

    Raises TraceError ``no_table`` or ``unknown_table``.
    """
    name, kind = views_result.tables_of(type(result), name)
    columns = kind.__struct_fields__
    windows = _windows(result)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*columns, *windows])
    writer.writerows(
        [*(_cell(getattr(row, c)) for c in columns), *windows.values()]
        for row in getattr(result, name)
    )
    return out.getvalue()


def _windows(result: Any) -> dict[str, str]:
    """Return the windows of a result, by column: of a comparison two, of several traces none."""
    sources = {"window": "provenance", "base_window": "base"}
    facts = {
        column: getattr(getattr(result, source, None), "window", None)
        for column, source in sources.items()
    }
    return {column: found.text for column, found in facts.items() if found is not None}


def _cell(value: Any) -> Any:
    is_nested = isinstance(value, tuple | Struct)
    if is_nested:
        return msgspec.json.encode(value, enc_hook=str).decode()
    return quote_formula(value)
