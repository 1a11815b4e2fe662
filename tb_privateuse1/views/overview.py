"""The overview: step time, device utilization, and a breakdown of the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.account.awaited import AwaitedOperator, awaited_operators
from tb_privateuse1.analysis.account.table import (
    Account,
    StepAccount,
    account_table,
    has_account,
    step_accounts,
)
from tb_privateuse1.analysis.account.verdict import Verdict, verdict
from tb_privateuse1.analysis.counters import sm_occupancy
from tb_privateuse1.analysis.kernel_names import name_fields
from tb_privateuse1.analysis.operators import totals as operators_totals
from tb_privateuse1.analysis.recording.judged_part import iteration_spread
from tb_privateuse1.analysis.recording.summary import RecordingSummary, summary
from tb_privateuse1.analysis.roofs.device_use import DeviceUse, device_use
from tb_privateuse1.analysis.roofs.rates import ModeledTime, modeled_time
from tb_privateuse1.analysis.steps import bounds as steps_bounds
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.analysis.steps.table import (
    Average,
    Spread,
    Step,
    step_averages,
    step_spread,
    step_table,
)
from tb_privateuse1.analysis.steps.utilization import utilization
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import device_times, intervals, sum_bounds, uncertainty
from tb_privateuse1.trace import labels as trace_labels
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.groupby import outermost_calls
from tb_privateuse1.trace.isolation import isolate_fields
from tb_privateuse1.trace.memory_budget import BUDGET
from tb_privateuse1.trace.model import MEMCPY, MEMSET, NONE, UNKNOWN, Kernels, Trace
from tb_privateuse1.trace.table import I64
from tb_privateuse1.views.result import Result
from tb_privateuse1.views.view_inputs import (
    Provenance,
    StepOption,
    counted,
    grouped,
    in_step,
    provenance,
    step_row,
    sums,
)

_TOP = 10


class Totals(Struct, frozen=True):
    """Device activity over the trace, or over the selected step. Null: no device times.

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
    """Stretches in which the device worked and nothing tells for whom."""
    linked: int | None
    unlinked: int | None


class Share(Struct, frozen=True):
    """One of the operators or kernels with the most device time (or host time without)."""

    name: str
    full_name: str | None
    """Of a kernel: as its compiler wrote it; null if that is ``name``."""
    kind: str
    """``operator``, or of an activity one of ``breakdown.KINDS``."""
    calls: int
    total_ns: int
    bound_ns: int | None
    """How far off ``total_ns`` may be; 0 for measured times and the host's."""
    bounded_share: float
    """The part of it with limits only (evidence ``bound``), 0 to 1."""
    share: float
    """Of all device time, 0 to 1: of the operators' and the unlinked; of host self time without."""


class DeviceAccount(Struct, frozen=True):
    """The account of one of several devices."""

    device: int
    account: Account


class Overview(Result, frozen=True):
    """The result of the view."""

    provenance: Provenance
    verdict: Verdict | None
    """What limits the judged part, in one sentence; null if brief, or if nothing is judged
    or known."""
    recording: RecordingSummary | None
    """The kind of recording, and what of it is judged; of the whole trace. Null if brief."""
    device: tuple[trace_labels.Fact, ...]
    run: tuple[trace_labels.Fact, ...]
    duration_ns: int
    """The recording's length."""
    steps: tuple[Step, ...]
    average_step_ns: int | None
    """Mean duration of the complete steps, or of iterations without steps; null if none is."""
    average_step_bound_ns: int | None
    spread: Spread | None
    averages: tuple[Average, ...]
    """What the complete steps go to on average; empty if none is complete."""
    utilization: float | None
    """Busy device time within the steps' windows as a share of these windows."""
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
    """Where all time of the steps' windows goes; null if brief, or where a device was used and has
    no times."""
    device_accounts: tuple[DeviceAccount, ...]
    """The same of each device; empty with only one."""
    account_steps: tuple[StepAccount, ...]
    """The same of the window of each step."""
    idle_before: tuple[AwaitedOperator, ...]
    """The operators before whose activities the device was idle for longest, in the windows."""
    top_operators: tuple[Share, ...]
    unlinked_device_ns: int | None
    """Device activities that no operator launched, such as a graph's replay: the rest of the shares
    of ``top_operators``. Null without device activities."""
    top_kernels: tuple[Share, ...]
    evidence: tuple[uncertainty.Evidence, ...]
    failures: tuple[Finding, ...] = ()
    """The cards that could not be computed: their fields are null or empty."""


