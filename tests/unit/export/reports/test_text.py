"""The report as plain text: widths, long tables, error bounds."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from tb_privateuse1.export.reports import text
from tests.support.small_result import RESULT, Result


def test_text() -> None:
    assert text.text_report(RESULT).splitlines() == [
        "step: 999 ns",
        "",
        "table",
        "name          total      moved   share  incomplete",
        "---------  --------  ---------  ------  ----------",
        "a,\\x07b    1.500 ms  2.000 KiB  12.5 %         yes",
        "long name         -        3 B   100 %          no",
        "",
        "provenance",
        "  timeline: none",
        "  warnings:",
        "    odd \\x1b[1m mend it",
        "  files: none",
    ]


class Inferred(Struct, frozen=True):
    name: str
    total_ns: int | None
    bound_ns: int | None
    mean_ns: int | None
    mean_bound_ns: int | None
    start_bound_ns: int | None
    share: float
    share_bound: float


def test_figures_that_are_inferred_say_how_far_off_they_may_be() -> None:
    rows = (
        Inferred("a", 1500, 20, 30, None, 7, 0.5, 0.25),
        Inferred("b", None, None, 40, 0, 0, 1, 0),
    )
    many = msgspec.defstruct("Many", [("rows", tuple[Inferred, ...])])(rows)
    assert text.text_report(many).splitlines()[1:] == [
        "name             total             mean  start bound            share",
        "----  ----------------  ---------------  -----------  ---------------",
        "a     1.500 µs ± 20 ns  30 ns ± unknown         7 ns  50.0 % ± 25.0 %",
        "b                    -            40 ns         0 ns            100 %",
    ]
    one = msgspec.defstruct("One", [("what", Inferred)])(rows[0])
    assert "  total: 1.500 µs ± 20 ns" in text.text_report(one).splitlines()


def test_lines_are_cut_to_the_width() -> None:
    lines = text.text_report(RESULT, 20).splitlines()
    assert max(map(len, lines)) == 20
    assert lines[6] == "long name         -…"


def test_long_tables_end_with_how_many_more() -> None:
    many = Result(RESULT.provenance, RESULT.table * 30, 1)
    assert "… and 20 more rows: --csv or --json has all of them" in text.text_report(many)


class Ranged(Struct, frozen=True):
    """A figure with its limits, as the overview has it."""

    utilization: float | None
    utilization_low: float | None
    utilization_high: float | None


def test_limits_stand_beside_their_figure() -> None:
    inferred, measured = Ranged(0.5, 0.4, 0.75), Ranged(0.5, 0.5, 0.5)
    assert text.text_report(inferred) == "utilization: 50.0 % (40.0 % to 75.0 %)\n"
    assert text.text_report(measured) == "utilization: 50.0 %\n"
    assert text.text_report(Ranged(0.5, None, None)) == "utilization: 50.0 % (range unknown)\n"
    assert text.text_report(Ranged(None, None, None)) == "utilization: -\n"
