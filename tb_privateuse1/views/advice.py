"""Findings with their estimated savings and evidence, the largest first."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import asdict

from tb_privateuse1.advice import engine
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.rule import CAUSES, Rule
from tb_privateuse1.analysis.recording.summary import RecordingSummary, summary_of
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import StepOption, WindowOption, chosen_window


class CauseRow(Struct, frozen=True):
    """The findings of one cause together: each behind the rows above it."""

    cause: str
    findings: int
    saving_ns: int | None
    """Null if no finding has a known saving."""
    saving_share: float | None


class AdviceTable(engine.Advice, Result, frozen=True, kw_only=True):
    """The result of the view: the engine's, and its sums."""

    provenance: Provenance
    causes: tuple[CauseRow, ...]
    """The greatest saving first."""
    recording: RecordingSummary
    """The kind of recording, and what of it is judged; of the whole trace."""
    saving_ns: int
    """Of all rows together: the sum of their ``behind_ns``."""
    saving_share: float
    """Of ``judged_net_ns``."""


def advice(
    trace: Trace,
    rules: Sequence[Rule] | None = None,
    *,
    step: StepOption = None,
    window: WindowOption = "steady",
) -> AdviceTable:
    """Findings with evidence, saving and remedy.

    ``rules``: by default the built-in ones. Raises TraceError ``unknown_step``.
    """
    time = chosen_window(trace, step, window)
    result = advised(trace, time, rules).advice
    saving = sum(row.behind_ns or 0 for row in result.rows)
    causes = [_cause(cause, result) for cause in CAUSES]
    return AdviceTable(
        **asdict(result),
        provenance=provenance(trace, time),
        causes=tuple(sorted((c for c in causes if c), key=lambda c: -(c.saving_ns or 0))),
        recording=summary_of(time),
        saving_ns=saving,
        saving_share=saving / result.judged_net_ns if result.judged_net_ns else 0.0,
    )


def advised(trace: Trace, window: Window, rules: Sequence[Rule] | None) -> engine.Advised:
    """Return the findings in a window, and the changes that they name."""
    is_built_in = rules is None or tuple(rules) == tuple(RULES.values())
    if window.asked == "steady" and is_built_in:
        return engine.built_in_advised(trace)
    return engine.advised(trace, window.part, rules)


def _cause(cause: str, result: engine.Advice) -> CauseRow | None:
    rows = [row for row in result.rows if row.cause == cause]
    known = [row.behind_ns for row in rows if row.behind_ns is not None]
    if not rows:
        return None
    saving = sum(known) if known else None
    share = saving / result.judged_net_ns if saving is not None and result.judged_net_ns else None
    return CauseRow(cause, len(rows), saving, share)
