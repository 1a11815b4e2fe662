"""The operators and kernels with the most time in a window."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.kernel_names import name_fields
from tb_privateuse1.analysis.operators import totals as operators_totals
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import device_times, sum_bounds, uncertainty
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import counted_operators, group_rows, outermost_calls, sums
from tb_privateuse1.trace.model import NONE, Kernels
from tb_privateuse1.trace.table import I64

_MOST = 10
"""Rows: they have 93 % of the device time in the median of 87 shared recordings, and 69 % or more
in nine of ten."""


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


def top_operators(window: Window) -> tuple[Share, ...]:
    """Return operators by device self time; by host self time without device times."""
    trace, ops = window.trace, window.trace.ops
    rows = np.flatnonzero(counted_operators(trace) & window.ops)
    own = operators_totals.own(trace)
    none = np.zeros(len(ops), np.int64)
    time, bounded = own.host_ns, none
    if len(trace.kernels):
        time, bounded = own.device_ns, own.bounded_ns
    names = ops.name[rows]
    first, group = group_rows(names)
    labels = [("operator", trace.text(names[i])) for i in first]
    whole = unlinked_ns(window) + int(time[rows].sum())
    member = np.full(len(ops), NONE, np.int32)
    member[rows] = group
    launcher = lookup(outermost_calls(ops), trace.kernels.op, NONE)
    place = lookup(member, launcher, NONE)
    error = sum_bounds.duration_sum_bounds(place, trace.kernels, len(labels))
    error = device_times.known_bounds(trace, error) if len(trace.kernels) else error
    return _top(labels, group, time[rows], error, bounded[rows], whole)


def unlinked_ns(window: Window) -> int:
    """Return the device time that no operator launched."""
    kernels = window.trace.kernels
    kernels = kernels.take((kernels.op < 0) & window.kernels)
    return int((kernels.end_ns - kernels.start_ns).sum())


def top_kernels(window: Window) -> tuple[Share, ...]:
    """Return kernels, copies and fills by device time."""
    trace = window.trace
    kernels = trace.kernels.take(window.kernels)
    kinds = breakdown.activity_kinds(kernels)
    first, group = group_rows(kernels.name, kinds)
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
    order = np.argsort(-totals, kind="stable")[:_MOST]
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
