"""Average a recorded counter over a window, and while groups of kernels run."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.counters.recorded import Samples
from tb_privateuse1.trace import device_times, groupby, intervals
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I64


class WindowValues(Struct, frozen=True):
    """A counter in a window, in its own unit."""

    values: int
    """Those that were recorded in it."""
    interval_ns: int | None
    """The median time from one value to the next; None of a single one."""
    mean: float | None
    """Over time; None before the first value, as the least and the greatest are."""
    min: float | None
    max: float | None


class GroupMeans(Struct, frozen=True):
    """A counter while the calls of each group run."""

    mean: F64
    """Over the time of the calls; NaN before the first value."""
    known_ns: I64
    """The part of their time that has a value."""
    samples: I64
    """The values that were recorded while they ran, summed over calls."""


def window_values(form: Samples, start_ns: int, end_ns: int) -> WindowValues:
    """Return a counter's figures in [start_ns, end_ns)."""
    first, last = np.searchsorted(form.at_ns, (start_ns, end_ns)).tolist()
    gaps = np.diff(form.at_ns[first:last])
    low_high = form.extremes(start_ns, end_ns)
    return WindowValues(
        values=last - first,
        interval_ns=int(np.median(gaps)) if len(gaps) else None,
        mean=form.mean(*window(start_ns, end_ns)),
        min=low_high[0] if low_high else None,
        max=low_high[1] if low_high else None,
    )


def window(start_ns: int, end_ns: int) -> intervals.Set:
    """Return one window as a set of times."""
    return np.array([start_ns]), np.array([end_ns])


def has_call_times(trace: Trace) -> bool:
    """Return whether a counter can be read while a call runs: its times are measured."""
    return trace.meta.timeline == "measured" and device_times.all_known(trace)


def group_means(form: Samples, start_ns: I64, end_ns: I64, group: I64, groups: int) -> GroupMeans:
    """Return the means of calls by their group, from 0 to ``groups``; each call has its own."""
    length = form.known_ns(start_ns, end_ns)
    known = groupby.sums(group, length, groups)
    mean = np.where(length > 0, form.means(start_ns, end_ns), 0.0)
    area = np.bincount(group, mean * length, groups)
    inside = np.searchsorted(form.at_ns, end_ns) - np.searchsorted(form.at_ns, start_ns)
    return GroupMeans(
        mean=np.where(known > 0, area / np.maximum(known, 1), np.nan),
        known_ns=known,
        samples=groupby.sums(group, inside.astype(np.int64), groups),
    )
