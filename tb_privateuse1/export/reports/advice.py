"""Reports of advice: text for a terminal, Markdown for a comment, SARIF for code scanning."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tb_privateuse1.advice.engine import AdviceRow
from tb_privateuse1.advice.rank_engine import RankAdvice
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.rule import Rule
from tb_privateuse1.export.reports.markdown_text import code, escaped
from tb_privateuse1.export.reports.sarif import Level, sarif_log, sarif_result
from tb_privateuse1.i18n.units import percent, plain_text, with_range, with_unit
from tb_privateuse1.views.advice import AdviceTable
from tb_privateuse1.views.distributed import Distributed

_WIDTH = 96
"""The width of a finding's text, in columns."""

_FEW = 5
"""The most ranks that a report names."""

_OF_CODE = ("Before:", "After:")
"""The heads of facts that are code."""

SAVING_LIMITS = ("saving_low_share", "saving_high_share")

_LEVELS: Mapping[str, Level] = {"high": "error", "medium": "warning", "low": "note", "note": "note"}


def advice_text(result: AdviceTable) -> str:
    """Return the findings with their fix, place and evidence."""
    return "\n".join(plain_text(line) for line in _text(result)) + "\n"


def rank_advice_text(result: Distributed) -> str:
    """Return the findings over all ranks, with the ranks that show them."""
    return "\n".join(plain_text(line) for line in _of_ranks(result)) + "\n"


def advice_markdown(result: AdviceTable) -> str:
    """Return the findings as a list; names from the trace are escaped."""
    lines = [escaped(result.recording.sentence), "", f"**{escaped(saving_sentence(result))}**", ""]
    if result.read:
        lines += [escaped(result.read), ""]
    for row in result.rows:
        saved = "" if row.saving_share is None else f": {_saving(row)}"
        lines.append(f"- **{row.severity.capitalize()}: {escaped(row.title)}**{saved}")
        lines += [f"  {escaped(row.explanation)}", f"  *Fix:* {escaped(row.fix)}"]
        if row.code is not None:
            for word, program in (("Before", row.code.before), ("After", row.code.after)):
                lines += [
                    f"  *{word}:*",
                    "  ```",
                    *textwrap.indent(program, "  ").split("\n"),
                    "  ```",
                ]
        if row.where is not None:
            lines.append(f"  *Where:* {escaped(str(row.where))}")
        if row.change is not None:
            lines.append(f"  *What-if:* {code(row.change)}")
        if row.next is not None:
            lines.append(f"  *Next limit:* {escaped(row.next.statement)}")
        if row.trial is not None:
            lines.append(f"  *Try:* {code(row.trial)}")
    if result.fine:
        fine = " ".join(escaped(row.statement) for row in result.fine)
        lines += ["", f"Checked and fine: {fine}"]
    if result.open:
        lines += ["", "No remedy known:", ""]
        lines += [f"- {escaped(row.statement)}" for row in result.open]
    for sentence in filter(None, (result.unasked, result.missing)):
        lines += ["", escaped(sentence)]
    return "\n".join(lines) + "\n"


def advice_sarif(result: AdviceTable, rules: Iterable[Rule] | None = None) -> str:
    """Return a SARIF 2.1.0 log with a result per finding; its place is the function.

    ``rules``: by default the built-in ones.
    """
    listed = [
        {
            "id": rule.name,
            "name": rule.title,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": f"{rule.looks_for} {rule.why}"},
            "help": {"text": rule.fix},
        }
        for rule in (RULES.values() if rules is None else rules)
    ]
    return sarif_log(listed, [_result(row) for row in result.rows])


def saving_sentence(result: AdviceTable) -> str:
    """Return how much of the judged steps, or time, the findings could save together."""
    where = _judged_steps(result)
    if not result.rows:
        return f"No findings in {where}."
    where += f" of {with_unit('judged_net_ns', result.judged_net_ns // max(result.steps, 1))}"
    if result.judged_net_ns < result.judged_ns:
        where += ", without the profiler's own time,"
    if not result.saving_share:
        return f"No finding in {where} has an estimated saving."
    return f"About {with_unit('saving_share', result.saving_share)} of {where} could be saved."


