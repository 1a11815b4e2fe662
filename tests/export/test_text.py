from __future__ import annotations

from dataclasses import dataclass

import pytest

from tb_privateuse1.export import csv, text
from tb_privateuse1.trace import Finding, TraceError


@dataclass(frozen=True)
class Row:
    name: str
    total_ns: int | None
    moved_bytes: int
    share: float
    incomplete: bool


@dataclass(frozen=True)
class Source:
    timeline: str
    warnings: tuple[Finding, ...]
    files: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    provenance: Source
    table: tuple[Row, ...]
    step_ns: int


RESULT = Result(
    Source("none", (Finding("c", "odd \x1b[1m", "mend it"),), ()),
    (Row("a,\x07b", 1_500_000, 2048, 0.125, True), Row("long name", None, 3, 1.0, False)),
    999,
)


def test_text() -> None:
    assert text.render(RESULT).splitlines() == [
        "step: 999 ns",
        "",
        "table",
        "name          total      moved    share  incomplete",
        "---------  --------  ---------  -------  ----------",
        "a,\\x07b    1.500 ms  2.000 KiB   12.5 %         yes",
        "long name         -        3 B  100.0 %          no",
        "",
        "provenance",
        "  timeline: none",
        "  warnings:",
        "    odd \\x1b[1m mend it",
        "  files: none",
    ]


def test_lines_are_cut_to_the_width() -> None:
    lines = text.render(RESULT, 20).splitlines()
    assert max(map(len, lines)) == 20
    assert lines[6] == "long name         -…"


def test_long_tables_end_with_how_many_more() -> None:
    many = Result(RESULT.provenance, RESULT.table * 30, 1)
    assert "… and 20 more rows: --csv or --json has all of them" in text.render(many)


def test_csv() -> None:
    assert csv.table(RESULT).splitlines() == [
        "name,total_ns,moved_bytes,share,incomplete",
        '"a,\x07b",1500000,2048,0.125,True',
        "long name,,3,1.0,False",
    ]


def test_a_result_without_a_table_has_no_csv() -> None:
    with pytest.raises(TraceError, match="Source has no table"):
        csv.table(RESULT.provenance)
