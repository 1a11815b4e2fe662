"""Build the counters of a trace as curves over time.

Per device: utilization, SM efficiency, queue depth, launch rate, copies. For the whole trace: data
loader, communication, memory.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.analysis.account import bounds, classification, host_activity
from tb_privateuse1.analysis.account.classes import CLASSES, NUMBER
from tb_privateuse1.analysis.counters import curve_values, recorded, sm_occupancy
from tb_privateuse1.analysis.counters.curves import Curve
from tb_privateuse1.analysis.memory import allocations
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.i18n import fill, join_list, say
from tb_privateuse1.trace import intervals, uncertainty
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import MEMCPY, MISSING, Kernels, Trace
from tb_privateuse1.trace.table import I64
from tb_privateuse1.trace.work_kinds import COPY_TO_DEVICE, COPY_TO_HOST

_WAYS = (
    (say("Copies to {device}"), re.compile(COPY_TO_DEVICE)),
    (say("Copies from {device}"), re.compile(COPY_TO_HOST)),
    (say("Copies within {device}"), re.compile(r"DtoD|D2D|Device ?To ?Device", re.IGNORECASE)),
    (say("Other copies of {device}"), re.compile("")),
)
"""Directions of copies by their names: the first match counts."""
_MOST_BYTES = 1 << 50
"""No device has that memory: a size from here on is an error, and would hide all others."""


def build_curves(trace: Trace) -> tuple[Curve, ...]:
    """Return the curves that the trace has data for."""
    of_kernel = trace.lanes.device[trace.kernels.lane]
    used = np.bincount(trace.kernels.lane, minlength=len(trace.lanes)) > 0
    devices = sorted(set(trace.lanes.device[used].tolist()))
    # Most traces have one device: skip the copy of its table.
    some = [of_kernel == device for device in devices] if len(devices) > 1 else []
    rows = [trace.kernels.take(own) for own in some] or [trace.kernels][: len(devices)]
    labels = [_device_label(trace, device) for device in devices]
    of_each = list(zip(labels, rows, strict=True))
    found = [_utilization(trace, device, kernels) for device, kernels in of_each]
    for device, kernels in of_each:
        found += _sm_efficiency(trace, device, kernels)
    for device, kernels in of_each:
        found += _waiting(trace, device, kernels)
    found += _data_loader(trace)
    found += [_rate(trace, device, kernels) for device, kernels in of_each]
    for device, kernels in of_each:
        found += _copies(trace, device, kernels)
    if trace.meta.missing_lanes:  # nothing limits what their work adds
        found = [replace(one, limits=None) for one in found]
    own = recorded.recorded_curves(trace)
    return (*found, *_communication(trace), *_memory(trace), *own)


def _device_label(trace: Trace, device: int) -> str:
    """Return the name of a device, and of its streams that the curves lack."""
    lanes = trace.lanes.take(np.array(trace.meta.missing_lanes, np.int64))
    missing = lanes.stream[lanes.device == device].tolist()
    if not missing:
        return say("device {device}", device=device)
    streams = join_list([say("stream {stream}", stream=stream) for stream in missing])
    return say("device {device} without {streams}", device=device, streams=streams)


def _inferred(trace: Trace) -> bool:
    return trace.meta.timeline == "inferred"


def _utilization(trace: Trace, device: str, kernels: Kernels) -> Curve:
    limits = None
    if not uncertainty.all_measured(kernels):
        low, high = (
            uncertainty.certainly_running(kernels),
            uncertainty.possibly_running(kernels, trace.end_ns),
        )
        limits = curve_values.share(low), curve_values.share(high)
    form = curve_values.share(breakdown.busy(kernels))
    name = say("Utilization of {device}", device=device)
    return Curve(name, "share", "utilization", form, _inferred(trace), limits)


def _sm_efficiency(trace: Trace, device: str, kernels: Kernels) -> list[Curve]:
    form = sm_occupancy.resident_share(trace, kernels)
    name = say("SM efficiency of {device}", device=device)
    return [Curve(name, "share", "sm_efficiency", form)] if form else []


def _waiting(trace: Trace, device: str, kernels: Kernels) -> list[Curve]:
    """Count kernels from the start of their launch to their start on the device.

    Without a recorded launch it is from the end of the operator, which contains the launch.
    """
    known = (kernels.launch >= 0) | (kernels.op >= 0)
    if not known.any():
        return []
    kernels = kernels if known.all() else kernels.take(known)
    since = early = lookup(trace.launches.start_ns, kernels.launch, 0)
    launched = kernels.launch >= 0
    if not launched.all():
        since = np.where(launched, since, lookup(trace.ops.end_ns, kernels.op, 0))
        early = np.where(launched, early, lookup(trace.ops.start_ns, kernels.op, 0))
    limits = None
    if (starts := _starts(kernels)) and not (uncertainty.all_measured(kernels) and launched.all()):
        limits = (
            curve_values.concurrency(since, starts[0]),
            curve_values.concurrency(early, starts[1]),
        )
    form = curve_values.concurrency(since, kernels.start_ns)
    name = say("Launch queue depth of {device}", device=device)
    return [Curve(name, "kernels", "waiting", form, _inferred(trace), limits)]


def _starts(kernels: Kernels) -> tuple[I64, I64] | None:
    """Return the earliest and the latest start of each activity; None if one is not known."""
    bound = kernels.start_bound_ns
    if (bound == MISSING).any():
        return None
    return kernels.start_ns - bound, kernels.start_ns + bound


def _rate(trace: Trace, device: str, kernels: Kernels) -> Curve:
    limits = None
    if not uncertainty.all_measured(kernels) and (known := _starts(kernels)):
        early, late = (np.sort(one, kind="stable") for one in known)
        limits = curve_values.Rate(late, early), curve_values.Rate(early, late)
    starts = np.sort(kernels.start_ns, kind="stable")  # no-op for all lanes
    form = curve_values.Rate(starts, starts)
    name = say("Launch rate of {device}", device=device)
    return Curve(name, "kernels/ms", "rate", form, _inferred(trace), limits)


def _data_loader(trace: Trace) -> list[Curve]:
    """Return when the data loader keeps the device idle: the account's class."""
    ranges = host_activity.loader_ranges(trace)
    if not len(ranges):
        return []
    within = classification.class_sets(trace).get("input", intervals.EMPTY)
    limits = None
    doubt = bounds.doubtful_instants(trace)
    if _inferred(trace) and doubt is not None:
        loads = intervals.union(ranges.start_ns, ranges.end_ns)
        most = intervals.merge(within, intervals.intersect(loads, doubt))
        limits = curve_values.share(intervals.subtract(within, doubt)), curve_values.share(most)
    form = curve_values.share(within)
    label = CLASSES[NUMBER["input"]].label
    return [Curve(label, "share", "data_loader", form, _inferred(trace), limits)]


