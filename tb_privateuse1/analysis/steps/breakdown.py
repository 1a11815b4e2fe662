"""Break down each step into kernels, communication, copies, host and idle time, without overlap.

Views and rules share it; docs/reference/definitions.md defines each part.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping

import numpy as np

from tb_privateuse1.trace import call_tree, device_times, intervals, uncertainty
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import (
    KERNEL,
    MEMCPY,
    MEMSET,
    OPERATOR,
    UNKNOWN,
    Kernels,
    Ops,
    Trace,
)
from tb_privateuse1.trace.table import I8, I64, Bools
from tb_privateuse1.trace.uncertainty import busy as busy

PARTS = (
    "kernel",
    "memcpy",
    "memset",
    "communication",
    "unknown",
    "runtime",
    "dataloader",
    "cpu",
    "other",
)
"""In order of precedence (torch-tb-profiler's): an instant belongs to the first part that covers
it."""


KINDS = ("kernel", "memcpy", "memset", "communication", "unknown")
"""Kinds of device activity; communication kernels are a kind of their own.

``unknown``: the device was busy, and nothing tells with what."""


def activity_kinds(kernels: Kernels) -> I8:
    """Return the index in ``KINDS`` of each activity."""
    own = np.where(kernels.kind == UNKNOWN, KINDS.index("unknown"), kernels.kind)
    return np.where(kernels.communication, 3, own).astype(np.int8)


def linked_activities(trace: Trace, kernels: Kernels) -> Bools:
    """Return by activity whether the host range behind it is known.

    That is a launch in a measured timeline, an operator in an inferred one.
    """
    measured = trace.meta.timeline == "measured"
    known: Bools = (kernels.launch if measured else kernels.op) >= 0
    return known


def compute_kernels(kernels: Kernels) -> Kernels:
    """Return the kernels other than communication."""
    return kernels.take((kernels.kind == KERNEL) & ~kernels.communication)


def communication_time(
    trace: Trace, cover: Callable[[Kernels], intervals.Set] = busy
) -> intervals.Set:
    """Return when this rank communicates: in kernels, and in libraries on the host."""
    kernels = trace.kernels
    return intervals.merge(cover(kernels.take(kernels.communication)), _hosted(trace))


def hiding_time(trace: Trace) -> intervals.Set:
    """Return when the device computes, copies or fills: communication beside that is not exposed.

    These come before communication in the order of ``KINDS``, by which the account goes, too.
    """
    kernels = trace.kernels
    return busy(kernels.take(activity_kinds(kernels) < KINDS.index("communication")))


def _hosted(trace: Trace) -> intervals.Set:
    """Return when a library on the host communicates (gloo): its ranges are more than a launch."""
    row = trace.collectives.op[trace.collectives.op >= 0]
    return intervals.union(trace.ops.start_ns[row], trace.ops.end_ns[row])


@memoize
def step_breakdown(trace: Trace) -> Mapping[str, I64]:
    """Return the ns of each part in each step's window; they sum to the window."""
    return _breakdown(trace, None)


def _breakdown(trace: Trace, time: intervals.Set | None) -> Mapping[str, I64]:
    """Return the ns of each part in each step; only ``time`` counts, if there is one."""
    steps = trace.steps
    taken = intervals.EMPTY
    parts: dict[str, I64] = {}
    whole = steps.end_ns - steps.start_ns
    if time is not None:
        whole = intervals.covered_length(time, steps.start_ns, steps.end_ns)
    for name, one in zip(PARTS, part_sets(trace), strict=False):
        free = intervals.subtract(one, taken)
        if time is not None:
            free = intervals.intersect(free, time)
        parts[name] = intervals.covered_length(free, steps.start_ns, steps.end_ns)
        taken = intervals.merge(taken, one)
    parts["other"] = whole - sum(parts.values())
    for part in parts.values():
        part.flags.writeable = False
    return types.MappingProxyType(parts)


@memoize
def known_parts(trace: Trace) -> Mapping[str, I64]:
    """Return ``step_breakdown`` with ``MISSING`` in the device's parts that are not known."""
    return _known(trace, step_breakdown(trace))


def known_parts_within(trace: Trace, time: intervals.Set) -> Mapping[str, I64]:
    """Return ``known_parts`` of the part of each step that lies in ``time``."""
    return _known(trace, _breakdown(trace, time))


def _known(trace: Trace, parts: Mapping[str, I64]) -> Mapping[str, I64]:
    """Return the parts with ``MISSING`` where they are not known.

    On the host alone, its own communication is known, also where there is none.
    """
    host = device_times.known_times(trace) == "host"
    unknown = {name for name in KINDS if not (host and name == "communication")}
    return types.MappingProxyType(
        {
            name: device_times.known_step_sums(trace, ns) if name in unknown else ns
            for name, ns in parts.items()
        }
    )


def communication_on_host(trace: Trace) -> I64:
    """Return by step the communication that no device activity does (gloo); it is measured."""
    steps = trace.steps
    free = intervals.subtract(_hosted(trace), busy(trace.kernels))
    return intervals.covered_length(free, steps.start_ns, steps.end_ns)


def bounded_kernels_ns(trace: Trace) -> I64:
    """Return by step the time that only kernels with unknown times (limits only) cover."""
    steps, kernels = trace.steps, compute_kernels(trace.kernels)
    only = uncertainty.bounded_only(kernels)
    free = intervals.subtract(busy(kernels.take(only)), busy(kernels.take(~only)))
    return intervals.covered_length(free, steps.start_ns, steps.end_ns)


def part_sets(
    trace: Trace, cover: Callable[[Kernels], intervals.Set] = busy
) -> tuple[intervals.Set, ...]:
    """Return when each part but the last goes on; ``cover`` maps activities to their time."""
    kernels, ops, launches = trace.kernels, trace.ops, trace.launches
    return (
        cover(compute_kernels(kernels)),
        cover(kernels.take(kernels.kind == MEMCPY)),
        cover(kernels.take(kernels.kind == MEMSET)),
        communication_time(trace, cover),
        cover(kernels.take(kernels.kind == UNKNOWN)),
        intervals.union(launches.start_ns, launches.end_ns),
        _host(ops, loader_ranges(trace)),
        _host(ops, ops.kind == OPERATOR),
    )


def _host(ops: Ops, rows: Bools) -> intervals.Set:
    return intervals.union(ops.start_ns[rows], ops.end_ns[rows])


@memoize
def loader_ranges(trace: Trace) -> Bools:
    """Return which host ranges are torch's data loader."""
    found: Bools = call_tree.starts_with(trace, call_tree.LOADER)[trace.ops.name]
    return found
