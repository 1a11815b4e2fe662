"""The report in Markdown, short enough for a comment on a pull request.

It has the verdict, key figures, the findings with most to save, and the tables' first rows; of a
diff why the step changed, and what changed most. Where it would be too long, rows are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from tb_privateuse1.advice.engine import AdviceRow
from tb_privateuse1.analysis.kernels.time_groups import By
from tb_privateuse1.export.reports.advice import SAVING_LIMITS, has_steps, saving_sentence
from tb_privateuse1.export.reports.html.contents import (
    DiffReport,
    Report,
    ReportPlace,
    TraceReport,
)
from tb_privateuse1.export.reports.markdown import markdown_report
from tb_privateuse1.export.reports.markdown_text import code, escaped, table
from tb_privateuse1.i18n.units import shorten, with_bound, with_range, with_unit
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.views.lookups.hotspots import Hotspots
from tb_privateuse1.views.overview import Overview

MOST_LETTERS = 4000
_MOST_ROWS = 5
_LONGEST_NAME = 60
_LONGEST_SENTENCE = 300
_OF_TIMES = {
    "measured": "measured",
    "inferred": "inferred: figures have an error bound (±)",
    "none": "not recorded",
}
_GROUPS: dict[By, str] = {
    "operator": "Operator",
    "kernel": "Kernel",
    "module": "Module",
    "function": "Function",
    "annotation": "Annotation",
}
_WITHOUT: dict[By, str] = {
    "operator": "launched by no operator",
    "kernel": "without a name",
    "module": "outside of modules",
    "function": "without a function",
    "annotation": "outside of annotations",
}
_LONGEST_COMMAND = 200


def markdown(report: Report, most_letters: int = MOST_LETTERS) -> str:
    """Return the report in Markdown, of at most ``most_letters`` unless not even one row fits."""
    text = ""
    for rows in range(_MOST_ROWS, 0, -1):
        text = "\n".join(_lines(report, rows)).rstrip() + "\n"
        if len(text) <= most_letters:
            break
    return text


def _lines(report: Report, rows: int) -> Iterator[str]:
    if report.trace is not None:
        yield from _of_trace(report.trace, rows)
    if report.diff is not None:
        yield from _of_diff(report.diff, rows)
    yield ""
    yield f"*tb_privateuse1 {report.version}: {code(shorten(report.command, _LONGEST_COMMAND))}*"


def _of_trace(found: TraceReport, rows: int) -> Iterator[str]:
    overview = found.overview
    yield f"## Profile of {code(_short(_name(found.place)))}"
    yield ""
    yield from _failures(found, overview.failures if overview else ())
    if overview is not None:
        yield from _summary(overview)
    yield from _ranks(found, rows)
    if found.advice is not None:
        yield ""
        yield f"### {escaped(saving_sentence(found.advice))}"
        yield ""
        for number, row in enumerate(found.advice.rows[:rows], 1):
            yield f"{number}. {_finding(row, has_steps(found.advice))}"
        yield from _more(len(found.advice.rows) - rows)
    for one in found.hotspots:
        yield from _top(one.by, one.result, rows)


def _failures(found: TraceReport | DiffReport, cards: tuple[Finding, ...] = ()) -> Iterator[str]:
    """Yield a line for each part, and for each card of the overview, that failed."""
    failed = [*cards, *(one.finding for one in found.failures)]
    yield from (f"- {_sentence(one.message)}" for one in failed)
    yield from ("",) if failed else ()


def _summary(overview: Overview) -> Iterator[str]:
    if overview.recording is not None:
        yield _sentence(overview.recording.sentence)
        yield ""
    if overview.verdict is not None:
        yield f"**{_sentence(overview.verdict.sentence)}**"
        yield ""
    yield from table(("Figure", "Value"), _figures(overview))


def _figures(overview: Overview) -> Iterator[list[str]]:
    totals, use = overview.totals, overview.use
    window = overview.provenance.window
    rows = (
        ("Window", window.text if window else "-"),
        ("Average step", with_bound(overview, "average_step_ns", "average_step_bound_ns")),
        ("Device busy", with_range(overview, "utilization", _limits("utilization"))),
        ("MFU", with_range(use, "mfu", _limits("mfu"))),
        ("Kernels", with_unit("kernels", totals.kernels)),
        ("Recording", with_unit("duration_ns", overview.duration_ns)),
    )
    yield from ([name, value] for name, value in rows if value != "-")
    yield ["Device times", _OF_TIMES[overview.provenance.timeline]]


def _limits(name: str) -> tuple[str, str]:
    return f"{name}_low", f"{name}_high"


def _ranks(found: TraceReport, rows: int) -> Iterator[str]:
    """Yield the findings over all ranks."""
    if found.distributed is None:
        return
    advice = found.distributed.advice
    yield ""
    yield f"{len(found.place.ranks):,} ranks; the figures are of rank {found.place.rank}."
    if advice:
        yield ""
        for row in advice[:rows]:
            yield f"- **{row.severity.capitalize()}: {_sentence(row.title)}** {_sentence(row.fix)}"
        yield from _more(len(advice) - rows)


def _finding(row: AdviceRow, with_steps: bool) -> str:
    saved = ""
    if row.saving_share is not None:
        saved = f" -{with_range(row, 'saving_share', SAVING_LIMITS)}"
    if row.saving_per_step_ns:
        each = " per step" if with_steps else ""
        saved += f", {with_unit('saving_ns', row.saving_per_step_ns)}{each}"
    if row.behind_share is not None:
        saved += f", behind those above -{with_unit('saving_share', row.behind_share)}"
    where = "" if row.where is None else f" {code(_short(row.where.title))}"
    title = f"**{row.severity.capitalize()}: {_sentence(row.title)}**"
    return f"{title}{escaped(saved)}{where} {_sentence(row.fix)}"


def _top(by: By, hotspots: Hotspots, rows: int) -> Iterator[str]:
    if not hotspots.rows:
        return
    yield ""
    whose = "Device" if hotspots.measure == "device" else "Host"
    cells = (
        [
            code(_short(row.name or row.launcher or _WITHOUT[by])),
            with_bound(row, "step_ns", "bound_ns"),
            with_unit("share", row.share),
        ]
        for row in hotspots.rows[:rows]
    )
    yield from table((_GROUPS[by], f"{whose} time", "Of step"), cells)
    yield from _more(hotspots.total_rows - rows)


def _of_diff(found: DiffReport, rows: int) -> Iterator[str]:
    before, now = (code(_short(_name(place))) for place in (found.base, found.place))
    yield f"## From {before} to {now}"
    yield ""
    yield from _failures(found)
    for diff in found.diffs[:1]:
        yield from markdown_report(diff, most_rows=rows).splitlines()


def _more(count: int) -> Iterator[str]:
    if count > 0:
        yield ""
        yield f"… and {count:,} more."


def _name(place: ReportPlace) -> str:
    name = place.run if len(place.ranks) == 1 else f"{place.run}, rank {place.rank}"
    if place.recorded_ns is None:
        return name
    return f"{name}, {datetime.fromtimestamp(place.recorded_ns // 10**9, UTC):%Y-%m-%d}"


def _short(text: str) -> str:
    return shorten(text, _LONGEST_NAME)


def _sentence(text: str) -> str:
    return escaped(shorten(text, _LONGEST_SENTENCE))
