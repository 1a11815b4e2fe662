"""Compare two traces: steps, and operators, kernels, modules or annotations by name."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.account import table as account_table
from tb_privateuse1.analysis.account.classes import CLASSES
from tb_privateuse1.analysis.comparison import items_per_step, notes, significance
from tb_privateuse1.analysis.comparison import memory as comparison_memory
from tb_privateuse1.analysis.comparison.alive_memory import compare_alive
from tb_privateuse1.analysis.comparison.conditions import Condition, conditions
from tb_privateuse1.analysis.comparison.items_per_step import By, Figures, Name
from tb_privateuse1.analysis.comparison.left_out import left_out_work
from tb_privateuse1.analysis.comparison.memory import DiffAllocator, DiffMemory
from tb_privateuse1.analysis.comparison.parameters import DiffParameter, different_parameters
from tb_privateuse1.analysis.comparison.reasons import Explanation, explain_change
from tb_privateuse1.analysis.comparison.repeats import same_steps
from tb_privateuse1.analysis.comparison.rows import (
    DiffRow,
    Time,
    compare_rows,
    rename_kernels,
)
from tb_privateuse1.analysis.comparison.significance import Sample, Test, Verdict
from tb_privateuse1.analysis.memory.differences import MemoryDifference
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.run_parameters import RunParameter, trace_parameters
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import (
    MOST_STEPS,
    OffsetOption,
    WindowOption,
    check_page,
    chosen_window,
)


class DiffFigure(Struct, frozen=True):
    """A part of the step, on average over the chosen steps of each trace."""

    name: str
    label: str | None
    """Of a class of time; null of a part."""
    base_ns: int | None
    now_ns: int | None
    change_ns: int | None
    change_share: float | None
    """The change as a share of the base; null if that is 0."""
    noise_ns: int | None
    """How far off the change may be by the spread over steps; null with less than two of either."""
    test: Test | None
    """By which interval ``noise_ns`` is, that of ``rows`` and reasons, too: ``paired`` where both
    have five or more steps of the same names; else ``welch``. Null without ``noise_ns``."""
    bound_ns: int | None
    """How far off the change may be as device times are inferred; 0 for measured ones."""
    verdict: Verdict


class DiffStep(Struct, frozen=True):
    """The n-th step of each trace; null where one has no more."""

    base: str | None
    now: str | None
    base_ns: int | None
    now_ns: int | None
    change_ns: int | None


class Diff(Result, frozen=True):
    """The result of the view: rows with the greatest change first."""

    provenance: Provenance
    base: Provenance
    conditions: tuple[Condition, ...]
    """What differs about the recordings besides their time."""
    parameters: tuple[DiffParameter, ...]
    """Hyperparameters, metadata of the programs and the environment that differ."""
    explanation: Explanation | None
    """Why the step changed; null without steps or device times."""
    rows: tuple[DiffRow, ...]
    """Those asked for; all outermost ones sum to the totals, up to the rounding of each."""
    total_rows: int
    """How many there are."""
    figures: tuple[DiffFigure, ...]
    """The step, and its parts, which sum to it."""
    account: tuple[DiffFigure, ...]
    """The classes of time that either has, which sum to the step: those of the account of each
    window, per complete step."""
    memory: tuple[DiffMemory, ...]
    """Of each device, per step."""
    allocators: tuple[DiffAllocator, ...]
    """What operators allocate per step, the greatest change first."""
    alive: tuple[MemoryDifference, ...]
    """Of each device, what is alive at the instant that ``alive_at`` selects."""
    steps: tuple[DiffStep, ...]
    """The first 500 of ``pairs_total``."""
    pairs_total: int
    by: By
    time: Time
    base_steps: int
    now_steps: int
    base_total_ns: int | None
    now_total_ns: int | None
    """Null without device times."""
    base_median_ns: int | None
    now_median_ns: int | None
    """The median of the compared steps, which a single long one does not move; null without any."""
    notes: tuple[Finding, ...]


Hparams = tuple[tuple[RunParameter, ...], tuple[RunParameter, ...]]

_Step = Annotated[
    int | None, "the N of ProfilerStep#N in the new trace; the steady ones by default"
]
_BaseStep = Annotated[int | None, "the N of ProfilerStep#N in the base; the steady ones by default"]
_AliveAt = Annotated[
    Literal["none", "peak", "end"],
    "compare what is alive at the peak or the end of the chosen steps",
]


def diff(
    trace: Trace,
    base: Trace,
    hparams: Hparams = ((), ()),
    *,
    by: Annotated[By, "what a row is"] = "operators",
    time: Annotated[
        Literal["best", "device", "host"],
        "best is device time where both traces have it, else host time",
    ] = "best",
    step: _Step = None,
    base_step: _BaseStep = None,
    window: WindowOption = "steady",
    alive_at: _AliveAt = "none",
    limit: Annotated[int, "at most this many rows"] = 20_000,
    offset: OffsetOption = 0,
) -> Diff:
    """Compare two traces per step: time that ``trace`` gains or loses against ``base``.

    ``hparams`` are those that TensorBoard has of the run of ``trace``, and of that of ``base``.
    Raises TraceError ``unknown_step`` or ``bad_option``.
    """
    check_page(limit, offset)
    windows = chosen_window(trace, step, window), chosen_window(base, base_step, window)
    now_steps, base_steps = (one.compared_steps for one in windows)
    unit, repeats = _compared_time(trace, base, by, time), same_steps(*windows)
    now, old = (items_per_step.items_per_step(one, by) for one in windows)
    base_names: dict[Name, str] = {}
    if by == "kernels":
        old, base_names = rename_kernels(old, base, trace, base_steps, now_steps)
    counts = len(base_steps), len(now_steps)
    rows = compare_rows(
        old, now, by, unit, counts, base_names, slice(offset, offset + limit), repeats=repeats
    )
    why = _why(windows, repeats=repeats)
    return Diff(
        provenance=provenance(trace, windows[0]),
        base=provenance(base, windows[1]),
        conditions=conditions(base, trace, steps=counts, batch=why.batch if why else None),
        parameters=_parameters(trace, base, hparams),
        explanation=why,
        rows=rows.listed,
        total_rows=rows.count,
        figures=_figures(*map(items_per_step.step_parts, windows[::-1]), repeats=repeats),
        account=_account(windows[1], windows[0]),
        memory=comparison_memory.compare_devices(base, trace, base_steps, now_steps),
        allocators=comparison_memory.compare_allocators(base, trace, base_steps, now_steps),
        alive=compare_alive(base, trace, base_steps, now_steps, alive_at),
        steps=_paired(windows[1], windows[0]),
        pairs_total=max(counts),
        by=by,
        time=unit,
        base_steps=len(base_steps),
        now_steps=len(now_steps),
        base_total_ns=rows.base_total_ns,
        now_total_ns=rows.now_total_ns,
        base_median_ns=_median(windows[1]),
        now_median_ns=_median(windows[0]),
        notes=_notes(*windows),
    )


def _why(windows: tuple[Window, Window], *, repeats: bool) -> Explanation | None:
    now, base = windows
    steps, times = (base.compared_steps, now.compared_steps), (base.time, now.time)
    return explain_change(base.trace, now.trace, *steps, times, repeats=repeats)


def _parameters(trace: Trace, base: Trace, hparams: Hparams) -> tuple[DiffParameter, ...]:
    old, now = hparams[1] + trace_parameters(base), hparams[0] + trace_parameters(trace)
    return different_parameters(old, now)


def _notes(now: Window, base: Window) -> tuple[Finding, ...]:
    now_steps, base_steps = now.compared_steps, base.compared_steps
    return (
        *notes.notes(now.trace, base.trace, len(now_steps), len(base_steps)),
        *notes.decomposed(now.trace, base.trace, now_steps, base_steps),
        *left_out_work(now, base),
    )


def _compared_time(
    trace: Trace, base: Trace, by: By, time: Literal["best", "device", "host"]
) -> Time:
    """Return whose time is compared: of kernels always the device's."""
    if by == "kernels":
        return "device"
    if time != "best":
        return time
    return "device" if len(trace.kernels) and len(base.kernels) else "host"


