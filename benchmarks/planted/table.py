"""Compare the advice on programs with planted faults with what the faults' removal gained."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pairs.prediction import load
from benchmarks.pairs.record import BEFORE, TRUTH
from benchmarks.pairs.table import lines
from benchmarks.planted.expected import RULES_OF
from tb_privateuse1.advice.engine import Advice, AdviceRow, advise

COLUMNS = (
    "fault", "gain without a profiler", "gain as recorded", "found by", "saving",
    "times the recorded gain", "without it",
)  # fmt: skip

TUNED_COLUMNS = ("tuned program", "device", "step", "findings above 3 %", "the greatest of all")

FACTOR = 2
"""A saving between the gain divided by this and multiplied by it counts as right."""

SILENT = 0.03
"""A tuned program must not have a finding with a greater share of the step."""


@dataclass(frozen=True)
class Row:
    """A planted fault: what its removal gained, and what the advice says with it and without it."""

    name: str
    what: str
    real: float
    """The gain without a profiler, as a share of the step."""
    step_ns: int
    gain_ns: int
    expected: tuple[AdviceRow, ...]
    """The findings of expected rules."""
    others: tuple[AdviceRow, ...]
    """Findings of other rules that save more than ``SILENT``."""
    without: tuple[AdviceRow, ...]
    """Findings on the program without the fault that save more than ``SILENT``."""
    remains: bool
    """Whether an expected rule still finds it there, with a greater share than ``SILENT``."""

    @property
    def found(self) -> AdviceRow | None:
        """Return the finding of an expected rule with the greatest saving; None without any."""
        return max(self.expected, key=lambda row: row.saving_ns or 0, default=None)

    @property
    def ratio(self) -> float | None:
        """Return the saving as a multiple of the gain; None without a saving or a gain."""
        saving = self.found.saving_per_step_ns if self.found else None
        return saving / self.gain_ns if saving is not None and self.gain_ns > 0 else None

    @property
    def is_right(self) -> bool:
        """Whether it was found, and its saving is within ``FACTOR`` of the gain."""
        return self.ratio is not None and 1 / FACTOR <= self.ratio <= FACTOR


def rows(folder: Path) -> Iterator[Row]:
    """Yield the faults of a folder."""
    for name, truth in json.loads((folder / TRUTH).read_text())["pairs"].items():
        before, after = (
            advise(load(folder / name / f"{form}.1.pt.trace.json.gz"))
            for form in ("before", "after")
        )
        # Recorded steps: a saving is of the recording, whose steps are longer than others.
        step, other = truth["recorded_before_ns"], truth["recorded_after_ns"]
        above = loud(after)
        yield Row(
            name,
            truth["fix"],
            1 - truth["after_ns"] / truth["before_ns"],
            step,
            step - other,
            tuple(row for row in before.found if row.rule in RULES_OF[name]),
            tuple(row for row in loud(before) if row.rule not in RULES_OF[name]),
            above,
            any(row.rule in RULES_OF[name] for row in above),
        )


def loud(advice: Advice) -> tuple[AdviceRow, ...]:
    """Return the findings that save more than ``SILENT``."""
    return tuple(row for row in advice.found if (row.saving_share or 0) > SILENT)


def cells(row: Row) -> tuple[str, ...]:
    """Return a row of the table."""
    found = row.found
    return (
        f"`{row.name}`: {row.what}",
        f"{row.real:.1%}",
        f"{row.gain_ns / row.step_ns:.1%}",
        f"`{found.rule}`" if found else "",
        f"{found.saving_share:.1%}" if found and found.saving_share is not None else "",
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
        most = max(advice.found, key=lambda row: row.saving_ns or 0, default=None)
        table.append((
            f"`{name}`: {truth['fix']}", truth["device"], step, named(loud(advice)),
            named([most] if most else []),
        ))  # fmt: skip
    return "\n".join(lines(table, markdown=True))


def report(folder: Path) -> str:
    """Return the table and its figures, in Markdown."""
    table = list(rows(folder))
    ratios = [row.ratio for row in table if row.ratio is not None]
    figures = (
        ("faults", "found", "saving within a factor of two", "gone without it", "median ratio"),
        (
            str(len(table)),
            str(sum(row.found is not None for row in table)),
            str(sum(row.is_right for row in table)),
            str(sum(not row.remains for row in table)),
            f"{statistics.median(ratios):.2f}" if ratios else "",
        ),
    )
    return "\n".join(
        [*lines((COLUMNS, *map(cells, table)), markdown=True), "", *lines(figures, markdown=True)]
    )
