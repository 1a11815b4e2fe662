"""Memory of any device: totals over time, what was alive at the peak, allocations, growth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.memory import (
    allocations,
    by_module,
    by_operator,
    categories,
    differences,
    segments,
)
from tb_privateuse1.analysis.memory import devices as memory_devices
from tb_privateuse1.analysis.memory.allocations import (
    UNKNOWN,
    AllocationLevel,
    Blocks,
    MemoryGrowth,
    MemoryStep,
)
from tb_privateuse1.analysis.memory.by_module import AliveModule
from tb_privateuse1.analysis.memory.by_operator import AliveRow, Allocation, MemoryOperator
from tb_privateuse1.analysis.memory.categories import CategoryPoint, MemoryCategory
from tb_privateuse1.analysis.memory.devices import MemoryDevice
from tb_privateuse1.analysis.memory.differences import MemoryDifference
from tb_privateuse1.analysis.memory.remaining import (
    AliveFunction,
    RemainingMemory,
    alive_functions,
    remaining_memory,
)
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.readers import reader_named
from tb_privateuse1.trace.columns import zero_if_missing
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import MISSING, Memory, Trace
from tb_privateuse1.trace.renamed import renamed
from tb_privateuse1.trace.table import I64, Bools
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import (
    OffsetOption,
    StepOption,
    chosen_window,
    page_of,
    step_row,
)

_REPORTING = say("An allocator reports through c10::reportMemoryUsageToProfiler.")


class MemoryWindow(Struct, frozen=True):
    """The selected part of the recording, for one device."""

    start_ns: int
    end_ns: int
    events: int
    allocated_bytes: int
    freed_bytes: int
    at_start_bytes: int | None
    """Allocated at its start."""
    at_end_bytes: int | None
    peak_bytes: int | None
    peak_at_ns: int | None
    peak_reserved_bytes: int | None


class MemoryPoint(Struct, frozen=True):
    """From this time on so much is allocated and reserved, until the next point."""

    time_ns: int
    allocated_bytes: int
    reserved_bytes: int | None


class MemoryUse(Result, frozen=True):
    """The result of the view."""

    provenance: Provenance
    notes: tuple[Finding, ...]
    """What is missing or doubtful about the memory events."""
    devices: tuple[MemoryDevice, ...]
    device: str | None
    """The one that the rest is about."""
    window: MemoryWindow | None
    growth: MemoryGrowth | None
    basis: Literal["allocated", "change"] | None
    """``change``: the trace has no Total Allocated, the curve is the sum of Bytes from 0."""
    steps: tuple[MemoryStep, ...]
    """At most 500 of ``memory_steps_total``: the first ones, or those around the chosen one."""
    memory_steps_total: int
    alive: tuple[AliveRow, ...]
    alive_modules: tuple[AliveModule, ...]
    """The same by class of module and phase."""
    alive_functions: tuple[AliveFunction, ...]
    """The same by function."""
    remaining_modules: tuple[RemainingMemory, ...]
    """What was allocated in the part and is alive at its end, by class of module."""
    remaining_functions: tuple[RemainingMemory, ...]
    """The same by function."""
    segments: int
    """Of the device, in the memory snapshot: the lookup ``memory_segments`` has them."""
    difference: MemoryDifference | None
    """What is alive at the part's end against its start; null without totals or addresses."""
    operators: tuple[MemoryOperator, ...]
    allocations: int
    """How many there are in the window; ``rows`` are the largest."""
    rows: tuple[Allocation, ...]
    curve: tuple[MemoryPoint, ...]
    categories: tuple[MemoryCategory, ...]
    """What the memory is for, by rules; empty without totals or addresses."""
    category_curve: tuple[CategoryPoint, ...]

    alive_lines = renamed("alive_lines", "alive_functions")
    remaining_lines = renamed("remaining_lines", "remaining_functions")


_Device = Annotated[
    str | None, "type and index, as 6/0; by default the accelerator that allocates most"
]
_Start = Annotated[int | None, "start of the part; by default that of the step or the recording"]
_End = Annotated[int | None, "end of the part; by default that of the step or the recording"]


