"""Reports of a check against a baseline: text, Markdown, JUnit XML and SARIF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tb_privateuse1.analysis.comparison.baseline_check import (
    FAILED,
    Check,
    Checked,
    CheckedOperator,
)
from tb_privateuse1.analysis.comparison.run_figures import Unit
from tb_privateuse1.export.reports.junit import Case, junit_suite
from tb_privateuse1.export.reports.markdown_text import code, table
from tb_privateuse1.export.reports.sarif import sarif_log, sarif_result
from tb_privateuse1.i18n.units import plain_text, with_unit

_OPERATORS = 10
"""The most operators of a report."""

_HEADS = ("Per step", "Baseline", "Now", "Change", "", "± noise", "± bound", "Limit", "Verdict")

_DOUBTS = {
    "circumstances": "recorded under other conditions",
    "no_bound": "its error bound is unknown",
    "quickest_steps": "only some steps are slower, which other programs can cause",
    "noise": "noise hides a change of the limit: record more runs",
    "bound": "the error bound of inferred times is larger than the change or the limit",
    "missing": "only one side has it",
}


def format_figure(unit: Unit, value: float | None) -> str:
    """Return a figure with its unit; ``-`` if it is missing."""
    if value is None:
        return "-"
    if unit == "count":
        return f"{value:,.1f}".removesuffix(".0")
    return with_unit("_ns" if unit == "ns" else "_bytes", round(value))


def verdict_text(one: Checked) -> str:
    """Return a verdict in words, with the reason if it cannot tell."""
    words = one.verdict.replace("_", " ")
    return words if one.doubt is None else f"{words}: {_DOUBTS[one.doubt]}"


def change_line(one: Checked) -> str:
    """Return a change in one line."""
    noise = "" if not one.noise else f" ± {format_figure(one.unit, one.noise)}"
    return (
        f"{plain_text(one.name)}: {format_figure(one.unit, one.base)} -> "
        f"{format_figure(one.unit, one.now)} per step, {_signed(one)}{noise} "
        f"({with_unit('change_share', one.change_share)}, "
        f"limit {format_figure(one.unit, one.limit)}), {verdict_text(one)}"
    )


def check_text(check: Check) -> str:
    """Return the check for a terminal."""
    rows = [_HEADS, *(_cells(one, plain_text(one.name)) for one in check.metrics)]
    lines = [_summary(check), "", *_aligned(rows)]
    if changed := _changed(check):
        heads = (f"Operator, {check.time} time", *_HEADS[1:])
        rows = [heads, *(_cells(one.figure, plain_text(one.figure.name)) for one in changed)]
        lines += ["", *_aligned(rows), ""]
        lines += [f"  {note}" for one in changed for note in _notes(one)]
    return "\n".join([*lines, "", *_warnings(check)]).rstrip() + "\n"


def check_markdown(check: Check) -> str:
    """Return the check for a job's summary or a comment; failed figures are bold."""
    lines = [f"### {plain_text(_summary(check))}", ""]
    lines += table(_HEADS, (_cells(one, _bold(one, one.name)) for one in check.metrics))
    if changed := _changed(check):
        heads = (f"Operator, {check.time} time", *_HEADS[1:])
        cells = (_cells(one.figure, code(one.figure.name)) for one in changed)
        lines += ["", *table(heads, cells), ""]
        lines += [f"- {code(note)}" for one in changed for note in _notes(one)]
    return "\n".join([*lines, "", *_warnings(check)]).rstrip() + "\n"


def check_junit(check: Check) -> bytes:
    """Return a test case per metric, and per operator; an uncertain one is skipped."""
    figures = [*check.metrics, *(one.figure for one in check.operators)]
    kinds = ["metric"] * len(check.metrics) + ["operator"] * len(check.operators)
    cases = [
        Case(
            f"baseline.{plain_text(check.name)}.{kind}",
            plain_text(one.name),
            one.now if one.unit == "ns" else None,
            change_line(one) if one.name in check.failed else None,
            verdict_text(one) if one.doubt else None,
        )
        for one, kind in zip(figures, kinds, strict=True)
    ]
    return junit_suite("tb-privateuse1 baseline", cases)


