"""How long a step is, how busy the device, and what the rest of the time goes to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tb_privateuse1 import breakdown, describe, intervals
from tb_privateuse1.tables import Result
from tb_privateuse1.trace import (
    EVIDENCE,
    I64,
    MEASURED,
    MEMCPY,
    MEMSET,
    MISSING,
    Kernels,
    Trace,
)
from tb_privateuse1.views.base import (
    Provenance,
    bound_sum,
    calls,
    counted,
    grouped,
    in_step,
    provenance,
    step_row,
    sums,
)

_TOP = 10


@dataclass(frozen=True)
class Step:
    """A step's window and what each of its instants goes to; the parts sum to the duration."""

    name: str
    start_ns: int
    duration_ns: int
    incomplete: bool
    kernel_ns: int
    memcpy_ns: int
    memset_ns: int
    communication_ns: int
    runtime_ns: int
    dataloader_ns: int
    cpu_ns: int
    other_ns: int


@dataclass(frozen=True)
class Spread:
    """A figure over the complete steps."""

    mean_ns: int
    median_ns: int
    min_ns: int
    max_ns: int
    deviation_ns: int


@dataclass(frozen=True)
class Totals:
    """Device activity over the trace, or over the selected step. Null: no device times."""

    span_ns: int | None
    busy_ns: int | None
    busy_bound_ns: int | None
    """How far off ``busy_ns`` may be; 0 for measured times."""
    idle_ns: int | None
    compute_ns: int | None
    communication_ns: int | None
    memcpy_ns: int | None
    memset_ns: int | None
    overlap_ns: int | None
    kernels: int | None
    communication_kernels: int | None
    memcpys: int | None
    memsets: int | None
    linked: int | None
    unlinked: int | None


@dataclass(frozen=True)
class Share:
    """One of the operators or kernels with the most device time (or host time without)."""

    name: str
    kind: str
    """``operator``, or of a kernel ``kernel``, ``memcpy``, ``memset`` or ``communication``."""
    calls: int
    total_ns: int
    share: float
    """Of the sum over all such rows, 0 to 1."""


@dataclass(frozen=True)
class Evidence:
    """How many device activities are known in which way (see docs/inference.md)."""

    evidence: str
    kernels: int
    total_ns: int
    median_bound_ns: int | None


@dataclass(frozen=True)
class Overview(Result):
    """The result of the view."""

    provenance: Provenance
    device: tuple[describe.Fact, ...]
    run: tuple[describe.Fact, ...]
    duration_ns: int
    """The recording's length."""
    steps: tuple[Step, ...]
    average_step_ns: int | None
    """Mean duration of the complete steps; null if none is complete."""
    spread: Spread | None
    utilisation: float | None
    """Busy device time within the steps' windows as a share of these windows."""
    totals: Totals
    top_operators: tuple[Share, ...]
    top_kernels: tuple[Share, ...]
    evidence: tuple[Evidence, ...]


def overview(trace: Trace, *, step: int | None = None) -> Overview:
    """Figures over the whole trace; ``step`` limits totals and top lists to one step.

    Raises TraceError ``unknown_step``.
    """
    row = step_row(trace, step)
    steps = _steps(trace)
    complete = [s.duration_ns for s in steps if not s.incomplete]
    kernels = trace.kernels.take(in_step(trace.kernels.step, row))
    return Overview(
        provenance=provenance(trace),
        device=describe.device(trace),
        run=describe.run(trace),
        duration_ns=trace.end_ns,
        steps=steps,
        average_step_ns=round(sum(complete) / len(complete)) if complete else None,
        spread=_spread(complete),
        utilisation=_utilisation(trace, row),
        totals=_totals(trace, kernels),
        top_operators=_top_operators(trace, row),
        top_kernels=_top_kernels(trace, kernels),
        evidence=tuple(_evidence(kernels)),
    )


def _steps(trace: Trace) -> tuple[Step, ...]:
    steps, parts = trace.steps, breakdown.of_steps(trace)
    return tuple(
        Step(
            name=trace.text(steps.name[i]),
            start_ns=int(steps.start_ns[i]),
            duration_ns=int(steps.end_ns[i] - steps.start_ns[i]),
            incomplete=bool(steps.incomplete[i]),
            **{f"{part}_ns": int(column[i]) for part, column in parts.items()},
        )
        for i in range(len(steps))
    )


