"""Compare predicted with real gains: a row for each pair, and figures over all of them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.pairs import prediction
from benchmarks.pairs.pair import RECORDED, SHARED, RecordedPair, is_held
from benchmarks.pairs.record import BEFORE, TRUTH, trace_in

COLUMNS = (
    "pair", "fix", "device", "step, ms", "real gain", "recorded step, ms", "recorded gain",
    "predicted gain", "inside", "error", "recorded inside", "recorded error", "held",
)  # fmt: skip

BEGIN, END = "<!-- pairs: generated -->", "<!-- end of the pairs -->"


@dataclass(frozen=True)
class Gain:
    """A gain as it was, and as it was predicted, in one unit."""

    real: float
    predicted: float
    low: float
    high: float
    doubt: float = 0.0
    """The uncertainty of the real gain."""

    @property
    def meets(self) -> bool:
        """Whether the predicted range meets the real gain with its uncertainty."""
        return self.low - self.doubt <= self.real <= self.high + self.doubt

    @property
    def inside(self) -> bool:
        """Whether the real gain lies in the predicted range."""
        return self.low <= self.real <= self.high

    @property
    def error(self) -> float:
        """How far off the prediction is, as a share of the real gain."""
        return abs(self.predicted - self.real) / max(abs(self.real), 1e-9)

    @property
    def width(self) -> float:
        """How wide the predicted range is, as a share of the predicted gain."""
        return (self.high - self.low) / max(abs(self.predicted), 1e-9)


@dataclass(frozen=True)
class Row:
    """A pair: what was measured, and what was predicted."""

    name: str
    truth: dict[str, Any]
    prediction: prediction.Prediction

    @property
    def held(self) -> bool:
        """Whether the pair is set aside."""
        return is_held(self.name)

    @property
    def baseline_error(self) -> float:
        """By how much of a step the replay without changes misses the recorded step."""
        found = self.prediction
        return abs(found.replayed_ns - found.measured_ns) / found.measured_ns

    def step(self, form: str) -> float:
        """Return the time of a step without the profiler, ns: ``before``, ``after``."""
        work = self.truth["work"] if form.endswith("after") else 1
        return float(self.truth[f"{form}_ns"]) / work

    def gain(self, truth: str) -> Gain:
        """Return the gain by one of ``TRUTHS``."""
        prefix = "recorded_" if truth == "recorded" else ""
        before = self.step(f"{prefix}before")
        real = before - self.step(f"{prefix}after")
        found = self.prediction
        unit, of = (before, found.net_ns) if truth == "share" else (1e6, 1e6)
        doubt = self.truth["gain_error_ns"] / unit
        return Gain(real / unit, found.gain_ns / of, found.low_ns / of, found.high_ns / of, doubt)


TRUTHS = {
    "real": "real steps, in ms",
    "share": "real steps, as a share of the step",
    "recorded": "steps under the profiler, in ms",
}


def rows(folder: Path) -> Iterator[Row]:
    """Yield the pairs of a folder, and the shared recordings where they are."""
    truth = json.loads((folder / TRUTH).read_text())
    for name, one in truth["pairs"].items():
        path = folder / name / f"{BEFORE}.pt.trace.json.gz"
        yield Row(name, one, prediction.predict(path, one["changes"], one["work"]))
    if SHARED.exists():
        yield from map(shared, RECORDED)


def shared(pair: RecordedPair) -> Row:
    """Return the row of two recordings: their own steps, usual ones, are all that is known."""
    before, after = (trace_in(SHARED / each) for each in (pair.before, pair.after))
    was, now = (statistics.median(prediction.steps_ns(path)) for path in (before, after))
    truth = {
        "fix": pair.fix,
        "device": pair.device,
        "work": 1,
        "before_ns": was,
        "after_ns": now,
        "gain_error_ns": 0,
        "recorded_before_ns": was,
        "recorded_after_ns": now,
    }
    return Row(pair.name, truth, prediction.predict(before, pair.changes))


def cells(row: Row) -> tuple[str, ...]:
    """Return a row of the table, milliseconds and per cent."""
    real, recorded = row.gain("real"), row.gain("recorded")
    route = " (inferred)" if row.truth.get("route") == "inferred" else ""
    error = row.truth["gain_error_ns"] / 1e6
    return (
        row.name,
        row.truth["fix"],
        row.truth["device"] + route,
        f"{row.step('before') / 1e6:.2f} → {row.step('after') / 1e6:.2f}",
        f"{real.real:.2f} ± {error:.2f}",
        f"{row.step('recorded_before') / 1e6:.2f} → {row.step('recorded_after') / 1e6:.2f}",
        f"{recorded.real:.2f}",
        f"{real.predicted:.2f} ({real.low:.2f} to {real.high:.2f})",
        yes(real.inside),
        f"{real.error:.0%}",
        yes(recorded.inside),
        f"{recorded.error:.0%}",
        "held" if row.held else "",
    )


def yes(is_so: bool) -> str:
    """Return a cell."""
    return "yes" if is_so else "no"


def inside_share(gains: Sequence[Gain]) -> float:
    """Return the share of gains in their predicted range."""
    return sum(each.inside for each in gains) / len(gains)


def median_error(gains: Sequence[Gain]) -> float:
    """Return the median error, as a share of the gain."""
    return statistics.median(each.error for each in gains)


def summary(table: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """Yield the figures over pairs: all, those developed on, and those held."""
    yield (
        "judged by", "pairs", "number", "inside", "inside with ±", "median error", "median width",
    )  # fmt: skip
    for truth, title in TRUTHS.items():
        for name, chosen in (
            ("all", list(table)),
            ("developed", [row for row in table if not row.held]),
            ("held", [row for row in table if row.held]),
        ):
            gains = [row.gain(truth) for row in chosen]
            if gains:
                met = sum(gain.meets for gain in gains) / len(gains)
                width = statistics.median(gain.width for gain in gains)
                figures = (inside_share(gains), met, median_error(gains), width)
                yield title, name, str(len(gains)), *(f"{figure:.0%}" for figure in figures)


def lines(table: Iterable[Sequence[str]], *, markdown: bool) -> Iterator[str]:
    """Yield a table's lines; its first row is the heading."""
    for number, row in enumerate(table):
        yield "| " + " | ".join(row) + " |" if markdown else "\t".join(row)
        if markdown and number == 0:
            yield "|" + "---|" * len(row)


def write(text: str, document: Path) -> None:
    """Replace the tables of a document, which stand between two comments."""
    begin, _, rest = document.read_text().partition(BEGIN)
    _, _, end = rest.partition(END)
    document.write_text(f"{begin}{BEGIN}\n\n{text}\n\n{END}{end}")


def report(folder: Path, *, markdown: bool) -> str:
    """Return both tables as text."""
    table = list(rows(folder))
    return "\n".join(
        [
            *lines((COLUMNS, *map(cells, table)), markdown=markdown),
            "",
            *lines(summary(table), markdown=markdown),
        ]
    )
