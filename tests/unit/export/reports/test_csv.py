"""A result's table as CSV."""

from __future__ import annotations

import pytest
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.export.reports import csv
from tb_privateuse1.trace.errors import TraceError
from tests.support.small_result import RESULT, Row


class Facts(Struct, frozen=True):
    text: str


class Source(Struct, frozen=True):
    window: Facts


class Compared(Struct, frozen=True):
    provenance: Source
    base: Source
    table: tuple[Row, ...]


def test_csv() -> None:
    assert csv.csv_table(RESULT).splitlines() == [
        "name,total_ns,moved_bytes,share,incomplete",
        '"a,\x07b",1500000,2048,0.125,True',
        "long name,,3,1.0,False",
    ]


def test_texts_of_a_trace_are_no_formulas() -> None:
    row = replace(RESULT.table[0], name="=1+1")
    lines = csv.csv_table(replace(RESULT, table=(row,))).splitlines()
    assert lines[1].startswith("'=1+1,")


def test_a_result_without_a_table_has_no_csv() -> None:
    with pytest.raises(TraceError, match="Source has no table"):
        csv.csv_table(RESULT.provenance)


def test_every_row_names_the_window_and_that_of_the_base() -> None:
    now, base = (Facts(text) for text in ("steady: 3 ms of 9 ms", "all: 5 ms"))
    result = Compared(Source(now), Source(base), RESULT.table)
    head, *rows = csv.csv_table(result, "table").splitlines()
    assert head.endswith(",incomplete,window,base_window")
    assert [row.rpartition("e,")[2] for row in rows] == 2 * ["steady: 3 ms of 9 ms,all: 5 ms"]