def overview(
    trace: Trace,
    *,
    step: StepOption = None,
    brief: Annotated[bool, "without kind of recording, verdict, account and top lists"] = False,
) -> Overview:
    """Figures over the whole trace; ``step`` limits totals and top lists to one step.

    ``brief`` is what all pages need first, the rest is null or empty. Raises TraceError
    ``unknown_step``.
    """
    row = step_row(trace, step)
    first = BUDGET.compute(trace, ("overview", row), lambda: _first_figures(trace, row))
    if brief:
        return first
    cards, failures = isolate_fields(_cards(trace, row))
    return replace(first, **cards, failures=failures)


def _cards(trace: Trace, row: int | None) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what computes the fields of each card that a brief overview leaves out."""
    kernels = trace.kernels.take(in_step(trace.kernels.step, row))
    window = intervals.union(*_windows(trace, row))
    return {
        say("The verdict"): lambda: {"verdict": verdict(trace)},
        say("The kind of recording"): lambda: {"recording": summary(trace)},
        say("The account of time"): lambda: _account_fields(trace, row),
        say("Awaited operators"): lambda: {"idle_before": awaited_operators(trace, window)},
        say("The list of operators"): lambda: {"top_operators": _top_operators(trace, row)},
        say("The list of kernels"): lambda: {"top_kernels": _top_kernels(trace, kernels)},
    }


def _account_fields(trace: Trace, row: int | None) -> dict[str, Any]:
    whole, devices = BUDGET.compute(trace, ("accounts", row), lambda: _account_tables(trace, row))
    steps = step_accounts(trace) if whole else ()
    return {"account": whole, "device_accounts": devices, "account_steps": steps}


def _first_figures(trace: Trace, row: int | None) -> Overview:
    """Return the brief overview of all steps, or of a row of ``trace.steps``."""
    steps = step_table(trace)
    spread = iteration_spread(trace) or step_spread(steps)
    used = utilization(trace, row)
    inside = in_step(trace.kernels.step, row)
    kernels = trace.kernels.take(inside)
    use = BUDGET.compute(trace, ("use", row), lambda: device_use(trace, row))
    return Overview(
        provenance=provenance(trace),
        verdict=None,
        recording=None,
        device=trace_labels.device(trace),
        run=trace_labels.run(trace),
        duration_ns=trace.end_ns,
        steps=steps,
        average_step_ns=spread.mean_ns if spread else None,
        average_step_bound_ns=spread.bound_ns if spread else None,
        spread=spread,
        averages=step_averages(trace),
        utilization=used.share,
        utilization_low=used.low,
        utilization_high=used.high,
        sm_efficiency=sm_occupancy.sm_efficiency(trace, trace.kernels, *_windows(trace, row)),
        occupancy=sm_occupancy.occupancy(trace, kernels),
        totals=_totals(trace, kernels),
        use=use,
        modeled=None if use.mfu is None else modeled_time(trace, inside),
        account=None,
        device_accounts=(),
        account_steps=(),
        idle_before=(),
        top_operators=(),
        unlinked_device_ns=device_times.known_sum(trace, _unlinked_ns(trace, row)),
        top_kernels=(),
        evidence=tuple(uncertainty.evidence_classes(kernels)),
    )


def _windows(trace: Trace, row: int | None) -> tuple[I64, I64]:
    """Return the starts and ends of all steps, or of one."""
    rows = slice(None) if row is None else slice(row, row + 1)
    return trace.steps.start_ns[rows], trace.steps.end_ns[rows]


def _account_tables(
    trace: Trace, row: int | None
) -> tuple[Account | None, tuple[DeviceAccount, ...]]:
    """Return the account of the windows over all devices, and of each of several devices."""
    if not has_account(trace):
        return None, ()
    window = intervals.union(*_windows(trace, row))
    bounds = steps_bounds.step_windows(trace).bound(trace.steps)
    bound = uncertainty.bound_sum(bounds if row is None else bounds[[row]])
    whole = account_table(trace, window, window_bound_ns=bound)
    devices = np.unique(trace.lanes.device[np.unique(trace.kernels.lane)]).tolist()
    each = devices if len(devices) > 1 else ()
    return whole, tuple(
        DeviceAccount(device, account_table(trace, window, device, window_bound_ns=bound))
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


def _top_operators(trace: Trace, row: int | None) -> tuple[Share, ...]:
    """Return operators by device self time; by host self time without device times."""
    ops = trace.ops
    rows = np.flatnonzero(counted(trace) & in_step(ops.step, row))
    own = operators_totals.own(trace)
    none = np.zeros(len(ops), np.int64)
    time, bounded = own.host_ns, none
    if len(trace.kernels):
        time, bounded = own.device_ns, own.bounded_ns
    names = ops.name[rows]
    first, group = grouped(names)
    labels = [("operator", trace.text(names[i])) for i in first]
    whole = _unlinked_ns(trace, row) + int(time[rows].sum())
    member = np.full(len(ops), NONE, np.int32)
    member[rows] = group
    launcher = lookup(outermost_calls(ops), trace.kernels.op, NONE)
    place = lookup(member, launcher, NONE)
    error = sum_bounds.duration_sum_bounds(place, trace.kernels, len(labels))
    error = device_times.known_bounds(trace, error) if len(trace.kernels) else error
    return _top(labels, group, time[rows], error, bounded[rows], whole)


def _unlinked_ns(trace: Trace, row: int | None) -> int:
    """Return the device time that no operator launched."""
    kernels = trace.kernels.take((trace.kernels.op < 0) & in_step(trace.kernels.step, row))
    return int((kernels.end_ns - kernels.start_ns).sum())


def _top_kernels(trace: Trace, kernels: Kernels) -> tuple[Share, ...]:
    kinds = breakdown.activity_kinds(kernels)
    first, group = grouped(kernels.name, kinds)
    labels = [(breakdown.KINDS[kinds[i]], trace.text(kernels.name[i])) for i in first]
    time = kernels.end_ns - kernels.start_ns
    error = sum_bounds.duration_sum_bounds(group, kernels, len(labels))
    error = device_times.known_bounds(trace, error)
    return _top(labels, group, time, error, _bounded(kernels), int(time.sum()))


def _bounded(kernels: Kernels) -> I64:
    """Return the duration of each activity with limits only, 0 for the others."""
    return np.where(uncertainty.bounded_only(kernels), kernels.end_ns - kernels.start_ns, 0)


def _top(
    labels: list[tuple[str, str]],
    group: I64,
    time_ns: I64,
    bound_ns: I64,
    bounded_ns: I64,
    whole: int,
) -> tuple[Share, ...]:
    """Return the groups with the most time; a group's label is its kind and its name.

    ``bound_ns`` is by group, the other columns by row.
    """
    totals = sums(group, time_ns, len(labels))
    bounded = sums(group, bounded_ns, len(labels))
    count = np.bincount(group, minlength=len(labels))
    order = np.argsort(-totals, kind="stable")[:_TOP]
    return tuple(
        Share(
            **name_fields(labels[i][1], kernel=labels[i][0] != "operator"),
            kind=labels[i][0],
            calls=int(count[i]),
            total_ns=int(totals[i]),
            bound_ns=uncertainty.known_bound(bound_ns[i]),
            bounded_share=int(bounded[i]) / int(totals[i]),
            share=int(totals[i]) / whole,
        )
        for i in order
        if totals[i] > 0
    )
