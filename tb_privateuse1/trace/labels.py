"""Describe a trace, its device, threads and streams in words, for views and exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from msgspec import Struct

from tb_privateuse1.i18n import fill, join_list, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.trace.findings import LONGEST_NAME
from tb_privateuse1.trace.model import OPERATOR, DeviceAnnotations, Kernels, Trace

_CONSTANTS = {
    "launch_latency": say("Launch latency"),
    "sync_return": say("Sync return"),
    "event_cost": say("Event cost"),
    "kernel_gap": say("Kernel gap"),
    "jitter": say("Jitter"),
    "elapsed_resolution": say("Elapsed resolution"),
}
"""Labels of ``Constant.name``."""

_PEAK_RATES = {
    "data_sheet": say("{peak:g} TFLOP/s, data sheet"),
    "user_file": say("{peak:g} TFLOP/s, vendor file"),
}
_PEAK_BANDWIDTHS = {
    "data_sheet": say("{peak:g} GB/s, data sheet"),
    "user_file": say("{peak:g} GB/s, vendor file"),
}
"""Texts by ``Peak.source``."""


_EPOCH_NS = 10**18
"""September 2001 in Unix time; a clock that counts from the machine's start is below."""


class Fact(Struct, frozen=True):
    """One line of the device's or the run's description."""

    label: str
    value: str


def device(trace: Trace) -> tuple[Fact, ...]:
    """Return facts about the device that ran; empty if the trace has none."""
    return tuple(_device(trace))


def device_name(trace: Trace) -> str | None:
    """Return the devices' names, or else the accelerator's; None if the trace has no device."""
    names = dict.fromkeys(str(d["name"]) for d in trace.meta.devices if d.get("name"))
    if names:
        return join_list(names)
    if trace.meta.timeline == "none" and not trace.meta.backend:
        return None
    return trace.vendor.title


def run(trace: Trace) -> tuple[Fact, ...]:
    """Return facts about the run: process, host, profiler options."""
    return tuple(_run(trace))


def unix_us(trace: Trace, at_ns: int) -> int | None:
    """Return the Unix time in µs of a trace time; None if the recording has another clock."""
    return (trace.base_ns + at_ns) // 1000 if trace.base_ns >= _EPOCH_NS else None


def place(trace: Trace, table: Any, row: int, longest: int = 1 << 20) -> str:
    """Return where an event ran: its host thread, or the stream of a device activity."""
    if isinstance(table, Kernels | DeviceAnnotations):
        return stream(trace, int(table.lane[row]))
    thread = table.thread[row]
    pid, tid = trace.threads.pid[thread], trace.threads.tid[thread]
    numbers = f"pid {trace.text(pid)} tid {trace.text(tid)}"
    label = trace.text(trace.threads.name[thread])
    return f"{numbers} {label}"[:longest] if label else numbers[:longest]


def stream(trace: Trace, row: int) -> str:
    """Return a stream's name: the trace's own, or else its device and number."""
    device, number = int(trace.lanes.device[row]), int(trace.lanes.stream[row])
    numbers = say("device {device} stream {stream}", device=device, stream=number)
    name = trace.text(trace.lanes.name[row])
    return name if name and name != numbers else numbers


def lane(trace: Trace, row: int) -> tuple[str, str]:
    """Return a stream's device and its own name."""
    device, number = int(trace.lanes.device[row]), int(trace.lanes.stream[row])
    label = stream(trace, row)
    if not trace.text(trace.lanes.name[row]):
        label = say("Stream {stream}", stream=number) if number >= 0 else say("Stream")
    return (say("Device {device}", device=device) if device >= 0 else say("Device")), label


def thread(trace: Trace, row: int) -> tuple[str, str]:
    """Return a host thread's process and its own name."""
    threads = trace.threads
    tid, name = trace.text(threads.tid[row]), trace.text(threads.name[row])
    label = name if tid and tid in name else f"{name} {tid}".strip()
    if not name:
        label = say("Thread {tid}", tid=tid) if tid else say("Thread")
    return say("Process {pid}", pid=trace.text(threads.pid[row])), label


