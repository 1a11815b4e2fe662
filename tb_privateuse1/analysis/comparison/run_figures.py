"""Figures of one recording per step, as a baseline has them: of the whole step, and by operator.

Only steady steps count (``analysis.recording.judged_part``), as in the overview's verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.comparison import memory
from tb_privateuse1.analysis.comparison.conditions import device_models
from tb_privateuse1.analysis.comparison.items_per_step import step_of
from tb_privateuse1.analysis.comparison.rows import Time
from tb_privateuse1.analysis.comparison.run_operators import RunOperator, run_operators
from tb_privateuse1.analysis.comparison.step_figures import StepFigure, step_figure
from tb_privateuse1.analysis.idle.blocking_calls import synchronization_starts
from tb_privateuse1.analysis.memory import allocations, devices
from tb_privateuse1.analysis.recording.judged_part import judged_part
from tb_privateuse1.analysis.steps import bounds as steps_bounds
from tb_privateuse1.analysis.work.arguments import typed_shapes
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import device_times, groupby, sum_bounds
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import MISSING, NONE, UNKNOWN, Timeline, Trace
from tb_privateuse1.trace.table import I32, I64

MetricName = Literal["step", "device", "memory", "launches", "synchronizations"]
METRICS: tuple[MetricName, ...] = get_args(MetricName)

Unit = Literal["ns", "bytes", "count"]
UNITS: Mapping[MetricName, Unit] = {
    "step": "ns",
    "device": "ns",
    "memory": "bytes",
    "launches": "count",
    "synchronizations": "count",
}

_OPTIONS = ("with_stack", "record_shapes", "profile_memory")


class RunMetric(Struct, frozen=True):
    """A metric of one run."""

    figure: StepFigure
    bound: int | None
    """The error bound of each of these values: 0 if measured, None if it is not known."""


class Recorded(Struct, frozen=True):
    """The circumstances of a recording that its times depend on; None if they are not recorded."""

    torch: str | None
    device: str | None
    vendor: str
    timeline: Timeline
    world_size: int | None
    float_types: tuple[str, ...]
    """Of the operators' inputs; empty without shapes."""
    options: tuple[str, ...]
    """The profiler's options that cost time."""


class RunFigures(Struct, frozen=True):
    """The figures of one recording."""

    recorded: Recorded
    time: Time
    """Whether operators have device times, or the host's."""
    metrics: Mapping[MetricName, RunMetric]
    """Those that the recording has."""
    operators: Mapping[str, RunOperator]


def run_figures(trace: Trace) -> RunFigures:
    """Return the figures of a recording. Raises TraceError ``no_steps``."""
    rows = steady_steps(trace)
    time: Time = "device" if device_times.known_times(trace) == "device" else "host"
    return RunFigures(
        recorded(trace), time, dict(_metrics(trace, rows)), run_operators(trace, rows, time)
    )


def steady_steps(trace: Trace) -> I64:
    """Return the rows of the steady steps. Raises TraceError ``no_steps``."""
    part, steps = judged_part(trace), trace.steps
    complete = part.steps[~steps.incomplete[part.steps] & ~steps.primed[part.steps]]
    # A trace without steps has one of its whole length, which is no step's time.
    has_steps = any("#" in trace.text(steps.name[row]) for row in complete.tolist())
    if not part.is_steady or not has_steps:
        raise TraceError(
            "no_steps",
            say("{worker} has no complete, steady step.", worker=trace.meta.worker or "-"),
            say("Call prof.step() after each step, and record several after a warm-up."),
        )
    return complete


def recorded(trace: Trace) -> Recorded:
    """Return what the times of a recording depend on."""
    meta, ops = trace.meta, trace.ops
    first, _ = groupby.group_rows(ops.shapes, ops.dtypes)
    types = {
        kind
        for i in first.tolist()
        for _, kind in typed_shapes(trace.text(ops.shapes[i]), trace.text(ops.dtypes[i]))
        if "float" in kind
    }
    return Recorded(
        torch=meta.torch_version,
        device=device_models(trace) or meta.backend,
        vendor=meta.vendor,
        timeline=meta.timeline,
        world_size=meta.world_size,
        float_types=tuple(sorted(types)),
        options=tuple(name for name in _OPTIONS if meta.profiler.get(name)),
    )


def _metrics(trace: Trace, rows: I64) -> Iterator[tuple[MetricName, RunMetric]]:
    steps, kernels, count = trace.steps, trace.kernels, len(trace.steps)
    length = steps.end_ns - steps.start_ns
    yield "step", _metric(length[rows], steps_bounds.step_windows(trace).bound(steps)[rows])
    if device_times.known_times(trace) == "device":
        duration = kernels.end_ns - kernels.start_ns
        total = groupby.sums(kernels.step, duration, count)
        bounds = sum_bounds.duration_sum_bounds(kernels.step, kernels, count)
        yield "device", _metric(total[rows], device_times.known_bounds(trace, bounds)[rows])
    chosen = devices.choose_device(trace, allocations.memory_devices(trace.memory), None)
    if chosen is not None:
        level = allocations.memory_level(allocations.device_events(trace.memory, chosen))
        if level.has_totals:
            # On the CPU torch counts what it sees while it records (ProfiledCPUMemoryReporter), so
            # that each recording of a process starts with what was freed since the one before.
            unseen = level.before if chosen[0] == allocations.CPU else 0
            yield "memory", _metric(memory.step_peaks(trace, level, rows) - unseen)
    if len(kernels):
        launched = np.where(kernels.kind == UNKNOWN, NONE, kernels.step)
        yield "launches", _metric(_per_step(launched, count)[rows])
        waits = step_of(trace, synchronization_starts(trace))
        yield "synchronizations", _metric(_per_step(waits, count)[rows])


def _per_step(step: I32 | I64, steps: int) -> I64:
    return groupby.sums(step, np.ones(len(step), np.int64), steps)


def _metric(values: I64, bounds: I64 | None = None) -> RunMetric:
    if bounds is None:
        return RunMetric(step_figure(values), 0)
    return RunMetric(step_figure(values), None if (bounds == MISSING).any() else int(bounds.max()))