def check_sarif(check: Check) -> str:
    """Return a result per metric over its limit, and per slower operator at its function."""
    rules = [
        {"id": f"baseline-{kind}", "shortDescription": {"text": text}}
        for kind, text in (
            ("metric", "A figure of the step exceeds the baseline"),
            ("operator", "An operator is slower than in the baseline"),
        )
    ]
    results = [
        sarif_result("baseline-metric", "error", change_line(one), None, _properties(one))
        for one in check.metrics
        if one.name in check.failed
    ]
    results += [
        sarif_result(
            "baseline-operator",
            "error" if one.figure.name in check.failed else "warning",
            change_line(one.figure), one.where, _properties(one.figure),
        )
        for one in check.operators
        if one.figure.verdict in FAILED
    ]  # fmt: skip
    return sarif_log(rules, results)


def _properties(one: Checked) -> dict[str, object]:
    return {"unit": one.unit, "base": one.base, "now": one.now, "noise": one.noise}


def _summary(check: Check) -> str:
    runs = f"{check.now_runs} run{'s' * (check.now_runs != 1)} of {check.now_steps} steps"
    doubts = sum(one.verdict == "cannot_tell" for one in check.metrics)
    result = f"over the limit: {', '.join(check.failed)}" if check.failed else "within the limits"
    doubt = f", {doubts} uncertain" if doubts else ""
    return f"{check.name}: {result}{doubt} ({runs}, baseline of {check.base_runs})"


def culprits(check: Check) -> Sequence[CheckedOperator]:
    """Return the operators that are slower or new, the greatest change first."""
    return [
        one
        for one in check.operators
        if one.figure.verdict in FAILED or (one.status == "new" and one.figure.now)
    ]


def _changed(check: Check) -> list[CheckedOperator]:
    wanted = [one for one in check.operators if one.figure.verdict in (*FAILED, "faster")]
    wanted += [one for one in check.operators if one.figure.doubt == "missing"]
    order = {id(one): i for i, one in enumerate(check.operators)}
    return sorted(wanted, key=lambda one: order[id(one)])[:_OPERATORS]


def _notes(one: CheckedOperator) -> Iterator[str]:
    """Yield what else is known of an operator: its calls, its status and its function."""
    name = plain_text(one.figure.name)
    if one.status != "both":
        yield f"{name}: {'only now' if one.status == 'new' else 'no longer called'}"
    elif one.figure.base is None:
        yield f"{name}: too little time in the baseline to be listed there"
    for what, base, now in (
        ("calls", one.base_calls, one.now_calls),
        ("launches", one.base_launches, one.now_launches),
    ):
        if base is not None and now is not None and base != now:
            yield (
                f"{name}: {format_figure('count', base)} -> {format_figure('count', now)} "
                f"{what} per step"
            )
    if one.where is not None:
        yield f"{name}: in {plain_text(str(one.where))}"


def _warnings(check: Check) -> Iterator[str]:
    for one in check.differences:
        effect = "" if one.is_comparable else ": its times are not comparable"
        name = one.name.replace("_", " ")
        yield plain_text(f"Other {name} than the baseline's ({one.base} -> {one.now}){effect}.")
    if check.base_runs < 2:
        yield (
            "The baseline has one run: the noise between runs is unknown. Write it from several."
        )


def _bold(one: Checked, name: str) -> str:
    return f"**{name}**" if one.verdict in FAILED else name


def _signed(one: Checked) -> str:
    if one.change is None:
        return "-"
    return f"{'+' if one.change > 0 else ''}{format_figure(one.unit, one.change)}"


def _cells(one: Checked, name: str) -> tuple[str, ...]:
    return (
        name,
        format_figure(one.unit, one.base),
        format_figure(one.unit, one.now),
        _signed(one),
        with_unit("change_share", one.change_share),
        format_figure(one.unit, one.noise),
        format_figure(one.unit, one.bound),
        format_figure(one.unit, one.limit),
        verdict_text(one),
    )


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    last = len(widths) - 1
    for row in rows:
        cells = (
            cell.ljust(width) if i in (0, last) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