def _device(trace: Trace) -> Iterable[Fact]:
    meta = trace.meta
    title = trace.vendor.title
    if meta.backend:
        title = say("{title} ({backend})", title=title, backend=meta.backend)
    if meta.devices or meta.timeline != "none" or meta.backend:
        yield Fact(say("Accelerator"), title)
    names = Counter(str(d.get("name") or "unnamed") for d in meta.devices)
    for name, count in names.items():
        value = say("{count} x {name}", count=count, name=name) if count > 1 else name
        yield Fact(say("Device"), value)
    vendor = trace.vendor
    properties = {
        say("Memory per device"): _each(meta.devices, _memory),
        say("Compute capability"): _each(meta.devices, _capability),
        vendor.compute_units: _each(meta.devices, _units),
        say("Warp size"): _each(meta.devices, _warp),
    }
    for name in names:
        peak = vendor.peak(name)
        suffix = f" ({name})" if len(names) > 1 else ""
        if peak and peak.half_tflops:
            peak_label = say("Peak in half precision{of}", of=suffix)
            rate = _PEAK_RATES[peak.source]
            properties[peak_label] = [fill(rate, peak=peak.half_tflops)]
        if peak and peak.memory_gb_per_s:
            peak_label = say("Peak memory bandwidth{of}", of=suffix)
            rate = _PEAK_BANDWIDTHS[peak.source]
            properties[peak_label] = [fill(rate, peak=peak.memory_gb_per_s)]
    for label, values in properties.items():
        if values:
            yield Fact(label, join_list(values))
    streams = Counter(trace.lanes.device.tolist())
    for device, count in streams.items():
        yield Fact(say("Streams of device {device}", device=device), str(count))


def _each(
    devices: Iterable[Mapping[str, Any]], read: Callable[[Mapping[str, Any]], str | None]
) -> list[str]:
    """Return the distinct values of one property over all devices, in the devices' order."""
    return list(dict.fromkeys(value for d in devices if (value := read(d)) is not None))


def _memory(device: Mapping[str, Any]) -> str | None:
    size = _whole(device.get("totalGlobalMem"))
    return f"{size / 2**30:.1f} GiB" if size else None


def _capability(device: Mapping[str, Any]) -> str | None:
    major, minor = _whole(device.get("computeMajor")), _whole(device.get("computeMinor"))
    return None if major is None or minor is None else f"{major}.{minor}"


def _units(device: Mapping[str, Any]) -> str | None:
    count = _whole(device.get("numSms"))
    return f"{count:,}" if count else None


def _warp(device: Mapping[str, Any]) -> str | None:
    count = _whole(device.get("warpSize"))
    return f"{count:,}" if count else None


def _whole(value: Any) -> int | None:
    """Return a count as a profiler may write it; None for any other value."""
    valid = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
    return value if valid else None


def _run(trace: Trace) -> Iterable[Fact]:
    meta = trace.meta
    facts: dict[str, Any] = {
        say("Worker"): meta.worker,
        say("Host"): meta.hostname,
        say("Rank"): None if meta.rank is None else str(meta.rank),
        say("World size"): None if meta.world_size is None else str(meta.world_size),
        say("Process group"): meta.distributed_backend,
        say("torch"): meta.torch_version,
        say("Profiler state"): meta.profiler.get("profiler_state"),
        say("Recorded with"): join_list(k for k, on in meta.profiler.items() if on is True),
        say("Operators"): f"{int((trace.ops.kind == OPERATOR).sum()):,}",
        say("Host threads"): str(len(np.unique(trace.ops.thread))),
    }
    for constant in meta.grounds.constants if meta.grounds else ():
        if constant.source != "assumed":
            label = _CONSTANTS.get(constant.name, constant.name)
            facts[label] = f"{constant.value_ns / 1000:g} µs"
    if (begin_us := unix_us(trace, 0)) is not None:
        facts[say("Recorded at")] = (
            f"{datetime.fromtimestamp(begin_us // 10**6, UTC):%Y-%m-%d %H:%M:%S} UTC"
        )
    yield from (Fact(label, value) for label, value in facts.items() if value)
    given = trace.metadata
    yield from (
        Fact(trace.text(key), shorten(trace.text(value), LONGEST_NAME))
        for key, value in zip(given.key.tolist(), given.value.tolist(), strict=True)
    )
