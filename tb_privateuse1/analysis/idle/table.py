"""Tabulate idle time by cause, by step, and by the operator that the device waited for."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tb_privateuse1.analysis.idle import causes as idle_causes
from tb_privateuse1.analysis.steps import bounds as steps_bounds
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import groupby, intervals, uncertainty
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Kernels, Trace

_TOP = 10

OTHER_STEP = "other_step"
"""Activities of another step ran between those of the selected step: the device was not idle."""


@dataclass(frozen=True)
class Cause:
    """Why the device was idle, and for how long. The causes sum to the totals' ``idle_ns``."""

    cause: str
    """One of ``causes.CAUSES``, or ``other_step``."""
    idle_ns: int
    bound_ns: int | None
    """0 for measured times; null for inferred ones, as only the bound of their sum is known."""
    share: float
    """Of all idle time, 0 to 1."""
    stretches: int
    longest_ns: int
    longest_start_ns: int
    """Start of the longest stretch."""


@dataclass(frozen=True)
class StepIdle:
    """The idle time within a step's window; the causes sum to ``idle_ns``."""

    name: str
    idle_ns: int
    idle_bound_ns: int | None
    launch_latency_ns: int
    synchronisation_ns: int
    communication_wait_ns: int
    data_loader_ns: int
    host_operator_ns: int
    host_code_ns: int
    unknown_ns: int


@dataclass(frozen=True)
class AwaitedOperator:
    """Idle time directly before the activities of an operator."""

    name: str
    """Empty for activities of no operator."""
    gaps: int
    idle_ns: int
    share: float
    """Of all idle time, 0 to 1."""
    longest_ns: int
    longest_start_ns: int


@dataclass(frozen=True)
class Idle:
    """Idle time by cause, by step and by awaited operator."""

    causes: tuple[Cause, ...] = ()
    steps: tuple[StepIdle, ...] = ()
    awaited: tuple[AwaitedOperator, ...] = ()


def idle_table(trace: Trace, kernels: Kernels) -> Idle:
    """Return the idle time in the span of some activities; the steps are all steps.

    ``kernels`` are all activities, or those of one step. Empty without device times.
    """
    if not len(trace.kernels):
        return Idle()
    gaps, sets = _of_trace(trace)
    steps = tuple(_steps(trace, sets))
    if not len(kernels):
        return Idle(steps=steps)
    return Idle(
        causes=tuple(_causes(trace, sets, kernels)),
        steps=steps,
        awaited=tuple(_awaited(trace, gaps, kernels)),
    )


@memoize
def _of_trace(trace: Trace) -> tuple[idle_causes.Gaps, Mapping[str, intervals.Set]]:
    gaps = idle_causes.find_gaps(trace)
    return gaps, types.MappingProxyType(idle_causes.attribute_gaps(trace, gaps))


def _span(kernels: Kernels) -> tuple[int, int, int]:
    """Return the first start, the last end, and the time in between without these activities."""
    first, last = int(kernels.start_ns.min()), int(kernels.end_ns.max())
    return first, last, last - first - intervals.length(breakdown.busy(kernels))


def _causes(trace: Trace, sets: Mapping[str, intervals.Set], kernels: Kernels) -> Iterator[Cause]:
    first, last, whole = _span(kernels)
    window = np.array([first]), np.array([last])
    bound = 0 if uncertainty.all_measured(trace.kernels) else None
    inside = {cause: intervals.intersect(one, window) for cause, one in sets.items()}
    # Between the activities of one step, the device may run those of another.
    working = intervals.intersect(breakdown.busy(trace.kernels), window)
    others = intervals.subtract(working, breakdown.busy(kernels))
    if len(others[0]):
        inside[OTHER_STEP] = others
    for cause, (start, end) in inside.items():
        length = end - start
        longest = int(length.argmax()) if len(length) else NONE
        yield Cause(
            cause=cause,
            idle_ns=int(length.sum()),
            bound_ns=bound,
            share=int(length.sum()) / whole if whole else 0.0,
            stretches=len(length),
            longest_ns=int(length[longest]) if len(length) else 0,
            longest_start_ns=int(start[longest]) if len(length) else first,
        )


def _steps(trace: Trace, sets: Mapping[str, intervals.Set]) -> Iterator[StepIdle]:
    steps = trace.steps
    parts = {
        c: intervals.covered_length(one, steps.start_ns, steps.end_ns) for c, one in sets.items()
    }
    free = steps.end_ns - steps.start_ns
    free = free - intervals.covered_length(
        breakdown.busy(trace.kernels), steps.start_ns, steps.end_ns
    )
    bounds = steps_bounds.idle_bounds(trace, free)
    for i in range(len(steps)):
        by_cause: dict[str, Any] = {f"{cause}_ns": int(ns[i]) for cause, ns in parts.items()}
        yield StepIdle(
            name=trace.text(steps.name[i]),
            idle_ns=int(free[i]),
            idle_bound_ns=uncertainty.known_bound(bounds[i]),
            **by_cause,
        )


def _awaited(trace: Trace, gaps: idle_causes.Gaps, kernels: Kernels) -> Iterator[AwaitedOperator]:
    first, last, whole = _span(kernels)
    rows = np.flatnonzero((gaps.start_ns >= first) & (gaps.end_ns <= last))
    op = trace.kernels.op[gaps.kernel[rows]]
    name = np.append(trace.ops.name, np.int32(NONE))[op]
    length = gaps.end_ns[rows] - gaps.start_ns[rows]
    heads, group = groupby.group_rows(name)
    total = groupby.sums(group, length, len(heads))
    order = np.lexsort((-length, group))
    edges = np.searchsorted(group[order], np.arange(len(heads)))
    longest = order[edges]
    count = np.bincount(group, minlength=len(heads))
    for i in np.argsort(-total, kind="stable")[:_TOP]:
        yield AwaitedOperator(
            name=trace.text(name[heads[i]]),
            gaps=int(count[i]),
            idle_ns=int(total[i]),
            share=int(total[i]) / whole if whole else 0.0,
            longest_ns=int(length[longest[i]]),
            longest_start_ns=int(gaps.start_ns[rows[longest[i]]]),
        )
