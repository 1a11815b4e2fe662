"""Compare the advice on programs with planted faults with what the faults' removal gained."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from benchmarks.pairs.prediction import load
from benchmarks.pairs.record import BEFORE, TRUTH
from benchmarks.pairs.table import lines
from benchmarks.planted.expected import HELD, RULES_OF
from benchmarks.together import together
from tb_privateuse1.advice.engine import Advice, AdviceRow, advise

COLUMNS = (
    "fault",
    "gain",
    "gain under the profiler",
    "found by",
    "saving",
    "times the gain",
    "without it",
)

TUNED_COLUMNS = ("tuned program", "device", "step", "findings above 3 %", "the greatest of all")

FACTOR = 2
"""A saving between the gain divided by this and multiplied by it counts as right."""

SILENT = 0.03
"""A tuned program must not have a finding with a greater share of the step."""


class Row(Struct, frozen=True):
    """A planted fault: what its removal gained, and what the advice says with it and without it."""

    name: str
    what: str
    step_ns: int
    gain_ns: int
    gain_error_ns: int
    """Of steps that are not recorded: savings are without the profiler, too."""
    recorded_gain: float
    """As a share of the recorded step."""
    found: tuple[AdviceRow, ...]
    """The findings of expected rules that have a saving, the greatest first."""
    others: tuple[AdviceRow, ...]
    """Findings of other rules that save more than ``SILENT``."""
    without: tuple[AdviceRow, ...]
    """Findings on the program without the fault that save more than ``SILENT``."""
    remains: bool
    """Whether an expected rule still finds it there, with a greater share than ``SILENT``."""

    @property
    def gains(self) -> bool:
        """Whether the fault costs anything without a profiler."""
        return self.gain_ns > self.gain_error_ns

    @property
    def saving_ns(self) -> int:
        """Return the savings of a step together."""
        if not self.found:
            return 0
        most = self.found[0]
        return round(self.share * (most.saving_per_step_ns or 0) / (most.saving_share or 1.0))

    @property
    def share(self) -> float:
        """Return the savings together, as a share of the step without the profiler."""
        return together(self.found)

    @property
    def ratio(self) -> float | None:
        """Return the saving as a multiple of the gain; None without a saving or a gain."""
        return self.saving_ns / self.gain_ns if self.saving_ns and self.gains else None

    @property
    def is_right(self) -> bool:
        """Whether the saving is within ``FACTOR`` of the gain, or small where there is no gain."""
        if not self.gains:
            return self.share < SILENT
        return self.ratio is not None and 1 / FACTOR <= self.ratio <= FACTOR


def rows(folder: Path) -> Iterator[Row]:
    """Yield the faults of a folder."""
    for name, truth in json.loads((folder / TRUTH).read_text())["pairs"].items():
        before, after = (
            advise(load(folder / name / f"{form}.1.pt.trace.json.gz"))
            for form in ("before", "after")
        )
        above = loud(after)
        yield Row(
            name,
            truth["fix"],
            truth["before_ns"],
            truth["before_ns"] - truth["after_ns"],
            truth["gain_error_ns"],
            1 - truth["recorded_after_ns"] / truth["recorded_before_ns"],
            expected(before, RULES_OF[name]),
            tuple(row for row in loud(before) if row.rule not in RULES_OF[name]),
            above,
            any(row.rule in RULES_OF[name] for row in above),
        )


def loud(advice: Advice) -> tuple[AdviceRow, ...]:
    """Return the findings that save more than ``SILENT``."""
    return tuple(row for row in advice.rows if (row.saving_share or 0) > SILENT)


def expected(advice: Advice, rules: Sequence[str]) -> tuple[AdviceRow, ...]:
    """Return the findings of these rules with a saving, the greatest first."""
    found = [row for row in advice.rows if row.rule in rules and row.saving_ns]
    return tuple(sorted(found, key=lambda row: -(row.saving_ns or 0)))


def cells(row: Row) -> tuple[str, ...]:
    """Return a row of the table."""
    return (
        f"`{row.name}`: {row.what}",
        f"{row.gain_ns / row.step_ns:.1%}",
        f"{row.recorded_gain:.1%}",
        ", ".join(dict.fromkeys(f"`{each.rule}`" for each in row.found)),
        f"{row.share:.1%}" if row.found else "",
        "" if row.ratio is None else f"{row.ratio:.2f}",
        named(row.without),
    )


def named(found: Sequence[AdviceRow]) -> str:
    """Return findings as a cell of a table."""
    return ", ".join(f"`{row.rule}` {row.saving_share or 0:.1%}" for row in found) or "nothing"


def tuned_report(folder: Path) -> str:
    """Return the table of tuned programs, in Markdown."""
    table = [TUNED_COLUMNS]
    for name, truth in json.loads((folder / TRUTH).read_text())["pairs"].items():
        advice = advise(load(folder / name / f"{BEFORE}.pt.trace.json.gz"))
        step = f"{truth['before_ns'] / 1e6:.1f} ms"
        most = max(advice.rows, key=lambda row: row.saving_ns or 0, default=None)
        table.append((
            f"`{name}`: {truth['fix']}", truth["device"], step, named(loud(advice)),
            named([most] if most else []),
        ))  # fmt: skip
    return "\n".join(lines(table, markdown=True))


def report(folder: Path) -> str:
    """Return the tables of both sets and their figures, in Markdown."""
    table = list(rows(folder))
    held = [row for row in table if row.name in HELD]
    parts = []
    for title, some in (
        ("Developed", [row for row in table if row.name not in HELD]),
        ("Held", held),
    ):
        if some:
            parts += [f"{title}:", "", *lines((COLUMNS, *map(cells, some)), markdown=True), ""]
    sets = (("developed", [row for row in table if row.name not in HELD]), ("held", held))
    figures = [
        ("", "faults", "found", "saving within a factor of two", "gone without it", "median ratio"),
        *(figures_of(name, some) for name, some in sets if some),
    ]
    return "\n".join([*parts, *lines(tuple(figures), markdown=True)])


def figures_of(name: str, table: Sequence[Row]) -> tuple[str, ...]:
    """Return how many faults of a set are found, right and gone."""
    ratios = [row.ratio for row in table if row.ratio is not None]
    return (
        name,
        str(len(table)),
        str(sum(bool(row.found) == row.gains for row in table)),
        str(sum(row.is_right for row in table)),
        str(sum(not row.remains for row in table)),
        f"{statistics.median(ratios):.2f}" if ratios else "",
    )
