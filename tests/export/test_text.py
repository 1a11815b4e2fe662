from __future__ import annotations

from tb_privateuse1.export import text
from tests.export.result import RESULT, Result


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
