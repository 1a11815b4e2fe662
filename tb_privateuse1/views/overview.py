"""The overview: step time, device utilization, and a breakdown of the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.account import top_lists
from tb_privateuse1.analysis.account.bounds import utilization
from tb_privateuse1.analysis.account.idle_by_operator import AwaitedOperator, awaited_operators
from tb_privateuse1.analysis.account.table import (
    Account,
    StepAccount,
    account_table,
    has_account,
    step_accounts,
)
from tb_privateuse1.analysis.counters import sm_occupancy
from tb_privateuse1.analysis.recording.iterations import has_steps
from tb_privateuse1.analysis.recording.judged_part import iteration_spread
from tb_privateuse1.analysis.recording.summary import (
    Absence,
    Content,
    RecordingSummary,
    absent_contents,
    contents,
    summary_of,
)
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.roofs.device_use import DeviceUse, device_use
from tb_privateuse1.analysis.roofs.rates import ModeledTime, modeled_time
from tb_privateuse1.analysis.simulation.verdict import Verdict, steady_verdict, verdict
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.analysis.steps.table import (
    Average,
    Spread,
    Step,
    StepCounts,
    count_steps,
    step_averages,
    step_spread,
    step_table,
)
from tb_privateuse1.i18n import say
from tb_privateuse1.readers import reader_named
from tb_privateuse1.trace import device_times, intervals, uncertainty
from tb_privateuse1.trace import labels as trace_labels
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.isolation import isolate_fields
from tb_privateuse1.trace.memory_budget import BUDGET
from tb_privateuse1.trace.model import MEMCPY, MEMSET, UNKNOWN, Kernels, Trace
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import (
    MOST_STEPS,
    OffsetOption,
    StepOption,
    WindowOption,
    check_page,
    chosen_window,
    step_row,
)

_MOST_STEPS = 5_000
"""A list of 5,000 steps takes 14 MB as JSON, with their accounts."""


class Totals(Struct, frozen=True):
    """Device activity of the window. Null: no device times.

    If a stream is missing, times are lower bounds, and those that the others leave at 0 are null.
    A ``_bound_ns`` is how far off the figure may be; 0 if measured, null if that is not known.
    """

    span_ns: int | None
    busy_ns: int | None
    compute_ns: int | None
    communication_ns: int | None
    memcpy_ns: int | None
    memset_ns: int | None
    unknown_ns: int | None
    overlap_ns: int | None
    span_bound_ns: int | None
    busy_bound_ns: int | None
    compute_bound_ns: int | None
    communication_bound_ns: int | None
    memcpy_bound_ns: int | None
    memset_bound_ns: int | None
    unknown_bound_ns: int | None
    overlap_bound_ns: int | None
    kernels: int | None
    communication_kernels: int | None
    memcpys: int | None
    memsets: int | None
    unknown_activities: int | None
    """Intervals in which the device worked and nothing tells for whom."""
    linked: int | None
    unlinked: int | None


class DeviceAccount(Struct, frozen=True):
    """The account of one of several devices."""

    device: int
    account: Account


class Overview(Result, frozen=True):
    """The result of the view."""

    provenance: Provenance
    verdict: Verdict | None
    """What limits the window, in one sentence; null if brief, or if nothing of it is judged
    or known."""
    recording: RecordingSummary | None
    """The kind of recording, and what of it is judged; of the whole trace. Null if brief."""
    device: tuple[trace_labels.Fact, ...]
    run: tuple[trace_labels.Fact, ...]
    contents: tuple[Content, ...]
    """What the recording has of what only some have."""
    absent: tuple[Absence, ...]
    """What it lacks of what the profiler's options record, and why."""
    duration_ns: int
    """The recording's length."""
    steps: tuple[Step, ...]
    """At most ``limit`` of them: all other figures are of all steps."""
    steps_total: int
    steps_offset: int
    """How many steps come before the first of ``steps``."""
    step_counts: StepCounts
    average_step_ns: int | None
    """Mean duration of the window's complete steps, or of iterations without steps; null if none
    is."""
    average_step_bound_ns: int | None
    spread: Spread | None
    averages: tuple[Average, ...]
    """What these steps go to on average; empty if none is complete."""
    utilization: float | None
    """Busy device time within the window as a share of it."""
    utilization_low: float | None
    """The least value that the bounds allow; the share itself if measured, null if not known."""
    utilization_high: float | None
    """The greatest one."""
    sm_efficiency: float | None
    """The share of the device's multiprocessors that held blocks within the same windows, and"""
    occupancy: float | None
    """the occupancy of its kernels, 0 to 1: CUPTI's estimates; null where it tells nothing."""
    totals: Totals
    use: DeviceUse
    """The share of the device's peak that the complete steps use, and their samples and tokens."""
    modeled: ModeledTime | None
    """How much of the device's time has a model of its work; null without an MFU."""
    account: Account | None
    """Where all time of the window goes; null if brief, or where a device was used and has
    no times."""
    device_accounts: tuple[DeviceAccount, ...]
    """The same of each device; empty with only one."""
    account_steps: tuple[StepAccount, ...]
    """The same of the window of each of ``steps``."""
    idle_before: tuple[AwaitedOperator, ...]
    """The operators before whose activities the device was idle for longest, in the windows."""
    top_operators: tuple[top_lists.Share, ...]
    unlinked_device_ns: int | None
    """Device activities that no operator launched, such as a graph's replay: the rest of the shares
    of ``top_operators``. Null without device activities."""
    top_kernels: tuple[top_lists.Share, ...]
    evidence: tuple[uncertainty.Evidence, ...]
    failures: tuple[Finding, ...] = ()
    """The cards that could not be computed: their fields are null or empty."""