def _spread(durations: list[int]) -> Spread | None:
    if not durations:
        return None
    mean, median, deviation = np.mean(durations), np.median(durations), np.std(durations)
    return Spread(round(mean), round(median), min(durations), max(durations), round(deviation))


def _utilisation(trace: Trace, row: int | None) -> float | None:
    if not len(trace.kernels):
        return None
    steps = trace.steps
    rows = slice(None) if row is None else slice(row, row + 1)
    start, end = steps.start_ns[rows], steps.end_ns[rows]
    window = int((end - start).sum())
    busy = intervals.covered(breakdown.busy(trace.kernels), start, end)
    return int(busy.sum()) / window if window else None


def _totals(trace: Trace, kernels: Kernels) -> Totals:
    if not len(trace.kernels):
        return Totals(*[None] * 15)
    busy = intervals.length(breakdown.busy(kernels))
    span = int(kernels.end_ns.max() - kernels.start_ns.min()) if len(kernels) else 0
    compute = breakdown.compute(kernels)
    computing = breakdown.busy(compute)
    communicating = breakdown.busy(kernels.take(kernels.communication))
    linked = int(breakdown.linked(trace, kernels).sum())
    return Totals(
        span_ns=span,
        busy_ns=busy,
        busy_bound_ns=bound_sum(kernels.duration_bound_ns),
        idle_ns=span - busy,
        compute_ns=intervals.length(computing),
        communication_ns=intervals.length(communicating),
        memcpy_ns=intervals.length(breakdown.busy(kernels.take(kernels.kind == MEMCPY))),
        memset_ns=intervals.length(breakdown.busy(kernels.take(kernels.kind == MEMSET))),
        overlap_ns=intervals.length(intervals.intersect(computing, communicating)),
        kernels=len(compute),
        communication_kernels=int(kernels.communication.sum()),
        memcpys=int((kernels.kind == MEMCPY).sum()),
        memsets=int((kernels.kind == MEMSET).sum()),
        linked=linked,
        unlinked=len(kernels) - linked,
    )


def _top_operators(trace: Trace, row: int | None) -> tuple[Share, ...]:
    """By device time that they launched themselves; by host self time without device times."""
    ops = trace.ops
    rows = np.flatnonzero(counted(trace) & in_step(ops.step, row))
    own = ops.self_ns
    if len(trace.kernels):
        duration = trace.kernels.end_ns - trace.kernels.start_ns
        op = trace.kernels.op
        launcher = np.where(op >= 0, calls(ops)[op], op) if len(ops) else op
        own = sums(launcher, duration, len(ops))
    names = ops.name[rows]
    first, group = grouped(names)
    labels = [("operator", trace.text(names[i])) for i in first]
    return _top(labels, group, own[rows])


def _top_kernels(trace: Trace, kernels: Kernels) -> tuple[Share, ...]:
    kinds = breakdown.kinds(kernels)
    first, group = grouped(kernels.name, kinds)
    labels = [(breakdown.KINDS[kinds[i]], trace.text(kernels.name[i])) for i in first]
    return _top(labels, group, kernels.end_ns - kernels.start_ns)


def _top(labels: list[tuple[str, str]], group: I64, time_ns: I64) -> tuple[Share, ...]:
    """The groups with the most time; a group's label is its kind and its name."""
    totals = sums(group, time_ns, len(labels))
    count = np.bincount(group, minlength=len(labels))
    whole = int(totals.sum())
    order = np.argsort(-totals, kind="stable")[:_TOP]
    return tuple(
        Share(
            name=labels[i][1],
            kind=labels[i][0],
            calls=int(count[i]),
            total_ns=int(totals[i]),
            share=int(totals[i]) / whole,
        )
        for i in order
        if totals[i] > 0
    )


def _evidence(kernels: Kernels) -> Iterable[Evidence]:
    for i, name in enumerate(EVIDENCE):
        rows = kernels.take(kernels.evidence == i)
        if len(rows):
            bounds = rows.start_bound_ns[rows.start_bound_ns != MISSING]
            median = round(float(np.median(bounds))) if len(bounds) else None
            total = int((rows.end_ns - rows.start_ns).sum())
            yield Evidence(name, len(rows), total, 0 if i == MEASURED else median)
