"""Steps with what each of their instants goes to, and how far off that may be: a row each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tb_privateuse1 import breakdown, certainty, stepbounds
from tb_privateuse1.trace import I64, Trace


@dataclass(frozen=True)
class Step:
    """A step's window and what each of its instants goes to; the parts sum to the duration.

    A ``_bound_ns`` is how far off the figure may be; 0 if measured, null if that is not known.
    """

    name: str
    start_ns: int
    duration_ns: int
    incomplete: bool
    primed: bool
    """Our capture kept the device busy in it: not in averages."""
    kernel_ns: int
    memcpy_ns: int
    memset_ns: int
    communication_ns: int
    runtime_ns: int
    dataloader_ns: int
    cpu_ns: int
    other_ns: int
    duration_bound_ns: int | None
    kernel_bound_ns: int | None
    memcpy_bound_ns: int | None
    memset_bound_ns: int | None
    communication_bound_ns: int | None
    runtime_bound_ns: int | None
    dataloader_bound_ns: int | None
    cpu_bound_ns: int | None
    other_bound_ns: int | None
    kernel_bounded_ns: int
    """The part of ``kernel_ns`` of which only limits are known (evidence ``bound``)."""
    communication_host_ns: int
    """The part of ``communication_ns`` that is the host's own (gloo), and measured."""


@dataclass(frozen=True)
class Spread:
    """A figure over the complete steps."""

    mean_ns: int
    median_ns: int
    min_ns: int
    max_ns: int
    deviation_ns: int
    bound_ns: int | None
    """How far off any of these may be."""


def table(trace: Trace) -> tuple[Step, ...]:
    """The steps of a trace, in order of time."""
    steps, parts = trace.steps, breakdown.of_steps(trace)
    bounds = stepbounds.of_steps(trace, parts)
    lengths = stepbounds.windows(trace).bound(steps)
    only, hosted = breakdown.kernels_bounded(trace), breakdown.communication_on_host(trace)
    return tuple(
        Step(
            name=trace.text(steps.name[i]),
            start_ns=int(steps.start_ns[i]),
            duration_ns=int(steps.end_ns[i] - steps.start_ns[i]),
            incomplete=bool(steps.incomplete[i]),
            primed=bool(steps.primed[i]),
            **_figures(parts, bounds, i),
            duration_bound_ns=certainty.known(lengths[i]),
            kernel_bounded_ns=int(only[i]),
            communication_host_ns=int(hosted[i]),
        )
        for i in range(len(steps))
    )


def spread_of(steps: Iterable[Step]) -> Spread | None:
    """Over the complete ones that were not primed; None if there is none."""
    complete = [step for step in steps if not step.incomplete and not step.primed]
    if not complete:
        return None
    durations = [step.duration_ns for step in complete]
    bounds = [step.duration_bound_ns for step in complete]
    mean, median, deviation = np.mean(durations), np.median(durations), np.std(durations)
    told = [b for b in bounds if b is not None]
    return Spread(
        mean_ns=round(mean),
        median_ns=round(median),
        min_ns=min(durations),
        max_ns=max(durations),
        deviation_ns=round(deviation),
        bound_ns=max(told) if len(told) == len(bounds) else None,
    )


def _figures(parts: dict[str, I64], bounds: dict[str, I64], step: int) -> dict[str, Any]:
    figures: dict[str, Any] = {f"{part}_ns": int(ns[step]) for part, ns in parts.items()}
    for part, bound in bounds.items():
        figures[f"{part}_bound_ns"] = certainty.known(bound[step])
    return figures
