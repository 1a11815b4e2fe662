"""The peaks of one rank's memory, of its recording and of each step: what ranks are compared by."""

from __future__ import annotations

from msgspec import Struct

from tb_privateuse1.analysis.memory import allocations, categories, devices
from tb_privateuse1.analysis.memory.allocations import UNKNOWN
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64


class Peak(Struct, frozen=True):
    """The most that is allocated in a part of the recording."""

    at_ns: int
    bytes: int
    reserved_bytes: int | None
    """The most in the same part."""
    categories: tuple[int, ...]
    """Bytes by category at that instant; empty without totals or addresses."""


class RankMemory(Struct, frozen=True):
    """The memory of one rank's device that allocates most."""

    device: str | None
    """None without memory events."""
    capacity_bytes: int | None
    whole: Peak | None
    """None if the recording has no totals."""
    whole_step: str | None
    """The step whose range on the host has that instant; None outside of all steps."""
    steps: tuple[tuple[str, Peak], ...]
    """All with a peak, by name."""


def rank_memory(trace: Trace) -> RankMemory:
    """Return the peaks of the device that allocates most, or of the host's memory."""
    chosen = devices.choose_device(trace, allocations.memory_devices(trace.memory), None)
    if chosen is None:
        return RankMemory(None, None, None, None, ())
    events = allocations.device_events(trace.memory, chosen)
    level, blocks = allocations.memory_level(events), allocations.pair_blocks(events)
    label = allocations.device_label(trace, chosen)
    capacity = allocations.capacity_bytes(trace, chosen)
    if not level.has_totals or not len(level.rows):
        return RankMemory(label, capacity, None, None, ())
    by_category = None
    if not (blocks.fate == UNKNOWN).all():
        split = categories.categorize(trace, events, level, blocks)
        by_category = categories.category_curves(events, level, blocks, split)

    def peak(start_ns: int, end_ns: int) -> Peak | None:
        entry = level.peak(start_ns, end_ns)
        if entry is None:
            return None
        return Peak(
            max(int(level.at_ns[entry]), start_ns),
            int(level.allocated[entry]),
            level.peak_reserved(start_ns, end_ns),
            _at(by_category, entry),
        )

    steps = allocations.memory_steps(trace, events, level)
    found = [(one.name, peak(one.start_ns, one.end_ns)) for one in steps]
    first, last = int(level.at_ns[0]), int(level.at_ns[-1])
    named = tuple((name, one) for name, one in found if one is not None)
    whole = peak(first, last + 1)
    inside = (one.name for one in steps if whole and one.start_ns <= whole.at_ns < one.end_ns)
    return RankMemory(label, capacity, whole, next(inside, None), named)


def _at(by_category: I64 | None, entry: int) -> tuple[int, ...]:
    """Return the bytes of each category from an entry of the level on."""
    return () if by_category is None else tuple(by_category[:, entry + 1].tolist())