def overview(
    trace: Trace,
    *,
    step: StepOption = None,
    window: WindowOption = "steady",
    brief: Annotated[bool, "without kind of recording, verdict, account and top lists"] = False,
    around: Annotated[int | None, "the N of a step in the list; default: the step"] = None,
    offset: OffsetOption = 0,
    limit: Annotated[int, "at most this many steps"] = MOST_STEPS,
) -> Overview:
    """The limit, the steps and the totals of a window: the steady part, a step, or everything.

    ``brief`` is what all pages need first, the rest is null or empty. Raises TraceError
    ``unknown_step`` or ``bad_option``.
    """
    part = chosen_window(trace, step, window)
    row = step_row(trace, step if around is None else around)
    listed = _listed_rows(len(trace.steps), row, offset, limit)
    first = BUDGET.compute(trace, ("overview", part.key), lambda: _first_figures(part))
    first = replace(first, steps=step_table(trace, listed), steps_offset=listed.start)
    if brief:
        return first
    cards, failures = isolate_fields(_cards(part, listed))
    return replace(first, **cards, failures=failures)


def _listed_rows(count: int, row: int | None, offset: int, limit: int) -> slice:
    """Return the rows of the listed steps: those from ``offset``, or the page that has ``row``.

    Raises TraceError ``bad_option``.
    """
    check_page(limit, offset)
    if limit > _MOST_STEPS:
        message = say("limit must be at most {most} here.", most=_MOST_STEPS)
        raise TraceError("bad_option", message)
    if row is not None and limit and not offset <= row < offset + limit:
        offset = row // limit * limit
    offset = min(offset, count)
    return slice(offset, min(offset + limit, count))


