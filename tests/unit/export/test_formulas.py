"""Texts of a trace are no formulas of a spreadsheet."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tb_privateuse1.export.formulas import quote_formula, quote_formulas

CELLS: list[tuple[object, object]] = [
    ("=1", "'=1"),
    ("+1", "'+1"),
    ("-x", "'-x"),
    ("@a", "'@a"),
    ("\t=1", "'\t=1"),
    ("\r=1", "'\r=1"),
    ("a\n=1", "a\n=1"),
    ("a=1", "a=1"),
    ("", ""),
    (None, None),
]


@pytest.mark.parametrize(("value", "cell"), [*CELLS, (-1, -1), (-0.5, -0.5), (True, True)])
def test_cells(value: object, cell: object) -> None:
    assert quote_formula(value) == cell


@pytest.mark.long
def test_columns() -> None:
    numbers = pa.array(range(-1, len(CELLS) - 1))
    texts = [
        pa.array([value for value, _ in CELLS], kind) for kind in (pa.string(), pa.large_string())
    ]
    batch = pa.RecordBatch.from_arrays([numbers, *texts], ["n", "a", "b"])
    quoted = quote_formulas(batch)
    assert quoted.schema == batch.schema
    assert quoted.column("n").equals(numbers)
    for name in ("a", "b"):
        assert quoted.column(name).to_pylist() == [cell for _, cell in CELLS]
