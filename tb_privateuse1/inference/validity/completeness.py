"""Find launches whose activities are missing, and the steps whose work on the device is not whole.

A profiler may lose activities: its buffers overflow, or it stops before the device does. The calls
that launched them are still there.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.i18n import join_list, join_sentences, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.inference import graph_captures
from tb_privateuse1.inference.kernel_launches import launches_kernels
from tb_privateuse1.inference.quality.check_subject import examples, share
from tb_privateuse1.trace.columns import ends_run, latest_not_after, mask_of, previous, starts_run
from tb_privateuse1.trace.findings import DEVICE, LONGEST_INLINE, Finding
from tb_privateuse1.trace.groupby import LAST, minima, sums
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.trace.step_names import step_strings
from tb_privateuse1.trace.table import I64, Bools

_MOST_NAMES = 3  # a finding is one sentence
_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Multiplied by a name's number, it makes a hash; sums of different names differ."""


class Missing(Struct, frozen=True):
    """The launches without an activity, by row of ``launches``, and the steps that lack one."""

    launches: I64
    launching: int
    """The number of calls that launch kernels."""
    partial: Bools
    """By step: an activity is missing in it, or one of the step before may run in it."""


def mark(trace: Trace) -> Trace:
    """Return the trace with its partial steps, the number of lost launches, and a finding of them.

    If other steps are whole, a partial step is incomplete: it is left out of averages.
    """
    if not len(trace.launches) or trace.meta.timeline == "inferred":
        return trace
    missing = _missing(trace)
    if not len(missing.launches) and not missing.partial.any():
        return trace
    steps = trace.steps
    whole = ~missing.partial & ~steps.incomplete & ~steps.primed
    incomplete = steps.incomplete | (missing.partial & whole.any())
    findings = (*trace.meta.findings, _finding(trace, missing)) if len(trace.kernels) else (
        trace.meta.findings
    )  # fmt: skip
    return replace(
        trace,
        steps=replace(steps, partial=missing.partial, incomplete=incomplete),
        meta=replace(trace.meta, lost_launches=len(missing.launches), findings=findings),
    )


def _missing(trace: Trace) -> Missing:
    lost, launching = lost_launches(trace)
    steps = trace.steps
    if not any(step_strings([trace.text(name)])[0] for name in steps.name[:1]):
        return Missing(lost, launching, np.full(len(steps), bool(len(lost))))
    of_launch = latest_not_after(steps.host_start_ns, trace.launches.start_ns)
    count = sums(of_launch[lost], np.ones(len(lost), np.int64), len(steps))
    lacks = count > 0
    # If activities without an id explain all calls, those of a silent step run in a later one.
    if len(lost) or not launching or not _strays(trace).any():
        lacks |= _silent(trace)
    after = previous(lacks, False)
    return Missing(lost, launching, lacks | (after & ~_prompt(trace, lacks)))


def lost_launches(trace: Trace) -> tuple[I64, int]:
    """Return the rows of launches whose kernels are missing, and the number of launching calls.

    While a graph is captured, a call runs nothing. Activities without any id may belong to any call
    before them: as many calls of each step are not lost.
    """
    launches, kernels = trace.launches, trace.kernels
    has = mask_of(kernels.launch, len(launches))
    starting = launches_kernels(trace)
    lost = starting & ~has & (launches.correlation > 0)
    # Several calls of one correlation are one: a driver's call inside the runtime's.
    lost &= ~np.isin(launches.correlation, launches.correlation[has])
    rows = np.flatnonzero(lost)
    if len(rows):
        rows = rows[~graph_captures.while_capturing(trace, launches.start_ns[rows])]
        _, first = np.unique(launches.correlation[rows], return_index=True)
        rows = rows[np.sort(first)]
    return _without_strays(trace, rows), int(starting.sum())


def _without_strays(trace: Trace, lost: I64) -> I64:
    """Return the lost launches that no activity without an id can belong to, step by step.

    None is lost if all of the recording have such an activity: it may run in a later step.
    """
    kernels, starts = trace.kernels, trace.steps.host_start_ns
    stray = kernels.start_ns[_strays(trace)]
    if not len(stray) or not len(lost):
        return lost
    called = trace.launches.start_ns[lost]
    if _has_later(called, stray, starts[:1]).all():
        return lost[:0]
    return lost[~_has_later(called, stray, starts)]


