"""Device activities by name and launching operator: calls, total, mean, median, extremes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tb_privateuse1 import breakdown, certainty
from tb_privateuse1.tables import Result
from tb_privateuse1.trace import NONE, Trace
from tb_privateuse1.views.base import Provenance, grouped, in_step, provenance, step_row


@dataclass(frozen=True)
class KernelRow:
    """The device activities of one name that one operator launched."""

    name: str
    operator: str | None
    """The innermost operator that launched them; null for those without a launch."""
    kind: str
    """``kernel``, ``memcpy``, ``memset`` or ``communication``."""
    calls: int
    total_ns: int
    mean_ns: int
    median_ns: int
    min_ns: int
    max_ns: int
    bound_ns: int | None
    """How far off ``total_ns`` may be; 0 for measured times."""
    mean_bound_ns: int | None
    median_bound_ns: int | None
    min_bound_ns: int | None
    max_bound_ns: int | None
    """How far off the mean and the others may be."""
    bounded_share: float
    """The part of ``total_ns`` of which only limits are known (evidence ``bound``), 0 to 1."""
    share: float
    """Of the total of all rows, 0 to 1."""
    longest_row: int
    """The row of the activity with ``max_ns`` in the trace's table of kernels."""


@dataclass(frozen=True)
class KernelTable(Result):
    """The result of the view."""

    provenance: Provenance
    rows: tuple[KernelRow, ...]
    calls: int
    total_ns: int
    """Sum of all rows' totals: more than the busy time where lanes overlap."""
    bound_ns: int | None
    """How far off it may be."""


def kernels(
    trace: Trace, *, group: Literal["operator", "name"] = "operator", step: int | None = None
) -> KernelTable:
    """A row per name and launching operator, or per name only; most time first.

    Raises TraceError ``unknown_step``.
    """
    chosen = np.flatnonzero(in_step(trace.kernels.step, step_row(trace, step)))
    table = trace.kernels.take(chosen)
    ops = np.where(table.op >= 0, trace.ops.name[table.op], NONE) if len(trace.ops) else table.op
    if group == "name":
        ops = np.full(len(table), NONE, np.int32)
    kind = breakdown.kinds(table)
    first, member = grouped(table.name, ops, kind)
    duration = table.end_ns - table.start_ns
    by_member = np.lexsort((duration, member))
    edges = np.searchsorted(member[by_member], np.arange(len(first) + 1))
    whole = int(duration.sum())
    only_limits = certainty.bounded(table)
    rows = []
    for i, one in enumerate(first):
        of_row = by_member[edges[i] : edges[i + 1]]
        times = duration[of_row]
        total = int(times.sum())
        error = table.duration_bound_ns[of_row]
        whole_bound = certainty.bound_sum(error)
        only = int(times[only_limits[of_row]].sum())
        rows.append(
            KernelRow(
                name=trace.text(table.name[one]),
                operator=trace.text(ops[one]) or None,
                kind=breakdown.KINDS[kind[one]],
                calls=len(times),
                total_ns=total,
                mean_ns=round(total / len(times)),
                median_ns=round(float(np.median(times))),
                min_ns=int(times[0]),
                max_ns=int(times[-1]),
                bound_ns=whole_bound,
                mean_bound_ns=None if whole_bound is None else round(whole_bound / len(times)),
                median_bound_ns=certainty.bound_of(np.median, times, error),
                min_bound_ns=certainty.bound_of(np.min, times, error),
                max_bound_ns=certainty.bound_of(np.max, times, error),
                bounded_share=only / total if total else 0.0,
                share=total / whole if whole else 0.0,
                longest_row=int(chosen[of_row[-1]]),
            )
        )
    rows.sort(key=lambda r: -r.total_ns)
    bound = certainty.bound_sum(table.duration_bound_ns)
    return KernelTable(provenance(trace), tuple(rows), len(table), whole, bound)