def _account(base: Window, now: Window) -> tuple[DiffFigure, ...]:
    """Return the classes of time that one of the windows has; without device times none."""
    if not all(account_table.has_account(one.trace) for one in (base, now)):
        return ()
    old, new = (
        items_per_step.step_classes(one.trace, one.compared_steps, one.time) for one in (base, now)
    )
    figures = _figures(old, new, repeats=same_steps(base, now))
    labels = (one.label for one in CLASSES)
    return tuple(
        replace(one, label=label)
        for one, label in zip(figures, labels, strict=True)
        if one.base_ns or one.now_ns
    )


def _figures(base: Figures, now: Figures, *, repeats: bool) -> tuple[DiffFigure, ...]:
    rows = ((name, base[name], now[name]) for name in base)
    return tuple(_figure(name, a[0], b[0], _sum(a[1], b[1]), repeats) for name, a, b in rows)


def _sum(base: float | None, now: float | None) -> int | None:
    return None if base is None or now is None else round(base + now)


def _figure(name: str, old: Sample, now: Sample, bound: int | None, repeats: bool) -> DiffFigure:
    if not old.steps or not now.steps:
        before, after = (round(one.mean[0]) if one.steps else None for one in (old, now))
        return DiffFigure(name, None, before, after, None, None, None, None, bound, "unknown")
    before, after = round(old.mean[0]), round(now.mean[0])
    noise = significance.noise(old, now, repeats=repeats)
    spread = None if noise is None else round(float(noise[0]))
    return DiffFigure(
        name=name,
        label=None,
        base_ns=before,
        now_ns=after,
        change_ns=after - before,
        change_share=float(now.mean[0] / old.mean[0] - 1) if before else None,
        noise_ns=spread,
        test=significance.chosen_test(old, now, repeats=repeats),
        bound_ns=bound,
        verdict=significance.verdict(after - before, spread, bound),
    )


def _paired(base: Window, now: Window) -> tuple[DiffStep, ...]:
    """Return the first pairs: the n-th of the one beside the n-th of the other."""
    count = max(len(base.compared_steps), len(now.compared_steps))
    return tuple(_pair(_one(base, n), _one(now, n)) for n in range(min(count, MOST_STEPS)))


def _pair(base: tuple[str | None, int | None], now: tuple[str | None, int | None]) -> DiffStep:
    change = None if base[1] is None or now[1] is None else now[1] - base[1]
    return DiffStep(base[0], now[0], base[1], now[1], change)


def _median(window: Window) -> int | None:
    """Return the median of the compared steps; None without any."""
    table, rows = window.trace.steps, window.compared_steps
    if not len(rows):
        return None
    length = intervals.covered_length(window.time, table.start_ns[rows], table.end_ns[rows])
    return round(float(np.median(length)))


def _one(window: Window, n: int) -> tuple[str | None, int | None]:
    if n >= len(window.compared_steps):
        return None, None
    table, row = window.trace.steps, window.compared_steps[n : n + 1]
    length = intervals.covered_length(window.time, table.start_ns[row], table.end_ns[row])
    return window.trace.text(table.name[row[0]]), int(length[0])