def memory(
    trace: Trace,
    *,
    device: _Device = None,
    step: StepOption = None,
    start_ns: _Start = None,
    end_ns: _End = None,
    points: Annotated[int, "at most this many points of the curve"] = 3000,
    limit: Annotated[int, "at most this many allocations, the largest first"] = 1000,
    offset: OffsetOption = 0,
) -> MemoryUse:
    """Memory of one device; ``step``, ``start_ns`` and ``end_ns`` select a part of the recording.

    Raises TraceError ``unknown_step`` or ``bad_option``.
    """
    if points < 10 or limit < 0 or offset < 0:
        raise TraceError(
            "bad_option", say("points must be at least 10, limit and offset at least 0.")
        )
    found = allocations.memory_devices(trace.memory)
    chosen = memory_devices.choose_device(trace, found, device)
    start, end = _selected(trace, step, start_ns, end_ns)
    events = allocations.device_events(trace.memory, chosen) if chosen else trace.memory
    level, blocks = allocations.memory_level(events), allocations.pair_blocks(events)
    devices = tuple(memory_devices.device_facts(trace, one) for one in found)
    shown = devices[found.index(chosen)] if chosen else None
    steps = allocations.memory_steps(trace, events, level)
    growth = allocations.find_growth(steps)
    selected = events.take(_within(events.ts_ns, start, end))
    inside = _largest_first(events, blocks, start, end)
    shown_rows = inside[offset : offset + limit]
    split = categories.categorize(trace, events, level, blocks)
    largest, kind = blocks.take(shown_rows), split.of[shown_rows]
    by_category, over_time = categories.category_rows(
        level, events, blocks, split, start, end, points
    )
    label = shown.label if shown else ""
    history = differences.DeviceHistory(trace, label, events, level, blocks, split)
    modules, functions = remaining_memory(trace, events, blocks, start, end)
    return MemoryUse(
        provenance=provenance(trace, chosen_window(trace, step, "all")),
        notes=tuple(_notes(trace, devices, shown, growth)),
        devices=devices,
        **_device(trace, chosen),
        window=_window(events, level, start, end) if shown else None,
        growth=growth,
        basis=("allocated" if level.has_totals else "change") if shown else None,
        steps=_listed(steps, step),
        memory_steps_total=len(steps),
        **_alive(history, start, end),
        remaining_modules=modules,
        remaining_functions=functions,
        difference=differences.change_within(history, start, end),
        operators=tuple(by_operator.memory_operators(trace, selected, start, end)),
        allocations=len(inside),
        rows=tuple(by_operator.allocation_rows(trace, events, largest, kind)),
        curve=_curve(level, start, end, points) if shown else (),
        categories=by_category,
        category_curve=over_time,
    )


def _alive(history: differences.DeviceHistory, start: int, end: int) -> dict[str, Any]:
    """Return what is alive at the peak by block, module and line; nothing without a known peak."""
    peak = _known_peak(history.level, history.blocks, start, end)
    if peak is None:
        return {"alive": (), "alive_modules": (), "alive_functions": ()}
    trace, events, level, blocks = history.trace, history.events, history.level, history.blocks
    return {
        "alive": tuple(by_operator.live_blocks(trace, events, level, blocks, peak)),
        "alive_modules": tuple(by_module.alive_modules(trace, events, level, blocks, peak)),
        "alive_functions": alive_functions(trace, events, level, blocks, peak),
    }


def _device(trace: Trace, chosen: tuple[int, int] | None) -> dict[str, Any]:
    """Return the key of the device, and how many segments the snapshot has of it."""
    found = segments.blocks_of(trace, chosen).segment if chosen else ()
    key = memory_devices.device_key(chosen) if chosen else None
    return {"device": key, "segments": len(np.unique(found))}


def _listed(steps: tuple[MemoryStep, ...], step: int | None) -> tuple[MemoryStep, ...]:
    """Return the first steps, or those around the chosen one."""
    row = next((i for i, one in enumerate(steps) if one.name.endswith(f"#{step}")), None)
    return steps[page_of(row)]


def _selected(
    trace: Trace, step: int | None, start_ns: int | None, end_ns: int | None
) -> tuple[int, int]:
    times = trace.memory.ts_ns
    start = min(0, int(times.min(initial=0)))
    end = max(trace.end_ns, int(times.max(initial=-1)) + 1)
    if (row := step_row(trace, step)) is not None:
        start, end = int(trace.steps.host_start_ns[row]), int(trace.steps.host_end_ns[row])
    start = start if start_ns is None else max(start, start_ns)
    end = end if end_ns is None else min(end, end_ns)
    if end <= start and (start_ns is not None or end_ns is not None):
        message = say(
            "No time lies from start_ns={start_ns} to end_ns={end_ns} in what is selected.",
            start_ns=start_ns,
            end_ns=end_ns,
        )
        raise TraceError("bad_option", message)
    return start, end


def _largest_first(events: Memory, blocks: Blocks, start: int, end: int) -> I64:
    """Return the blocks that begin in the window, the largest first, equal ones by allocation."""
    at = np.where(blocks.allocation >= 0, blocks.allocation, blocks.release)
    rows = np.flatnonzero(_within(events.ts_ns[at], start, end))
    order: I64 = rows[np.lexsort((blocks.allocation[rows], -blocks.bytes[rows]))]
    return order