def _copies(trace: Trace, device: str, kernels: Kernels) -> list[Curve]:
    copies = kernels.take(kernels.kind == MEMCPY)
    names, place = np.unique(copies.name, return_inverse=True)
    way = np.array([_way(trace.text(name)) for name in names], np.int64)[place]
    found = []
    for i, (name, _) in enumerate(_WAYS):
        own = copies.take(way == i)
        form = _flow(own.start_ns, own.end_ns, own.bytes)
        if form:
            label = fill(name, device=device)
            found.append(Curve(label, "bytes/s", "copies", form, _inferred(trace)))
    return found


def _way(name: str) -> int:
    return next(i for i, (_, pattern) in enumerate(_WAYS) if pattern.search(name))


def _communication(trace: Trace) -> list[Curve]:
    calls, kernels, ops = trace.collectives, trace.kernels, trace.ops
    device, host = calls.take(calls.kernel >= 0), calls.take(calls.kernel < 0)
    found = []
    for name, table, row, size, inferred in (
        (say("Communication"), kernels, device.kernel, device.bytes, _inferred(trace)),
        (say("Communication on the host"), ops, host.op, host.bytes, False),
    ):
        form = _flow(table.start_ns[row], table.end_ns[row], size)
        if form:
            found.append(Curve(name, "bytes/s", "communication", form, inferred))
    return found


def _flow(start_ns: I64, end_ns: I64, size_bytes: I64) -> curve_values.Flow | None:
    """Return the flow of transfers with known bytes and a length; None without any."""
    known = (size_bytes > 0) & (size_bytes < _MOST_BYTES) & (end_ns > start_ns)
    return (
        curve_values.flow(start_ns[known], end_ns[known], size_bytes[known])
        if known.any()
        else None
    )


def _memory(trace: Trace) -> list[Curve]:
    found = []
    for device in allocations.memory_devices(trace.memory):
        level = allocations.memory_level(allocations.device_events(trace.memory, device))
        if len(level.at_ns):
            at = np.append(np.minimum(0, level.at_ns[0]), level.at_ns)
            form = curve_values.level(at, np.append(level.before, level.allocated))
            name = say("Memory of {device}", device=allocations.device_label(trace, device))
            found.append(Curve(name, "bytes", "memory", form))
    return found
