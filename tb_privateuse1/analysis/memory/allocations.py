"""Allocations out of ``[memory]`` instants: pairing by address, totals over time.

Shared by views and rules. But for ``devices``, the functions read the instants of one device in
order of time; a *row* is an index into them. A release may be missing: backends do not report
all, so nothing is called a leak because its address was not released.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from tb_privateuse1.i18n import say
from tb_privateuse1.trace import groupby
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
"""So many complete steps, each ending with more than the one before, are called growth."""


@dataclass(frozen=True)
class MemoryStep:
    """A step on the host."""

    name: str
    start_ns: int
    end_ns: int
    incomplete: bool
    allocations: int
    allocated_bytes: int
    peak_bytes: int | None
    at_end_bytes: int | None
    change_bytes: int | None
    """Of ``at_end_bytes`` against the step before."""


@dataclass(frozen=True)
class MemoryGrowth:
    """Each complete step ended with more allocated than the one before."""

    steps: int
    bytes_per_step: int
    """Slope of the line of least squares."""


@dataclass(frozen=True)
class Blocks(Table):
    """Blocks of memory, each from its allocation to its release."""

    allocation: I64
    """Its row, ``NONE`` if it is not in the recording."""
    release: I64
    gone: I64
    """The first row at which it is surely gone; the number of rows if there is none."""
    bytes: I64
    fate: I8


def memory_devices(memory: Memory) -> list[tuple[int, int]]:
    """Device type and index of each device, the CPU last."""
    found = [
        (int(kind), int(index))
        for kind in groupby.distinct_values(memory.device_type)
        for index in groupby.distinct_values(memory.device[memory.device_type == kind])
    ]
    return sorted(found, key=lambda d: (d[0] == CPU, *d))


def device_events(memory: Memory, device: tuple[int, int]) -> Memory:
    """The instants of one device, in order of time."""
    return memory.take((memory.device_type == device[0]) & (memory.device == device[1]))


def device_label(trace: Trace, device: tuple[int, int]) -> str:
    """A device's name for people: ``CPU``, ``CUDA 0``, ``HIP 1``, the backend's own."""
    kind, index = device
    name = device_types.name(kind, trace.vendor) or say("Device type {type}", type=kind)
    if kind == MISSING:
        name = say("Device of no type")
    if kind == PRIVATEUSE1 and trace.meta.backend:
        name = trace.meta.backend
    if kind == CPU or index < 0:
        return name
    return say("{name} {index}", name=name, index=index)


def zero_if_missing(column: I64) -> I64:
    """The column with 0 for what is missing, for sums."""
    return np.where(column == MISSING, 0, column)


def pair_blocks(memory: Memory) -> Blocks:
    """Allocations and releases paired by address; within an address, one follows the other."""
    n = len(memory)
    size = zero_if_missing(memory.bytes)
    placed = np.flatnonzero((memory.address != MISSING) & (size != 0))
    rows = placed[np.argsort(memory.address[placed], kind="stable")]
    address, allocates = memory.address[rows], size[rows] > 0
    first = np.ones(len(rows), np.bool_)
    first[1:] = address[1:] != address[:-1]
    # Rolled over the end: an address's last row is never paired, so nothing comes of it.
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
    """How many steps of Total Allocated are those of Bytes, and how many there are."""
    told = memory.take(memory.allocated_bytes != MISSING)
    steps = np.diff(told.allocated_bytes)
    return int((steps == told.bytes[1:]).sum()), len(steps)


@dataclass(frozen=True)
class Level:
    """What is allocated from each instant on."""

    rows: I64
    at_ns: I64
    allocated: I64
    reserved: I64
    """``MISSING`` where the trace does not have it."""
    before: int
    """What is allocated before the first instant: its total less its bytes."""
    told: bool
    """By Total Allocated; otherwise the sum of Bytes since the recording's start."""

    def at(self, at_ns: int) -> int:
        """What is allocated just before a time."""
        i = int(np.searchsorted(self.at_ns, at_ns))
        return int(self.allocated[i - 1]) if i else self.before

    def peak(self, start_ns: int, end_ns: int) -> int | None:
        """The first entry with the most allocated in [start, end); the one before it counts."""
        low, high = np.searchsorted(self.at_ns, (start_ns, end_ns))
        low = max(low - 1, 0)
        return int(low + np.argmax(self.allocated[low:high])) if high > low else None


def memory_level(memory: Memory) -> Level:
    """The totals of one device over time."""
    told = memory.allocated_bytes != MISSING
    rows = np.flatnonzero(told) if told.any() else np.arange(len(memory))
    size = zero_if_missing(memory.bytes)
    total = memory.allocated_bytes[rows] if told.any() else np.cumsum(size)
    return Level(
        rows=rows,
        at_ns=memory.ts_ns[rows],
        allocated=total,
        reserved=memory.reserved_bytes[rows],
        before=int(total[0] - size[rows[0]]) if len(rows) else 0,
        told=bool(told.any()),
    )


def thin_out(at_ns: I64, columns: tuple[I64, ...], most: int) -> I64:
    """At most so many rows that draw the same steps: of equal parts of the time, the first and
    the last row and those of the least and greatest value of each column. ``at_ns`` is sorted.
    """
    n = len(at_ns)
    if n <= most:
        return np.arange(n)
    parts = max(1, most // (2 + 2 * len(columns)))
    # In float64, as time times parts may pass int64; being off by one part would not matter.
    part = ((at_ns - at_ns[0]) * (parts / (int(at_ns[-1] - at_ns[0]) + 1))).astype(np.int64)
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    group = np.repeat(np.arange(len(starts)), np.diff(starts, append=n))
    keep = [starts, np.append(starts[1:], n) - 1]
    for column in columns:
        for extreme in (np.minimum, np.maximum):
            hits = np.flatnonzero(column == extreme.reduceat(column, starts)[group])
            keep.append(hits[np.flatnonzero(np.diff(group[hits], prepend=-1))])
    return np.unique(np.concatenate(keep))


def memory_steps(trace: Trace, events: Memory, level: Level) -> tuple[MemoryStep, ...]:
    """The trace's steps on the host; none if it has none."""
    table = trace.steps
    numbered = [i for i in range(len(table)) if "#" in trace.text(table.name[i])]
    start, end = table.host_start_ns, table.host_end_ns
    size = np.maximum(zero_if_missing(events.bytes), 0)
    upto = np.concatenate(([0], np.cumsum(size))), np.concatenate(([0], np.cumsum(size > 0)))
    low, high = np.searchsorted(events.ts_ns, (start, end))
    rows: list[MemoryStep] = []
    for i in numbered:
        told = level.told and len(events) > 0
        peak = level.peak(int(start[i]), int(end[i])) if told else None
        after = level.at(int(end[i])) if told else None
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
    """Growth, if every complete step ends with more than the one before."""
    ends = [s.at_end_bytes for s in steps if not s.incomplete and s.at_end_bytes is not None]
    if len(ends) < _LEAST_STEPS or any(b <= a for a, b in itertools.pairwise(ends)):
        return None
    slope = np.polyfit(np.arange(len(ends)), np.array(ends, np.float64), 1)[0]
    return MemoryGrowth(len(ends), round(float(slope)))


def capacity_bytes(trace: Trace, device: tuple[int, int]) -> int | None:
    """The memory of an accelerator, if the trace has its properties."""
    properties = [d for d in trace.meta.devices if d.get("id") == device[1]]
    told = properties[0].get("totalGlobalMem") if properties else None
    known = isinstance(told, int) and not isinstance(told, bool) and told > 0
    return told if known and device[0] != CPU else None
