"""Find what costs nothing: statements with a figure, where the recording suffices to check."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.advice.rules.base import RuleContext, percent, say
from tb_privateuse1.analysis.operators import groups, kinds_of_work
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.uncertainty import all_measured

_LITTLE = 0.01
"""Share of the judged time below which a class of the account is no matter."""

_AHEAD = 0.03
_EVEN, _STEPS = 1.1, 3
_MANY = 50
"""Fewer activities are no program."""

_LOADER = r"^enumerate\(DataLoader\)"
_BY_HAND = r"^aten::(_scaled_dot_product_attention_math\w*|_?softmax)$"


@dataclass(frozen=True)
class FineRow:
    """A statement about what costs nothing."""

    name: str
    """What was checked: ``host``, ``blocking``, ``loader``, ``communication``, ``copies``,
    ``allocator``, ``attention``, ``steps``."""
    statement: str
    share: float
    """The figure of the statement: a share of the judged time, 0 to 1; of ``steps`` the part by
    which the longest exceeds the median."""


_CONTRADICTS: Mapping[str, str] = {
    "host": "launching", "blocking": "waiting", "loader": "input", "copies": "input",
    "communication": "communication", "allocator": "memory",
}  # fmt: skip
"""By row, the cause of findings that say otherwise."""


def fine_rows(case: RuleContext, causes: Collection[str] = ()) -> tuple[FineRow, ...]:
    """Return what was checked and is fine in the judged time; none if it is not known.

    ``causes`` are those of findings: nothing is fine that a finding is about.
    """
    is_program = int(case.judged_kernels.sum()) >= _MANY
    if not (is_program and case.is_steady and case.window_ns and case.limits.known == "device"):
        return ()
    if not all_measured(case.trace.kernels):
        return ()  # bounds would have to be in each figure
    found = (row for check in _CHECKS for row in check(case))
    return tuple(row for row in found if _CONTRADICTS.get(row.name) not in causes)


def _host(case: RuleContext) -> Iterator[FineRow]:
    share = case.share(intervals.length(case.idle))
    if share < _AHEAD and "operators" in case.has:
        text = say(
            "The host keeps ahead: the device waits for it {share} of the time.",
            share=percent(share),
        )
        yield FineRow("host", text, share)


def _blocking(case: RuleContext) -> Iterator[FineRow]:
    if not len(case.trace.launches):
        return
    share = case.share(intervals.length(case.in_classes("synchronization", "blocking_copy")))
    if share < _LITTLE:
        text = say(
            "No call of the judged steps blocks the host while the device idles: {share} of the "
            "time.",
            share=percent(share),
        )
        yield FineRow("blocking", text, share)


def _loader(case: RuleContext) -> Iterator[FineRow]:
    share = case.share(intervals.length(case.in_classes("input")))
    if share < _LITTLE and len(case.ops(_LOADER)):
        text = say(
            "The data loader keeps up: the device waits for it {share} of the time.",
            share=percent(share),
        )
        yield FineRow("loader", text, share)


def _communication(case: RuleContext) -> Iterator[FineRow]:
    if not (case.trace.kernels.communication & case.judged_kernels).any():
        return
    share = case.share(intervals.length(case.in_classes("exposed_communication")))
    if share < _LITTLE:
        text = say(
            "Communication costs next to nothing: {share} of the time is exposed.",
            share=percent(share),
        )
        yield FineRow("communication", text, share)


def _copies(case: RuleContext) -> Iterator[FineRow]:
    share = case.share(intervals.length(case.in_classes("exposed_copy")))
    if share < _LITTLE and len(case.copies()):
        text = say(
            "Copies cost next to nothing: {share} of the time is exposed.", share=percent(share)
        )
        yield FineRow("copies", text, share)


def _allocator(case: RuleContext) -> Iterator[FineRow]:
    if not len(case.trace.launches):
        return
    share = case.share(intervals.length(case.in_classes("device_memory")))
    if not share:
        text = say("No call allocates or frees device memory while the device idles.")
        yield FineRow("allocator", text, share)


def _attention(case: RuleContext) -> Iterator[FineRow]:
    kind = groups.name_categories(case.trace)[case.trace.ops.name]
    rows = case.launched_by((kind == kinds_of_work.KINDS.index("attention")) & case.judged)
    if not len(rows) or len(case.ops(_BY_HAND)):
        return
    running = intervals.intersect(case.time(rows, "kernels"), case.window)
    share = case.share(intervals.length(running))
    text = say("Attention is fused: its kernels take {share} of the time.", share=percent(share))
    yield FineRow("attention", text, share)


def _steps(case: RuleContext) -> Iterator[FineRow]:
    steps = case.trace.steps.take(case.steps)
    if len(steps) < _STEPS:
        return
    length = steps.end_ns - steps.start_ns
    excess = float(length.max() / max(float(np.median(length)), 1.0)) - 1
    if excess < _EVEN - 1:
        text = say(
            "Steps are even: the longest takes {share} more than the median.",
            share=percent(excess),
        )
        yield FineRow("steps", text, excess)


_CHECKS: tuple[Callable[[RuleContext], Iterator[FineRow]], ...] = (
    _host, _blocking, _loader, _communication, _copies, _allocator, _attention, _steps,
)  # fmt: skip