def _within(at_ns: I64, start: int, end: int) -> Bools:
    inside: Bools = (at_ns >= start) & (at_ns < end)
    return inside


def _window(events: Memory, level: AllocationLevel, start: int, end: int) -> MemoryWindow:
    size = zero_if_missing(events.bytes)[_within(events.ts_ns, start, end)]
    peak = level.peak(start, end) if level.has_totals else None
    return MemoryWindow(
        start_ns=start,
        end_ns=end,
        events=len(size),
        allocated_bytes=int(np.maximum(size, 0).sum()),
        freed_bytes=-int(np.minimum(size, 0).sum()),
        at_start_bytes=level.at(start) if level.has_totals else None,
        at_end_bytes=level.at(end) if level.has_totals else None,
        peak_bytes=None if peak is None else int(level.allocated[peak]),
        peak_at_ns=None if peak is None else max(int(level.at_ns[peak]), start),
        peak_reserved_bytes=level.peak_reserved(start, end),
    )


def _known_peak(level: AllocationLevel, blocks: Blocks, start: int, end: int) -> int | None:
    """Return the peak's entry; None where the trace has no totals or no addresses."""
    known = level.has_totals and not (blocks.fate == UNKNOWN).all()
    return level.peak(start, end) if known else None


def _curve(level: AllocationLevel, start: int, end: int, points: int) -> tuple[MemoryPoint, ...]:
    low, high = np.searchsorted(level.at_ns, (start, end))
    part = slice(low, high)
    kept = allocations.thin_out(
        level.at_ns[part], (level.allocated[part], level.reserved[part]), points - 2
    )
    times = [start, *level.at_ns[part][kept].tolist(), end]
    allocated = [level.at(start), *level.allocated[part][kept].tolist(), level.at(end)]
    first, last = max(low - 1, 0), max(high - 1, 0)
    reserved = level.reserved[np.concatenate(([first], low + kept, [last]))].tolist()
    return tuple(
        MemoryPoint(t, a, None if r == MISSING else r)
        for t, a, r in zip(times, allocated, reserved, strict=True)
    )


def _notes(
    trace: Trace,
    devices: tuple[MemoryDevice, ...],
    chosen: MemoryDevice | None,
    growth: MemoryGrowth | None,
) -> Iterable[Finding]:
    """Return notes on missing or doubtful data, and on growth."""
    meta = trace.meta
    if chosen is None:
        if meta.profiler.get("profile_memory"):
            message = say("The trace has no memory events, though profile_memory=True was set.")
            hint = say(
                "Nothing was allocated meanwhile, or the backend does not report. {reporting}",
                reporting=_REPORTING,
            )
            yield Finding("memory_not_reported", message, hint)
        elif not reader_named(meta.reader).has_memory:
            message = say("Files of this format have no events of torch's memory allocator.")
            hint = say("A trace of torch's profiler has them, and so has a memory snapshot.")
            yield Finding("format_without_memory", message, hint)
        else:
            message = say(
                "The trace has no memory events: it was recorded without profile_memory=True."
            )
            yield Finding("no_memory_events", message, say("Record with profile_memory=True."))
        return
    device_used = meta.timeline != "none" or meta.backend is not None or bool(meta.devices)
    if all(d.device_type == allocations.CPU for d in devices) and device_used:
        message = say("The backend does not report device memory: all events are of the CPU.")
        yield Finding("device_not_reported", message, _REPORTING)
    if chosen.peak_bytes is None:
        message = say(
            "The trace has no totals (torch before 1.10): the curve is the sum of all events."
        )
        hint = say("It starts at 0, whatever was allocated before; the peak is unknown.")
        yield Finding("no_totals", message, hint)
    if not (trace.memory.address != MISSING).any():
        message = say("The trace has no addresses: releases cannot be matched to allocations.")
        hint = say("So there are no lifetimes, and nothing is known of what is alive when.")
        yield Finding("no_addresses", message, hint)
    if chosen.explained is not None and chosen.explained < 1:
        message = say(
            "{share} of the changes of the total are those of no event.",
            share=percent(1 - chosen.explained),
        )
        hint = say(
            "Some allocations or releases were not reported. The curve is the reported total."
        )
        yield Finding("unexplained_totals", message, hint)
    if growth is not None:
        message = say(
            "Each of {steps} steps ends with more allocated than the one before: "
            "{mib:+.3g} MiB per step.",
            steps=growth.steps,
            mib=growth.bytes_per_step / 2**20,
        )
        yield Finding(
            "memory_grows", message, say("What is held at the end is in the allocations.")
        )
