"""Describe and select the devices with memory events, over the whole recording."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.memory import allocations
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.trace.columns import zero_if_missing
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import MISSING, Trace


class MemoryDevice(Struct, frozen=True):
    """The memory events of one device over the whole recording."""

    device: str
    """Type and index, such as ``6/0``: the value of the option ``device``."""
    device_type: int | None
    device_id: int | None
    label: str
    events: int
    allocated_bytes: int
    freed_bytes: int
    peak_bytes: int | None
    """Greatest Total Allocated; null if the trace does not have it."""
    peak_at_ns: int | None
    peak_reserved_bytes: int | None
    capacity_bytes: int | None
    """The device's memory, if deviceProperties has it."""
    explained: float | None
    """Share of the changes of Total Allocated that equal Bytes; below 1, some events were not
    reported."""


def device_key(device: tuple[int, int]) -> str:
    """Return a device's type and index as the option has them."""
    return "/".join("?" if part == MISSING else str(part) for part in device)


def choose_device(
    trace: Trace, devices: list[tuple[int, int]], device: str | None
) -> tuple[int, int] | None:
    """Return the selected device; without one, the accelerator with the most allocated, or the CPU.

    Raises TraceError ``bad_option``.
    """
    if device is not None:
        for one in devices:
            if device_key(one) == device:
                return one
        keys = join_list(
            say("{key} ({label})", key=device_key(one), label=allocations.device_label(trace, one))
            for one in devices
        )
        message = say(
            "There are no memory events of a device {device!r} in this trace.", device=device
        )
        raise TraceError("bad_option", message, say("It has: {have}.", have=keys or say("none")))

    def weight(one: tuple[int, int]) -> tuple[bool, int]:
        size = zero_if_missing(allocations.device_events(trace.memory, one).bytes)
        return one[0] != allocations.CPU, int(np.maximum(size, 0).sum())

    return max(devices, key=weight, default=None)


def device_facts(trace: Trace, device: tuple[int, int]) -> MemoryDevice:
    """Return the figures of one device."""
    events = allocations.device_events(trace.memory, device)
    level = allocations.memory_level(events)
    peak = level.peak(0, int(events.ts_ns[-1]) + 1) if level.has_totals else None
    fitting, steps = allocations.explained_steps(events)
    size = zero_if_missing(events.bytes)
    reserved = int(events.reserved_bytes.max())
    return MemoryDevice(
        device=device_key(device),
        device_type=None if device[0] == MISSING else device[0],
        device_id=None if device[1] == MISSING else device[1],
        label=allocations.device_label(trace, device),
        events=len(events),
        allocated_bytes=int(np.maximum(size, 0).sum()),
        freed_bytes=-int(np.minimum(size, 0).sum()),
        peak_bytes=None if peak is None else int(level.allocated[peak]),
        peak_at_ns=None if peak is None else int(level.at_ns[peak]),
        peak_reserved_bytes=None if reserved == MISSING else reserved,
        capacity_bytes=allocations.capacity_bytes(trace, device),
        explained=fitting / steps if steps else None,
    )
