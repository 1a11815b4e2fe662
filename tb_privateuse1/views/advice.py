"""Findings with their estimated savings and evidence, the largest first."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tb_privateuse1.advice import engine
from tb_privateuse1.advice.fine import FineRow
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.base import CAUSES, Rule
from tb_privateuse1.analysis.recording.summary import Recording, summary
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.base import Provenance, StepOption, provenance, step_row
from tb_privateuse1.views.result import Result


class CauseRow(Struct, frozen=True):
    """The findings of one cause together."""

    cause: str
    findings: int
    saving_ns: int | None
    """Null if no finding has a known saving."""
    saving_share: float | None


class AdviceTable(Result, frozen=True):
    """The result of the view."""

    provenance: Provenance
    rows: tuple[engine.AdviceRow, ...]
    """The most severe first, then by saving."""
    causes: tuple[CauseRow, ...]
    """The greatest saving first."""
    asked: tuple[engine.RuleStatus, ...]
    """Every rule, and what became of it."""
    recording: Recording
    """The kind of recording, and what of it is judged; of the whole trace."""
    missing: str
    """One sentence: what the recording lacks that would change a finding; empty if nothing."""
    fine: tuple[FineRow, ...]
    """What was checked and costs nothing."""
    saving_ns: int
    """Of all rows: never more than ``judged_ns``."""
    saving_share: float
    """Of ``judged_ns``."""
    judged_ns: int
    """The judged steps' windows: complete steps, or the selected one."""
    steps: int
    """How many steps were judged."""


def advice(
    trace: Trace, rules: Sequence[Rule] | None = None, *, step: StepOption = None
) -> AdviceTable:
    """Findings with evidence, saving and remedy; ``step`` judges one step only.

    ``rules``: by default the built-in ones. Raises TraceError ``unknown_step``.
    """
    row = step_row(trace, step)
    is_shared = row is None and (rules is None or tuple(rules) == tuple(RULES.values()))
    result = engine.built_in_advice(trace) if is_shared else engine.advise(trace, row, rules)
    saving = sum(row.saving_ns or 0 for row in result.found)
    causes = [_cause(cause, result) for cause in CAUSES]
    return AdviceTable(
        provenance=provenance(trace),
        rows=result.found,
        causes=tuple(sorted((c for c in causes if c), key=lambda c: -(c.saving_ns or 0))),
        asked=result.asked,
        recording=summary(trace),
        missing=result.missing,
        fine=result.fine,
        saving_ns=saving,
        saving_share=saving / result.judged_ns if result.judged_ns else 0.0,
        judged_ns=result.judged_ns,
        steps=result.steps,
    )


def _cause(cause: str, result: engine.Advice) -> CauseRow | None:
    rows = [row for row in result.found if row.cause == cause]
    known = [row.saving_ns for row in rows if row.saving_ns is not None]
    if not rows:
        return None
    saving = sum(known) if known else None
    share = saving / result.judged_ns if saving is not None and result.judged_ns else None
    return CauseRow(cause, len(rows), saving, share)