def _cards(window: Window, listed: slice) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what computes the fields of each card that a brief overview leaves out."""
    trace = window.trace
    return {
        say("The verdict"): lambda: {"verdict": _verdict(window)},
        say("The kind of recording"): lambda: {"recording": summary_of(window)},
        say("The account of time"): lambda: _account_fields(window, listed),
        say("Awaited operators"): lambda: {"idle_before": awaited_operators(trace, window.time)},
        say("The list of operators"): lambda: {"top_operators": top_lists.top_operators(window)},
        say("The list of kernels"): lambda: {"top_kernels": top_lists.top_kernels(window)},
    }


def _verdict(window: Window) -> Verdict | None:
    """Return the verdict; that of the steady part is shared."""
    if window.kind == "steady":
        return steady_verdict(window.trace)
    return verdict(window.trace, window.part)


def _account_fields(window: Window, listed: slice) -> dict[str, Any]:
    trace = window.trace
    whole, devices = BUDGET.compute(trace, ("accounts", window.key), lambda: _accounts(window))
    steps = step_accounts(trace, listed) if whole else ()
    return {"account": whole, "device_accounts": devices, "account_steps": steps}


def _first_figures(window: Window) -> Overview:
    """Return the brief overview without its list of steps."""
    trace = window.trace
    # A single step is compared with the steady ones.
    averaged = Window(trace, "steady") if window.kind == "step" else window
    cut, rows = averaged.time if averaged.is_cut else None, averaged.complete_steps
    spread = iteration_spread(trace)
    if has_steps(trace):  # else one row stands for all of the recording
        spread = step_spread(trace, rows, cut)
    used = utilization(window)
    kernels = trace.kernels.take(window.kernels)
    use = BUDGET.compute(
        trace,
        ("use", window.key),
        lambda: device_use(trace, window.complete_steps, window.time, window.kernels),
    )
    return Overview(
        provenance=provenance(trace, window),
        verdict=None,
        recording=None,
        device=trace_labels.device(trace),
        run=trace_labels.run(trace),
        contents=contents(trace),
        absent=absent_contents(trace, has_memory=reader_named(trace.meta.reader).has_memory),
        duration_ns=trace.end_ns,
        steps=(),
        steps_total=len(trace.steps),
        steps_offset=0,
        step_counts=count_steps(trace),
        average_step_ns=spread.mean_ns if spread else None,
        average_step_bound_ns=spread.bound_ns if spread else None,
        spread=spread,
        averages=step_averages(trace, rows, cut),
        utilization=used.share,
        utilization_low=used.low,
        utilization_high=used.high,
        sm_efficiency=sm_occupancy.sm_efficiency(trace, trace.kernels, *window.time),
        occupancy=sm_occupancy.occupancy(trace, kernels),
        totals=_totals(trace, kernels),
        use=use,
        modeled=None if use.mfu is None else modeled_time(trace, window.kernels),
        account=None,
        device_accounts=(),
        account_steps=(),
        idle_before=(),
        top_operators=(),
        unlinked_device_ns=device_times.known_sum(trace, top_lists.unlinked_ns(window)),
        top_kernels=(),
        evidence=tuple(uncertainty.evidence_classes(kernels)),
    )


def _accounts(window: Window) -> tuple[Account | None, tuple[DeviceAccount, ...]]:
    """Return the account of the window over all devices, and of each of several devices."""
    trace, time, bound = window.trace, window.time, window.bound_ns
    if not has_account(trace):
        return None, ()
    whole = account_table(trace, time, window_bound_ns=bound)
    devices = np.unique(trace.lanes.device[np.unique(trace.kernels.lane)]).tolist()
    each = devices if len(devices) > 1 else ()
    return whole, tuple(
        DeviceAccount(device, account_table(trace, time, device, window_bound_ns=bound))
        for device in each
    )


def _totals(trace: Trace, kernels: Kernels) -> Totals:
    if not len(trace.kernels):
        return Totals(*[None] * 23)
    span = int(kernels.end_ns.max() - kernels.start_ns.min()) if len(kernels) else 0
    of = {
        "busy": kernels,
        "compute": breakdown.compute_kernels(kernels),
        "communication": kernels.take(kernels.communication),
        "memcpy": kernels.take(kernels.kind == MEMCPY),
        "memset": kernels.take(kernels.kind == MEMSET),
        "unknown": kernels.take(kernels.kind == UNKNOWN),
    }
    when = {name: breakdown.busy(some) for name, some in of.items()}
    length = {name: intervals.length(one) for name, one in when.items()}
    error = {name: uncertainty.union_bound(some) for name, some in of.items()}
    overlap = intervals.length(intervals.intersect(when["compute"], when["communication"]))
    span_bound = uncertainty.span_bound(kernels)
    linked = int(breakdown.linked_activities(trace, kernels).sum())
    counts = {
        "kernels": len(of["compute"]),
        "communication_kernels": len(of["communication"]),
        "memcpys": len(of["memcpy"]),
        "memsets": len(of["memset"]),
        "unknown_activities": len(of["unknown"]),
        "linked": linked,
        "unlinked": len(kernels) - linked,
    }
    return Totals(
        span_ns=span,
        **{f"{name}_ns": device_times.known_sum(trace, n) for name, n in length.items()},
        **{f"{name}_bound_ns": device_times.known_bound(trace, n) for name, n in error.items()},
        overlap_ns=device_times.known_sum(trace, overlap),
        span_bound_ns=device_times.known_bound(trace, span_bound),
        # What is in both is what their sum has more than their union.
        overlap_bound_ns=device_times.known_bound(
            trace,
            _sum(error["compute"], error["communication"], error["busy"])
            if length["communication"]
            else 0,
        ),
        **{name: device_times.known_sum(trace, n) for name, n in counts.items()},
    )


def _sum(*bounds: int | None) -> int | None:
    known = [bound for bound in bounds if bound is not None]
    return sum(known) if len(known) == len(bounds) else None
