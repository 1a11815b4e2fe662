"""Pair ``[memory]`` instants by address into blocks, and total them over time.

Shared by views and rules. Except ``memory_devices``, the functions take the instants of one device
in order of time; a *row* is an index into them. Backends do not report all releases, so an address
without one is not called a leak.
"""

from __future__ import annotations

import itertools
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from tb_privateuse1.i18n import say
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import following, starts_run, sums_before, zero_if_missing
from tb_privateuse1.trace.model import MISSING, NONE, Memory, Trace
from tb_privateuse1.trace.table import I8, I64, Table
from tb_privateuse1.vendors import device_types
from tb_privateuse1.vendors.device_types import CPU as CPU
from tb_privateuse1.vendors.device_types import PRIVATEUSE1

Fate = Literal["released", "held", "unreported", "unknown", "earlier", "unseen"]
"""``released``: allocation and release were recorded; ``held``: not released in the recording;
``unreported``: its address was allocated again, so its release is missing; ``unknown``: the trace
has no addresses; ``earlier``: allocated before the recording, released in it; ``unseen``: its
release was recorded, its allocation is missing."""

FATES: tuple[Fate, ...] = get_args(Fate)
RELEASED, HELD, UNREPORTED, UNKNOWN, EARLIER, UNSEEN = range(len(FATES))


_LEAST_STEPS = 3
"""Growth needs this many complete steps, each ending with more than the one before."""


class MemoryStep(Struct, frozen=True):
    """Memory figures of a step on the host."""

    name: str
    start_ns: int
    end_ns: int
    incomplete: bool
    allocations: int
    allocated_bytes: int
    peak_bytes: int | None
    at_end_bytes: int | None
    change_bytes: int | None
    """Change of ``at_end_bytes`` since the step before."""


class MemoryGrowth(Struct, frozen=True):
    """Each complete step ended with more allocated than the one before."""

    steps: int
    bytes_per_step: int
    """Slope of the least-squares line."""


class Blocks(Table, frozen=True):
    """Blocks of memory, each from its allocation to its release."""

    allocation: I64
    """Row of the allocation, ``NONE`` if it is not in the recording."""
    release: I64
    gone: I64
    """The first row at which it is certainly released; the number of rows if there is none."""
    bytes: I64
    fate: I8


def memory_devices(memory: Memory) -> list[tuple[int, int]]:
    """Return the type and index of each device, the CPU last."""
    found = [
        (int(kind), int(index))
        for kind in groupby.distinct_values(memory.device_type)
        for index in groupby.distinct_values(memory.device[memory.device_type == kind])
    ]
    return sorted(found, key=lambda d: (d[0] == CPU, *d))


def device_events(memory: Memory, device: tuple[int, int]) -> Memory:
    """Return the instants of one device, in order of time."""
    return memory.take((memory.device_type == device[0]) & (memory.device == device[1]))


def device_label(trace: Trace, device: tuple[int, int]) -> str:
    """Return a device's name for people: ``CPU``, ``CUDA 0``, ``HIP 1``, the backend's own."""
    kind, index = device
    name = device_types.name(kind, trace.vendor) or say("Device type {type}", type=kind)
    if kind == MISSING:
        name = say("Unnamed device")
    if kind == PRIVATEUSE1 and trace.meta.backend:
        name = trace.meta.backend
    if kind == CPU or index < 0:
        return name
    return say("{name} {index}", name=name, index=index)


def pair_blocks(memory: Memory) -> Blocks:
    """Return allocations and releases paired by address, where a release follows directly."""
    n = len(memory)
    size = zero_if_missing(memory.bytes)
    placed = np.flatnonzero((memory.address != MISSING) & (size != 0))
    rows = placed[np.argsort(memory.address[placed], kind="stable")]
    address, allocates = memory.address[rows], size[rows] > 0
    first = np.ones(len(rows), np.bool_)
    first[1:] = address[1:] != address[:-1]
    # np.roll wraps around, which is harmless: the last row of an address is never paired.
    last, following = np.roll(first, -1), np.roll(rows, -1)
    paired = allocates & ~last & ~np.roll(allocates, -1)
    follows = np.roll(paired, 1)
    strays = np.flatnonzero(~allocates & ~follows)
    made = np.flatnonzero(allocates)
    homeless = np.flatnonzero((memory.address == MISSING) & (size > 0))
    fate = np.select((paired[made], last[made]), (RELEASED, HELD), UNREPORTED)
    none = np.full(len(strays), NONE)
    return Blocks(
        allocation=np.concatenate((rows[made], none, homeless)),
        release=np.concatenate(
            (np.where(paired, following, NONE)[made], rows[strays], np.full(len(homeless), NONE))
        ),
        gone=np.concatenate(
            (np.where(last, n, following)[made], rows[strays], np.full(len(homeless), n))
        ),
        bytes=np.concatenate((size[rows[made]], -size[rows[strays]], size[homeless])),
        fate=np.concatenate(
            (
                fate,
                np.where(first[strays], EARLIER, UNSEEN),
                np.full(len(homeless), UNKNOWN),
            )
        ).astype(np.int8),
    )


def explained_steps(memory: Memory) -> tuple[int, int]:
    """Return how many changes of Total Allocated equal their Bytes, and how many there are."""
    totals = memory.take(memory.allocated_bytes != MISSING)
    steps = np.diff(totals.allocated_bytes)
    return int((steps == totals.bytes[1:]).sum()), len(steps)


