"""Judge the advice by value: how much of what faults cost it finds, and how much of it is right."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.pairs.table import lines
from benchmarks.planted.expected import LATER
from benchmarks.planted.table import FACTOR, Row, named, rows
from tb_privateuse1.advice.engine import AdviceRow

COLUMNS = (
    "fault", "expected", "gain without a profiler", "gain as recorded", "found", "times the gain",
    "other findings", "without it",
)  # fmt: skip


def share(found: Iterable[AdviceRow]) -> float:
    """Return what findings claim together, as a share of the step."""
    return sum(row.saving_share or 0 for row in found)


def right(row: Row) -> float:
    """Return the share of the step that expected rules claim and that was gained."""
    return min(share(row.expected), max(row.real, 0))


def ratio(row: Row) -> float | None:
    """Return what expected rules claim as a multiple of the gain; None without a claim."""
    claim = share(row.expected)
    return claim / row.real if claim and row.real > 0 else None


def is_near(row: Row) -> bool:
    """Return whether the claim is within ``FACTOR`` of the gain."""
    times = ratio(row)
    return times is not None and 1 / FACTOR <= times <= FACTOR


def cells(row: Row) -> tuple[str, ...]:
    """Return a row of the table."""
    times = ratio(row)
    return (
        f"`{row.name}`: {row.what}",
        f"{LATER[row.name][0]:.0%}",
        f"{row.real:.1%}",
        f"{row.gain_ns / row.step_ns:.1%}",
        named(row.expected),
        "" if times is None else f"{times:.2f}",
        named(row.others),
        named(row.without),
    )


def report(folder: Path) -> str:
    """Return the table and its figures, in Markdown."""
    table = list(rows(folder))
    value = sum(map(right, table))
    costs = sum(max(row.real, 0) for row in table)
    claims = sum(share((*row.expected, *row.others, *row.without)) for row in table)
    figures = (
        ("faults", "found", "within a factor of two", "gone without it", "of the value found",
         "of the claims right"),
        (
            str(len(table)),
            str(sum(bool(row.expected) for row in table)),
            str(sum(map(is_near, table))),
            str(sum(not row.remains for row in table)),
            f"{value / costs:.0%}",
            f"{value / claims:.0%}",
        ),
    )  # fmt: skip
    return "\n".join(
        [*lines((COLUMNS, *map(cells, table)), markdown=True), "", *lines(figures, markdown=True)]
    )
