"""Quote texts of a trace that a spreadsheet would run as formulas.

Names in a trace are anybody's. A cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a
carriage return is a formula to a spreadsheet, also in quotes; after an apostrophe it is text.
Source: OWASP, "CSV injection".
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

_FORMULA = "^[=+\\-@\t\r]"
_FIRST = re.compile(_FORMULA)


def quote_formula(value: Any) -> Any:
    """Return a value of a cell: a text that would be a formula with an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and _FIRST.match(value) else value


def quote_formulas(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with such texts of all its columns quoted."""
    from pyarrow import compute

    for index, field in enumerate(batch.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            column = batch.column(index)
            quoted = compute.replace_substring_regex(column, f"({_FORMULA})", r"'\1")
            batch = batch.set_column(index, field, quoted)
    return batch
