"""The steps that rules read: all judged ones, or a block that stands for equal ones.

A rule that reads a block sees a trace of it. Its findings get the rows of the whole recording; the
instants that they claim lie in the block.
"""

from __future__ import annotations

import functools

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import RuleFinding
from tb_privateuse1.analysis.simulation.equal_steps import Block, equal_block
from tb_privateuse1.analysis.simulation.excerpt import Excerpt, cut_steps
from tb_privateuse1.analysis.simulation.replayed_part import ReplayedPart, replayed_part
from tb_privateuse1.analysis.steps.judged_window import judged_window
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import Example


class ReadSteps:
    """The whole recording, and the part of it that rules read."""

    def __init__(self, whole: RuleContext, *, may_cut: bool) -> None:
        self.whole = whole
        block = equal_block(whole.trace, whole.part) if may_cut else None
        self._cut = None if block is None else cut_steps(whole.trace, block.chosen)
        self.case = whole if self._cut is None else _context(self._cut, whole)
        self.window = whole.window
        """The time of the judged steps that claims may have; of a block without its first step."""
        if self._cut is not None:
            self.window = intervals.intersect(whole.window, self._cut.window)
        self.statement = "" if block is None else self._statement(block)
        """A few sentences on the block; empty if all steps are read."""

    def _statement(self, block: Block) -> str:
        return say(
            "Most rules read {few} of {all} steps, which stand for all: their operators, lengths "
            "and work differ by {share} of a step at most. Counts and times in texts are of the "
            "steps that were read, savings of all.",
            few=len(block.chosen),
            all=len(self.whole.steps),
            share=percent(block.differs),
        )

    @functools.cached_property
    def replay(self) -> ReplayedPart:
        """Return the replay that the what-if makes of the whole recording."""
        return replayed_part(self.whole.trace, self.whole.part, self._cut)

    def share(self, time: intervals.Set) -> float:
        """Return claimed time as a share of the time that claims may have."""
        whole_ns = intervals.length(self.window)
        return intervals.length(time) / whole_ns if whole_ns else 0.0

    def in_all_ns(self, ns: int) -> int:
        """Return claimed time as that of all judged steps."""
        if self._cut is None:
            return ns
        return round(ns * self.whole.window_ns / max(intervals.length(self.window), 1))

    def with_whole_rows(self, finding: RuleFinding) -> RuleFinding:
        """Return a finding of the read steps with rows of the whole recording."""
        if self._cut is None:
            return finding
        return _with_whole_rows(self._cut, len(self.whole.trace.kernels), finding)


def _context(cut: Excerpt, whole: RuleContext) -> RuleContext:
    """Return the context of the block and the step that leads in, if that is judged.

    A replay needs the changes of that step, too: there the host gets ahead.
    """
    judged = whole.part
    first = int(cut.chosen[0] - cut.steps[0])
    lead = judged.steps >= cut.chosen[0] - 1
    rows = judged.steps[lead & (judged.steps <= cut.chosen[-1])]
    window = intervals.intersect(judged.window, judged_window(whole.trace, rows))
    lengths_ns = judged.lengths_ns[np.isin(judged.steps, rows)]
    part = replace(judged, steps=rows - first, window=window, lengths_ns=lengths_ns)
    return RuleContext(cut.trace, part)


def _with_whole_rows(cut: Excerpt, kernels: int, finding: RuleFinding) -> RuleFinding:
    """Return a finding, and its note, with rows of the whole recording."""
    removes, note = finding.removes, finding.note
    if removes is not None:
        removes = cut.whole_scope(removes, kernels)
    return replace(
        finding,
        evidence=tuple(_example(cut, one) for one in finding.evidence),
        removes=removes,
        note=None if note is None else _with_whole_rows(cut, kernels, note),
    )


def _example(cut: Excerpt, one: Example) -> Example:
    rows = cut.whole_rows(one.table)
    return one if rows is None else replace(one, row=int(rows[one.row]))
