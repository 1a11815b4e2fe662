"""Find first calls that load or initialize: orders of magnitude longer than later ones.

A runtime loads a kernel's code, creates its context, and builds its tables at the first call of a
kind. Such a call is long on an idle device, and its later peers are short. A long call that waits
for the device is another matter: the device is busy during it, or its own activity starts late.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idle import blocking_calls
from tb_privateuse1.analysis.operators import kinds_of_work
from tb_privateuse1.trace import groupby, intervals, uncertainty
from tb_privateuse1.trace.blocking_names import blocks
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import MEMCPY, MISSING, NONE, OPERATOR, Trace
from tb_privateuse1.trace.statistics import lower_medians
from tb_privateuse1.trace.table import I32, I64, Bools

_LEAST_NS = 1_000_000
"""Nothing but a load or a wait keeps a call of the runtime for a millisecond."""

_TIMES = 100
"""Two orders of magnitude: contention and preemption of a call stay below."""

_TIMES_OTHERS = 1_000
"""The same for a call without peers of its name, compared with all other calls."""

_FEWEST_PEERS = 3
"""Operators of one name do work of many sizes. Each of this many later ones must be short."""

_TIMES_PAUSES = 4
"""A busy host pauses any operator. The first one must be this many times the longest pause."""


class FirstCalls(Struct, frozen=True):
    """Long first calls: rows of ``trace.launches`` and ``trace.ops``, with the usual duration."""

    launches: I64
    launches_usual_ns: I64
    ops: I64
    ops_usual_ns: I64


def first_calls(trace: Trace) -> FirstCalls:
    """Return the long first calls of the recording."""
    busy = uncertainty.busy(trace.kernels)
    return FirstCalls(*_launches(trace, busy), *_operators(trace, busy))


def _launches(trace: Trace, busy: intervals.Set) -> tuple[I64, I64]:
    """Return the rows of long first calls of the runtime, and the usual duration of each."""
    launches, kernels = trace.launches, trace.kernels
    duration = launches.end_ns - launches.start_ns
    long = duration >= _LEAST_NS
    if not long.any():
        return _none()
    waits = blocking_calls.blocking_calls(trace)
    waits[kernels.launch[(kernels.kind == MEMCPY) & (kernels.launch >= 0)]] = True
    linked = np.flatnonzero(kernels.launch >= 0)[::-1]
    first_kernel = np.full(len(launches), NONE, np.int64)
    first_kernel[kernels.launch[linked]] = linked
    kernel_name = lookup(kernels.name, first_kernel, NONE)
    groups, group = groupby.group_rows(launches.name, kernel_name)
    long &= ~waits & _is_first(group, len(groups), launches.start_ns)
    rows = np.flatnonzero(long)
    begun = lookup(kernels.start_ns, first_kernel[rows], MISSING)
    prompt = (first_kernel[rows] < 0) | (begun - launches.end_ns[rows] <= duration[rows])
    rows = rows[prompt & ~_mostly(busy, launches.start_ns[rows], launches.end_ns[rows])]
    if not len(rows):
        return _none()
    name, names = launches.name, len(trace.strings)
    others = ~waits
    others[rows] = False
    usual = lower_medians(group[others], duration[others], len(groups))[group[rows]]
    by_name = lower_medians(name[others], duration[others], names)[name[rows]]
    usual = np.where(usual == MISSING, by_name, usual)
    alone = usual == MISSING
    whole = int(np.median(duration[others])) if others.any() else MISSING
    usual = np.where(alone, whole, usual)
    times = np.where(alone, _TIMES_OTHERS, _TIMES)
    found = (usual != MISSING) & (duration[rows] >= times * np.maximum(usual, 1))
    return rows[found], usual[found]


def _operators(trace: Trace, busy: intervals.Set) -> tuple[I64, I64]:
    """Return the rows of long first operators, and the greatest duration of their later peers."""
    ops = trace.ops
    long = (ops.self_ns >= _LEAST_NS) & (ops.kind == OPERATOR)
    if not long.any():
        return _none()
    if len(trace.launches):
        long &= np.isin(ops.thread, np.unique(trace.launches.thread))
    long[blocking_calls.blocking_operators(trace)] = False
    long[trace.collectives.op[trace.collectives.op >= 0]] = False
    group, groups = ops.name, len(trace.strings)
    long &= _is_first(group, groups, ops.start_ns)
    rows = np.flatnonzero(long)
    rows = rows[~_mostly(busy, ops.start_ns[rows], ops.end_ns[rows])]
    rows = rows[[not _may_wait(trace, trace.text(name)) for name in ops.name[rows]]]
    if not len(rows):
        return _none()
    later = ops.kind == OPERATOR
    later[rows] = False
    greatest = groupby.maxima(group[later], ops.self_ns[later], groups)
    count = np.bincount(group[later], minlength=groups)[group[rows]]
    usual = greatest[group[rows]]
    least = np.maximum(_TIMES * np.maximum(usual, 1), _TIMES_PAUSES * greatest.max())
    found = (count >= _FEWEST_PEERS) & (ops.self_ns[rows] >= least)
    return rows[found], usual[found]


def _may_wait(trace: Trace, name: str) -> bool:
    """Return whether an operator may wait for the device, or is a range that old torch recorded."""
    kind = kinds_of_work.kind_of(name, trace.vendor)
    return blocks(name) or kind == "copy" or (kind == "other" and "::" not in name)


def _is_first(group: I32 | I64, groups: int, start_ns: I64) -> Bools:
    first: Bools = start_ns == groupby.minima(group, start_ns, groups)[group]
    return first


def _mostly(busy: intervals.Set, starts: I64, ends: I64) -> Bools:
    """Return whether a device works during most of each range."""
    mostly: Bools = 2 * intervals.covered_length(busy, starts, ends) > ends - starts
    return mostly


def _none() -> tuple[I64, I64]:
    return np.empty(0, np.int64), np.empty(0, np.int64)