class AllocationLevel(Struct, frozen=True):
    """The allocated bytes from each instant on."""

    rows: I64
    at_ns: I64
    allocated: I64
    reserved: I64
    """``MISSING`` where the trace does not have it."""
    before: int
    """Allocated before the first instant: its total less its bytes."""
    has_totals: bool
    """Whether it is Total Allocated; otherwise it is the sum of Bytes since the recording's
    start."""

    def at(self, at_ns: int) -> int:
        """Return the bytes allocated just before a time."""
        i = int(np.searchsorted(self.at_ns, at_ns))
        return int(self.allocated[i - 1]) if i else self.before

    def peak(self, start_ns: int, end_ns: int) -> int | None:
        """Return the first entry with the most allocated in [start, end), or the one before it."""
        part = self._part(start_ns, end_ns)
        most = self.allocated[part]
        return int(part.start + np.argmax(most)) if len(most) else None

    def peak_reserved(self, start_ns: int, end_ns: int) -> int | None:
        """Return the most bytes reserved in [start, end), from the entry before it on."""
        most = int(self.reserved[self._part(start_ns, end_ns)].max(initial=MISSING))
        return None if most == MISSING else most

    def _part(self, start_ns: int, end_ns: int) -> slice:
        low, high = np.searchsorted(self.at_ns, (start_ns, end_ns))
        return slice(max(int(low) - 1, 0), int(high))


def memory_level(memory: Memory) -> AllocationLevel:
    """Return the totals of one device over time."""
    has_total = memory.allocated_bytes != MISSING
    rows = np.flatnonzero(has_total) if has_total.any() else np.arange(len(memory))
    size = zero_if_missing(memory.bytes)
    total = memory.allocated_bytes[rows] if has_total.any() else np.cumsum(size)
    return AllocationLevel(
        rows=rows,
        at_ns=memory.ts_ns[rows],
        allocated=total,
        reserved=memory.reserved_bytes[rows],
        before=int(total[0] - size[rows[0]]) if len(rows) else 0,
        has_totals=bool(has_total.any()),
    )


def thin_out(at_ns: I64, columns: tuple[I64, ...], most: int) -> I64:
    """Return at most ``most`` rows that draw the same steps; ``at_ns`` is sorted.

    For each of several equal parts of the time: the first and last row, and those of the least and
    greatest value of each column.
    """
    n = len(at_ns)
    if n <= most:
        return np.arange(n)
    parts = max(1, most // (2 + 2 * len(columns)))
    # float64, as time times parts may exceed int64; an error of one part is harmless.
    part = ((at_ns - at_ns[0]) * (parts / (int(at_ns[-1] - at_ns[0]) + 1))).astype(np.int64)
    starts = np.flatnonzero(starts_run(part))
    group = np.cumsum(starts_run(part)) - 1
    chosen = [starts, following(starts, n) - 1]
    for column in columns:
        for extreme in (np.minimum, np.maximum):
            hits = np.flatnonzero(column == extreme.reduceat(column, starts)[group])
            chosen.append(hits[np.flatnonzero(np.diff(group[hits], prepend=-1))])
    return np.unique(np.concatenate(chosen))


def memory_steps(trace: Trace, events: Memory, level: AllocationLevel) -> tuple[MemoryStep, ...]:
    """Return the memory figures of the trace's steps on the host; empty without steps."""
    table = trace.steps
    numbered = [i for i in range(len(table)) if "#" in trace.text(table.name[i])]
    start, end = table.host_start_ns, table.host_end_ns
    size = np.maximum(zero_if_missing(events.bytes), 0)
    upto = sums_before(size), sums_before(size > 0)
    low, high = np.searchsorted(events.ts_ns, (start, end))
    rows: list[MemoryStep] = []
    for i in numbered:
        has_level = level.has_totals and len(events) > 0
        peak = level.peak(int(start[i]), int(end[i])) if has_level else None
        after = level.at(int(end[i])) if has_level else None
        last = rows[-1].at_end_bytes if rows else None
        rows.append(
            MemoryStep(
                name=trace.text(table.name[i]),
                start_ns=int(start[i]),
                end_ns=int(end[i]),
                incomplete=bool(table.incomplete[i]),
                allocations=int(upto[1][high[i]] - upto[1][low[i]]),
                allocated_bytes=int(upto[0][high[i]] - upto[0][low[i]]),
                peak_bytes=None if peak is None else int(level.allocated[peak]),
                at_end_bytes=after,
                change_bytes=None if after is None or last is None else after - last,
            )
        )
    return tuple(rows)


def find_growth(steps: tuple[MemoryStep, ...]) -> MemoryGrowth | None:
    """Return the growth, if every complete step ends with more than the one before."""
    ends = [s.at_end_bytes for s in steps if not s.incomplete and s.at_end_bytes is not None]
    if len(ends) < _LEAST_STEPS or any(b <= a for a, b in itertools.pairwise(ends)):
        return None
    slope = np.polyfit(np.arange(len(ends)), np.array(ends, np.float64), 1)[0]
    return MemoryGrowth(len(ends), round(float(slope)))


def capacity_bytes(trace: Trace, device: tuple[int, int]) -> int | None:
    """Return the memory of an accelerator, if the trace has its properties."""
    properties = [d for d in trace.meta.devices if d.get("id") == device[1]]
    total = properties[0].get("totalGlobalMem") if properties else None
    known = isinstance(total, int) and not isinstance(total, bool) and total > 0
    return total if known and device[0] != CPU else None
