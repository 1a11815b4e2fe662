"""Tabulate the steps: duration, parts and error bounds, and their averages and spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.steps import bounds as steps_bounds
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.call_tree import STEP, starts_with
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import I64

_ALL = slice(None)


class Step(Struct, frozen=True):
    """A step's window and its parts in ns; the known parts sum to the duration.

    The device's parts are null where they are not known: without device times, and if a stream is
    missing and the others did none of it. A ``_bound_ns`` is the error bound of the figure: 0 if
    measured, null if not known.
    """

    name: str
    start_ns: int
    duration_ns: int
    incomplete: bool
    primed: bool
    """Our capture loaded the device in this step: it is not in averages."""
    partial: bool
    """Activities of it are missing: its device parts are lower bounds, or null."""
    kernel_ns: int | None
    memcpy_ns: int | None
    memset_ns: int | None
    communication_ns: int | None
    unknown_ns: int | None
    """Nobody is known to have launched it: the device was busy while marks waited."""
    runtime_ns: int
    dataloader_ns: int
    cpu_ns: int
    other_ns: int
    duration_bound_ns: int | None
    kernel_bound_ns: int | None
    memcpy_bound_ns: int | None
    memset_bound_ns: int | None
    communication_bound_ns: int | None
    unknown_bound_ns: int | None
    runtime_bound_ns: int | None
    dataloader_bound_ns: int | None
    cpu_bound_ns: int | None
    other_bound_ns: int | None
    kernel_bounded_ns: int | None
    """The part of ``kernel_ns`` with limits only (evidence ``bound``)."""
    communication_host_ns: int
    """The part of ``communication_ns`` that runs on the host (gloo); it is measured."""


class StepCounts(Struct, frozen=True):
    """How many steps a recording has: a list of them may be shorter."""

    numbered: int
    complete: int
    incomplete: int
    primed: int


class Spread(Struct, frozen=True):
    """A figure over the complete steps of a window."""

    mean_ns: int
    median_ns: int
    min_ns: int
    max_ns: int
    deviation_ns: int
    bound_ns: int | None
    """The error bound of each of these figures."""


class Average(Struct, frozen=True):
    """A part of the breakdown over the complete steps; each figure is rounded separately."""

    part: str
    """One of ``breakdown.PARTS``."""
    mean_ns: int | None
    """Null if the part is not known of one of the steps, as the other figures are."""
    share: float | None
    """Of the steps' mean duration, 0 to 1."""
    min_ns: int | None
    max_ns: int | None
    deviation_ns: int | None
    bound_ns: int | None
    """The error bound of each of these figures; null if it is not known."""


def count_steps(trace: Trace) -> StepCounts:
    """Return how many steps a trace has of each kind; those that torch marks have a number."""
    steps = trace.steps
    return StepCounts(
        numbered=int(starts_with(trace, STEP)[steps.name].sum()),
        complete=int((~steps.incomplete & ~steps.primed).sum()),
        incomplete=int(steps.incomplete.sum()),
        primed=int((steps.primed & ~steps.incomplete).sum()),
    )


def step_table(trace: Trace, rows: slice = _ALL) -> tuple[Step, ...]:
    """Return the steps of a trace in some rows, in order of time."""
    steps = trace.steps.take(np.arange(len(trace.steps))[rows])
    parts = {part: ns[rows] for part, ns in breakdown.known_parts(trace).items()}
    bounds = {part: ns[rows] for part, ns in _bounds(trace).items()}
    limited = breakdown.bounded_kernels_ns(trace)[rows]
    bounded = np.where(parts["kernel"] == MISSING, MISSING, limited)
    columns: dict[str, list[Any]] = {
        "name": [trace.text(name) for name in steps.name.tolist()],
        "start_ns": steps.start_ns.tolist(),
        "duration_ns": (steps.end_ns - steps.start_ns).tolist(),
        "incomplete": steps.incomplete.tolist(),
        "primed": steps.primed.tolist(),
        "partial": steps.partial.tolist(),
        **{f"{part}_ns": _known(ns) for part, ns in parts.items()},
        "duration_bound_ns": _known(_duration_bounds(trace)[rows]),
        **{f"{part}_bound_ns": _known(ns) for part, ns in bounds.items()},
        "kernel_bounded_ns": _known(bounded),
        "communication_host_ns": breakdown.communication_on_host(trace)[rows].tolist(),
    }
    # Positional arguments: for thousands of steps much faster than keywords.
    order = [columns[name] for name in Step.__struct_fields__]
    return tuple(map(Step, *order))


def _duration_bounds(trace: Trace) -> I64:
    return steps_bounds.step_windows(trace).bound(trace.steps)


@memoize
def _bounds(trace: Trace) -> Mapping[str, I64]:
    bounds = steps_bounds.part_bounds(trace, breakdown.step_breakdown(trace))
    parts = breakdown.known_parts(trace)
    return {name: np.where(parts[name] == MISSING, MISSING, ns) for name, ns in bounds.items()}


def _known(bounds_ns: I64) -> list[int | None]:
    return [None if bound == MISSING else bound for bound in bounds_ns.tolist()]


def _greatest(bounds_ns: I64) -> int | None:
    """Return the greatest bound; None if one is not known."""
    return None if (bounds_ns == MISSING).any() else int(bounds_ns.max())


def step_spread(trace: Trace, rows: I64, time: intervals.Set | None = None) -> Spread | None:
    """Return the spread over those of some steps that are complete and not primed.

    Of their length, ``time`` counts; None counts all. Returns None without any such step.
    """
    steps = trace.steps
    rows = rows[~steps.incomplete[rows] & ~steps.primed[rows]]
    if not len(rows):
        return None
    start, end = steps.start_ns[rows], steps.end_ns[rows]
    length = end - start if time is None else intervals.covered_length(time, start, end)
    return spread_of(length.tolist(), _greatest(_duration_bounds(trace)[rows]))


def spread_of(durations: Sequence[int], bound_ns: int | None) -> Spread:
    """Return the spread of one or more durations, which share an error bound."""
    return Spread(
        mean_ns=round(np.mean(durations)),
        median_ns=round(np.median(durations)),
        min_ns=min(durations),
        max_ns=max(durations),
        deviation_ns=round(np.std(durations)),
        bound_ns=bound_ns,
    )


def step_averages(
    trace: Trace, rows: I64, time: intervals.Set | None = None
) -> tuple[Average, ...]:
    """Return the averages over some rows of ``trace.steps``; empty without any.

    Of their length, ``time`` counts; None counts all.
    """
    if not len(rows):
        return ()
    bounds = _bounds(trace)
    parts = breakdown.known_parts(trace)
    if time is not None:
        parts = breakdown.known_parts_within(trace, time)
    start, end = trace.steps.start_ns[rows], trace.steps.end_ns[rows]
    length = end - start if time is None else intervals.covered_length(time, start, end)
    whole = float(np.mean(length))
    return tuple(_average(part, ns[rows], bounds[part][rows], whole) for part, ns in parts.items())


def _average(part: str, ns: I64, bounds_ns: I64, whole_ns: float) -> Average:
    """Return the figures of a part over some steps; without any if one is not known."""
    if (ns == MISSING).any():
        return Average(part, None, None, None, None, None, None)
    return Average(
        part=part,
        mean_ns=round(float(np.mean(ns))),
        share=float(np.mean(ns)) / whole_ns if whole_ns else 0.0,
        min_ns=int(ns.min()),
        max_ns=int(ns.max()),
        deviation_ns=round(float(np.std(ns))),
        bound_ns=_greatest(bounds_ns),
    )
