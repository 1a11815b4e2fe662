"""Cut a few steps out of a trace as a smaller trace, to replay a very long one."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.analysis.steps import judged_window
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.collective_calls import Collectives
from tb_privateuse1.trace.model import NONE, EventWaits, Tensors, Trace
from tb_privateuse1.trace.table import I32, I64


@dataclass(frozen=True)
class Excerpt:
    """The excerpt, its rows of the judged steps, and its rows in the whole trace."""

    trace: Trace
    steps: I64
    ops: I64
    launches: I64
    kernels: I64
    window: intervals.Set
    """The time of those steps, on the clock of the whole trace."""


def cut_excerpt(trace: Trace, steps: I64, most: int) -> Excerpt | None:
    """Return the middle ones of ``steps``, with at most ``most`` events.

    It is the trace itself if that has no more. None if a single step has more.
    """
    size = len(trace.ops) + len(trace.launches) + len(trace.kernels)
    table = trace.steps
    if size <= most:
        ops, launches, kernels = (
            np.arange(len(t)) for t in (trace.ops, trace.launches, trace.kernels)
        )
        return Excerpt(
            trace, steps, ops, launches, kernels, judged_window.judged_window(trace, steps)
        )
    count = int(most // (size / max(len(table), 1)))
    if not count or not len(steps):
        return None
    first = (len(steps) - min(count, len(steps))) // 2
    # Steps in between that are not judged are replayed, too.
    chosen = steps[first : first + count]
    chosen = chosen[chosen < chosen[0] + count]
    low, high = int(chosen[0]), int(chosen[-1]) + 1
    start = int(min(table.host_start_ns[low], table.start_ns[low]))
    stop = int(max(table.host_end_ns[high - 1], table.end_ns[high - 1]))
    ops, launches, kernels = (
        np.flatnonzero((t.end_ns > start) & (t.start_ns < stop))
        for t in (trace.ops, trace.launches, trace.kernels)
    )
    op, launch = _numbers(ops, len(trace.ops)), _numbers(launches, len(trace.launches))
    step = _numbers(np.arange(low, high), len(table))
    own = trace.ops.take(ops)
    calls, activities = trace.launches.take(launches), trace.kernels.take(kernels)
    part = dataclasses.replace(
        trace,
        ops=dataclasses.replace(
            own,
            parent=op[own.parent],
            frame=np.full(len(own), NONE, np.int32),
            step=step[own.step],
        ),
        launches=dataclasses.replace(calls, op=op[calls.op]),
        kernels=dataclasses.replace(
            activities,
            op=op[activities.op],
            launch=launch[activities.launch],
            step=step[activities.step],
        ),
        steps=table.take(np.arange(low, high)),
        event_waits=_event_waits(trace, launch),
        tensors=_tensors(trace, op),
        collectives=_collectives(trace, op, _numbers(kernels, len(trace.kernels))),
        **{name: type(getattr(trace, name)).empty() for name in _LEFT_OUT},
    )
    return Excerpt(
        part, chosen - low, ops, launches, kernels, judged_window.judged_window(trace, chosen)
    )


_LEFT_OUT = ("frames", "memory")


def _collectives(trace: Trace, op: I32, kernel: I32) -> Collectives:
    own = trace.collectives
    links = dataclasses.replace(own, op=op[own.op], kernel=kernel[own.kernel])
    return links.take((links.op >= 0) | (links.kernel >= 0))


def _tensors(trace: Trace, op: I32) -> Tensors:
    links = dataclasses.replace(trace.tensors, op=op[trace.tensors.op])
    return links.take(links.op >= 0)


def _event_waits(trace: Trace, launch: I32) -> EventWaits:
    own = trace.event_waits
    waits = dataclasses.replace(own, launch=launch[own.launch], record=launch[own.record])
    # An event that was recorded before the excerpt has nothing in it to wait for.
    return waits.take((waits.launch >= 0) & ((waits.record >= 0) | (own.record < 0)))


def _numbers(rows: I64, count: int) -> I32:
    """Return the number of each row among ``rows``; ``NONE`` for others and for ``NONE``."""
    found = np.full(count + 1, NONE, np.int32)
    found[rows] = np.arange(len(rows))
    return found
