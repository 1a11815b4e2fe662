"""Recorded counters: what a device's clocks, power and bandwidth were, by step and by kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.counters import recorded, recorded_means
from tb_privateuse1.analysis.counters.recorded import Samples
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import StepOption, chosen_window

_MOST_KERNELS = 500


class CounterRow(Struct, frozen=True):
    """One counter, in its own unit. Means are over time: a value holds until the next one."""

    counter: int
    """Its row in the trace's ``counter_series``."""
    name: str
    process: str
    """That of the trace which has it, often a device."""
    values: int
    """Those in the recording, or in the step."""
    interval_ns: int | None
    """The median time from one value to the next; null of a single one."""
    mean: float | None
    """Null before the first value."""
    min: float | None
    max: float | None
    busy_mean: float | None
    """While anything runs on a device; null without measured device times."""
    idle_mean: float | None
    """While nothing does."""


class CounterOfKernel(Struct, frozen=True):
    """The chosen counter while the kernels of one name run."""

    name: str
    calls: int
    device_ns: int
    mean: float
    samples: int
    """The values that were recorded while they ran. With few, the mean is that of what ran around
    them."""


class CounterOfStep(Struct, frozen=True):
    """The chosen counter in a step's window."""

    step: str
    length_ns: int
    mean: float | None
    min: float | None
    max: float | None


class Counters(Result, frozen=True):
    """The result of the view: counters in the trace's order."""

    provenance: Provenance
    rows: tuple[CounterRow, ...]
    counter: int | None
    """The chosen one; null without counters."""
    counter_name: str | None
    kernels: tuple[CounterOfKernel, ...]
    """At most 500, those with most device time first. Only of measured timelines."""
    steps: tuple[CounterOfStep, ...]


def counters(
    trace: Trace,
    *,
    step: StepOption = None,
    counter: Annotated[int | None, "a counter of the rows; by default the first"] = None,
) -> Counters:
    """The counters that the trace records, and one of them by kernel and by step.

    Raises TraceError ``unknown_step`` or ``bad_option``.
    """
    window = chosen_window(trace, step, "all")
    start, end = 0, trace.end_ns
    if step is not None:
        row = window.steps[0]
        start, end = int(trace.steps.start_ns[row]), int(trace.steps.end_ns[row])
    forms, names = recorded.recorded_samples(trace), recorded.labels(trace)
    chosen = next(iter(forms), None) if counter is None else counter
    if chosen is not None and chosen not in forms:
        raise TraceError("bad_option", say("There is no counter {n}.", n=chosen))
    form = None if chosen is None else forms[chosen]
    return Counters(
        provenance=provenance(trace, window),
        rows=_rows(trace, forms, names, start, end),
        counter=chosen,
        counter_name=None if chosen is None else names[chosen],
        kernels=_kernels(trace, form, window.kernels) if form else (),
        steps=_steps(trace, form) if form else (),
    )


def _rows(
    trace: Trace, forms: Mapping[int, Samples], names: Sequence[str], start: int, end: int
) -> tuple[CounterRow, ...]:
    busy = intervals.intersect(breakdown.busy(trace.kernels), recorded_means.window(start, end))
    idle = intervals.complement(busy, start, end)
    work = (busy, idle) if recorded_means.has_call_times(trace) else None
    return tuple(_row(trace, one, names[one], forms[one], (start, end), work) for one in forms)


def _row(
    trace: Trace,
    counter: int,
    name: str,
    form: Samples,
    window: tuple[int, int],
    work: tuple[intervals.Set, intervals.Set] | None,
) -> CounterRow:
    """Return a row; ``work`` is when the devices are busy and when they are idle, if known."""
    own = recorded_means.window_values(form, *window)
    return CounterRow(
        counter=counter,
        name=name,
        process=trace.text(trace.counter_series.process[counter]),
        values=own.values,
        interval_ns=own.interval_ns,
        mean=own.mean,
        min=own.min,
        max=own.max,
        busy_mean=form.mean(*work[0]) if work else None,
        idle_mean=form.mean(*work[1]) if work else None,
    )


def _kernels(trace: Trace, form: Samples, chosen: Bools) -> tuple[CounterOfKernel, ...]:
    if not recorded_means.has_call_times(trace):
        return ()
    kernels = trace.kernels.take(chosen)
    first, group = groupby.group_rows(kernels.name)
    count = len(first)
    own = recorded_means.group_means(form, kernels.start_ns, kernels.end_ns, group, count)
    whole = groupby.sums(group, kernels.end_ns - kernels.start_ns, count)
    calls = np.bincount(group, minlength=count)
    order: I64 = np.argsort(-whole, kind="stable")
    return tuple(
        CounterOfKernel(
            name=trace.text(kernels.name[first[i]]),
            calls=int(calls[i]),
            device_ns=int(whole[i]),
            mean=float(own.mean[i]),
            samples=int(own.samples[i]),
        )
        for i in order[own.known_ns[order] > 0][:_MOST_KERNELS].tolist()
    )


def _steps(trace: Trace, form: Samples) -> tuple[CounterOfStep, ...]:
    steps = trace.steps
    found = []
    for name, start, end in zip(
        steps.name.tolist(), steps.start_ns.tolist(), steps.end_ns.tolist(), strict=True
    ):
        own = recorded_means.window_values(form, start, end)
        found.append(
            CounterOfStep(
                step=trace.text(name),
                length_ns=end - start,
                mean=own.mean,
                min=own.min,
                max=own.max,
            )
        )
    return tuple(found)