def _judged_steps(result: AdviceTable) -> str:
    """Return how many steps are judged, if the window has recorded ones."""
    if not has_steps(result):
        return "the analyzed time"
    return f"{result.steps} step{'s' * (result.steps != 1)}"


def has_steps(result: AdviceTable) -> bool:
    """Return whether the window has recorded steps; else its time is no step's."""
    window = result.provenance.window
    return window is None or window.recorded_steps > 0


def _text(result: AdviceTable) -> Iterator[str]:
    yield from textwrap.wrap(f"{result.recording.sentence} {result.recording.hint}", _WIDTH)
    yield saving_sentence(result)
    yield from textwrap.wrap(result.read, _WIDTH)
    for row in result.rows:
        yield from _finding(row, _facts(row))
    if result.fine:
        yield ""
        yield "Checked and fine:"
        yield from (f"  {row.statement}" for row in result.fine)
    if result.open:
        yield ""
        yield "No remedy known:"
        yield from (f"  {row.statement}" for row in result.open)
    for sentence in filter(None, (result.unasked, result.missing)):
        yield ""
        yield from textwrap.wrap(sentence, _WIDTH)


def _finding(row: AdviceRow | RankAdvice, facts: Iterable[tuple[str, str]]) -> Iterator[str]:
    saved = "" if row.saving_share is None else percent(-row.saving_share)
    yield ""
    yield f"{row.severity.upper():6} {saved:>8}  {row.title}"
    for head, body in facts:
        for line in _wrapped(head, body):
            yield f"{'':17}{line}"


def _wrapped(head: str, body: str) -> list[str]:
    """Return a fact in lines; code, which has lines of its own, stays as it is."""
    if head in _OF_CODE:
        return [head, *textwrap.indent(body, "    ").split("\n")]
    return textwrap.wrap(head + body, _WIDTH, break_on_hyphens=False)


def _facts(row: AdviceRow) -> Iterator[tuple[str, str]]:
    yield "", row.explanation
    yield "Fix: ", row.fix
    if row.code is not None:
        yield from zip(_OF_CODE, (row.code.before, row.code.after), strict=True)
    if row.where is not None:
        yield "Where: ", str(row.where)
    if row.evidence:
        first = row.evidence[0]
        yield f"Events: {row.events:,}, such as ", f"{first.table} {first.row}: {first.name}"
    if row.saving_share is not None:
        yield "Saves: ", _saving(row)
    yield "Computed: ", row.how
    if row.change is not None:
        yield "What-if: ", row.change
    if row.next is not None:
        yield "Next limit: ", row.next.statement
    if row.trial is not None:
        yield "Try: ", row.trial
    lacks = f"; the profile lacks {'; '.join(row.lacks)}" if row.lacks else ""
    yield "Confidence: ", row.confidence + lacks


def _saving(row: AdviceRow) -> str:
    """Return what a finding saves alone with its range, and behind those above it."""
    saved = with_range(row, "saving_share", SAVING_LIMITS)
    if row.behind_share is None:
        return saved
    return f"{saved}, behind those above {percent(row.behind_share)}"


def _of_ranks(result: Distributed) -> Iterator[str]:
    count = len(result.rows)
    scope = f"in {count:,} rank{'s' * (count != 1)} together."
    yield f"Findings {scope}" if result.advice else f"No findings {scope}"
    for row in result.advice:
        notes = "; ".join(f"rank {one.rank}: {one.note}" for one in row.evidence[:_FEW])
        facts = (
            ("", row.explanation),
            *(("Shows as: ", one.title) for one in row.symptoms),
            ("Fix: ", row.fix),
            (f"Ranks: {len(row.evidence)}, such as ", notes),
            ("Computed: ", row.how),
            ("Confidence: ", row.confidence),
        )
        yield from _finding(row, facts)


def _result(row: AdviceRow) -> dict[str, Any]:
    properties = {
        "severity": row.severity,
        "confidence": row.confidence,
        "saving_ns": row.saving_ns,
        "saving_share": row.saving_share,
        "behind_share": row.behind_share,
        "change": row.change,
    }
    message = f"{row.title}. {row.explanation} Fix: {row.fix}"
    return sarif_result(row.rule, _LEVELS[row.severity], message, row.where, properties)