def _strays(trace: Trace) -> Bools:
    """Return which activities have no id: they may belong to any call before them."""
    strays: Bools = (trace.kernels.launch < 0) & (trace.kernels.correlation <= 0)
    return strays


def _has_later(called: I64, stray: I64, starts: I64) -> Bools:
    """Return which calls have a later activity of their own, between the same two ``starts``."""
    at = np.concatenate((called, stray))
    step = latest_not_after(starts, at)
    is_call = np.arange(len(at)) < len(called)
    order = np.lexsort((~is_call, at, step))
    # From the end of each step: activities that no later call needs are left for the earlier ones.
    left = np.cumsum(np.where(is_call[order], -1, 1)[::-1])[::-1]
    last = ends_run(step[order])
    behind = np.append(left, 0)[np.flatnonzero(last) + 1][np.cumsum(starts_run(step[order])) - 1]
    free = np.zeros(len(at), np.bool_)
    free[order] = left - behind >= 0
    return free[: len(called)]


def _silent(trace: Trace) -> Bools:
    """Return the steps without any activity whose operators are those of steps that have some."""
    ops, kernels, steps = trace.ops, trace.kernels, trace.steps
    count = sums(kernels.step, np.ones(len(kernels), np.int64), len(steps))
    if not (count == 0).any() or not count.any():
        return np.zeros(len(steps), np.bool_)
    own = np.flatnonzero((ops.step >= 0) & (ops.kind == OPERATOR))
    work = np.zeros(len(steps), np.uint64)
    np.add.at(work, ops.step[own], (ops.name[own].astype(np.uint64) + np.uint64(1)) * _ODD)
    silent: Bools = (count == 0) & (work > 0) & np.isin(work, work[count > 0])
    return silent


def _prompt(trace: Trace, lacks: Bools) -> Bools:
    """Return the steps whose first activity started as promptly as behind whole steps.

    Missing work of the step before may run in a step, until its own first activity starts. It did
    not if the device was free when the step began, as it was at the begin of the others.
    """
    launches, kernels, steps = trace.launches, trace.kernels, trace.steps
    own = (kernels.step >= 0) & (kernels.launch >= 0)
    step = kernels.step[own]
    begin = minima(step, kernels.start_ns[own], len(steps))
    called = minima(step, launches.start_ns[kernels.launch[own]], len(steps))
    delay = np.where(begin < LAST, begin - called, LAST)
    behind_whole = ~previous(lacks, True) & (delay < LAST)
    if not behind_whole.any() or (steps.start_ns > steps.host_start_ns)[behind_whole].any():
        return np.zeros(len(steps), np.bool_)
    prompt: Bools = delay <= delay[behind_whole].max()
    return prompt


def _finding(trace: Trace, missing: Missing) -> Finding:
    launches, rows = trace.launches, missing.launches
    names = Counter(launches.name[rows].tolist()).most_common(_MOST_NAMES)
    message = (
        ""
        if not len(rows)
        else say(
            "{count:,} of {total:,} calls that launch kernels ({share}) left no activity on the "
            "device: {names}.",
            count=len(rows),
            total=missing.launching,
            share=share(len(rows), missing.launching),
            names=join_list(
                say("{name}: {count:,}", name=shorten(trace.text(name), LONGEST_INLINE), count=n)
                for name, n in names
            ),
        )
    )
    steps = trace.steps
    where = say("Device times are lower bounds, idle times upper ones.")
    if len(steps) > 1:
        where = say(
            "{count:,} of {total:,} steps lack activities: their device times are lower bounds, "
            "and their idle times upper ones.",
            count=int(missing.partial.sum()),
            total=len(steps),
        )
    hint = say(
        "The profiler lost them: its buffers overflowed, or it stopped before the device did. "
        "Record fewer steps at a time, and synchronize the device before the profiler stops."
    )
    return Finding(
        "missing_activities", join_sentences((message, where)), hint, len(rows), "warning", DEVICE,
        examples(trace, "launches", rows),
    )  # fmt: skip
