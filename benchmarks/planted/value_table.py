"""Judge the advice by value: how much of what faults cost it finds, and how much of it is right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.pairs.table import lines
from benchmarks.planted.expected import EXPECTED, RULES_OF
from benchmarks.planted.table import Row, named, rows
from benchmarks.together import together

COLUMNS = (
    "fault", "expected", "gain without a profiler", "gain as recorded", "found", "times the gain",
    "other findings", "without it",
)  # fmt: skip

FIGURES = (
    "", "faults", "found", "within a factor of two", "gone without it", "of the value found",
    "of the claims right",
)  # fmt: skip


def gain(row: Row) -> float:
    """Return the gain without a profiler, as a share of the step."""
    return row.gain_ns / row.step_ns


def right(row: Row) -> float:
    """Return the share of the step that expected rules claim and that was gained."""
    return min(row.share, max(gain(row), 0))


def cells(row: Row) -> tuple[str, ...]:
    """Return a row of the table."""
    return (
        f"`{row.name}`: {row.what}",
        f"{EXPECTED[row.name][0]:.0%}" if row.name in EXPECTED else "",
        f"{gain(row):.1%}",
        f"{row.recorded_gain:.1%}",
        named(row.found),
        "" if row.ratio is None else f"{row.ratio:.2f}",
        named(row.others),
        named(row.without),
    )


def figures(title: str, table: Sequence[Row]) -> tuple[str, ...]:
    """Return how many faults of a set are found, right and gone, and the same by value."""
    value = sum(map(right, table))
    costs = sum(max(gain(row), 0) for row in table)
    claims = sum(together((*row.found, *row.others, *row.without)) for row in table)
    return (
        title,
        str(len(table)),
        str(sum(bool(row.found) for row in table)),
        str(sum(row.is_right for row in table)),
        str(sum(not row.remains for row in table)),
        f"{value / costs:.0%}" if costs else "",
        f"{value / claims:.0%}" if claims else "",
    )


def report(folder: Path) -> str:
    """Return the table and its figures, in Markdown; also of the faults that have a rule."""
    table = list(rows(folder))
    documented = [row for row in table if RULES_OF[row.name]]
    sets = [("all", table)]
    if len(documented) < len(table):
        sets.append(("with a documented rule", documented))
    return "\n".join(
        [
            *lines((COLUMNS, *map(cells, table)), markdown=True), "",
            *lines((FIGURES, *(figures(title, some) for title, some in sets)), markdown=True),
        ]
    )  # fmt: skip
