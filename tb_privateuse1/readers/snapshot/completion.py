"""Add the memory events of a snapshot to the trace of the same window, by Unix time.

A device without memory events in the trace gets those of the snapshot. Where the trace has them,
only the Python frames of its allocations are added: nothing counts twice.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.readers.raw import MISSING_OF, Group, Raw
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import I32, I64, Bools
from tb_privateuse1.vendors.device_types import CPU

_OPERATORS = frozenset({"cpu_op", "operator"})
_MIDDLE_NS = 500
"""Times of a snapshot are whole microseconds, rounded down: the middle is off by least."""
_NEAR_NS = 1_000_000
"""Allocations in the trace and in the snapshot that are this far apart are not the same."""
_MOST_THREADS = 64


def within(raw: Raw, events: Group) -> Group:
    """Return the snapshot's events in the time of the trace's ranges, on the trace's clock."""
    ranges = [group for group in raw.groups.values() if len(group)]
    at_ns = events.start_ns - raw.base_ns + _MIDDLE_NS
    if not ranges:
        return events.take(slice(0))
    first = min(int(group.start_ns.min()) for group in ranges)
    last = max(int(group.end_ns.max()) for group in ranges)
    moved = replace(
        events,
        start_ns=at_ns,
        end_ns=at_ns.copy(),
        event=np.full(len(events), NONE, np.int32),  # the numbers are those of another file
    )
    return moved.take((at_ns >= first) & (at_ns <= last))


def device_type(raw: Raw) -> int | None:
    """Return the type of the devices, other than the CPU, that the trace has memory events of."""
    types = raw.memory.id("device_type", int(MISSING))
    types = types[(types != CPU) & (types != MISSING)]
    found, count = np.unique(types, return_counts=True)
    return int(found[count.argmax()]) if len(found) else None


def with_events(raw: Raw, events: Group) -> tuple[Raw, int]:
    """Return the trace with what it lacks of ``events``, and how many events it got.

    ``events`` are those of ``within``; their names and stacks are strings of ``raw``.
    """
    memory = raw.memory
    kinds, devices = memory.id("device_type", int(MISSING)), memory.id("device_id", int(MISSING))
    known = np.unique(devices[(kinds != CPU) & (memory.id("memory_bytes") != 0)])
    has_own = np.isin(events.id("device_id"), known)
    stacked = _with_stacks(memory, events.take(has_own), kinds != CPU)
    lacking = events.take(~has_own)
    lacking = replace(lacking, thread=_threads(raw, lacking.start_ns))
    joined = Group.join([stacked, lacking], MISSING_OF) if len(lacking) else stacked
    return replace(raw, memory=joined), len(lacking)


def _with_stacks(memory: Group, events: Group, on_device: Bools) -> Group:
    """Return the trace's memory events with the frames of the same allocations in a snapshot.

    They have one device, one address, and are each other's nearest in time.
    """
    rows = np.flatnonzero(on_device & (memory.id("memory_bytes") > 0))
    made = events.take(events.id("memory_bytes") > 0)
    if not len(rows) or not len(made):
        return memory
    mine = memory.take(rows)
    keys = np.stack(
        [np.concatenate((mine.id(key), made.id(key))) for key in ("device_id", "address")]
    )
    code = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
    mine_code, made_code = code[: len(rows)], code[len(rows) :]
    there = _nearest(mine_code, mine.start_ns, made_code, made.start_ns)
    back = _nearest(made_code, made.start_ns, mine_code, mine.start_ns)
    found = np.flatnonzero(there >= 0)
    found = found[back[there[found]] == found]
    # The trace has the size that the allocator rounded up.
    other = there[found]
    fits = mine.id("memory_bytes")[found] >= made.id("memory_bytes")[other]
    stack = memory.text("stack").copy()
    stack[rows[found[fits]]] = made.text("stack")[other[fits]]
    return replace(memory, texts={**memory.texts, "stack": stack})


def _nearest(code: I64, at_ns: I64, other_code: I64, other_ns: I64) -> I64:
    """Return for each row the row of the same code in the others that is nearest in time.

    ``NONE`` if there is none within ``_NEAR_NS``.
    """
    order = np.lexsort((other_ns, other_code))
    instants = np.unique(np.concatenate((at_ns, other_ns)))
    step = len(instants) + 1
    key = other_code[order] * step + np.searchsorted(instants, other_ns[order])
    after = np.searchsorted(key, code * step + np.searchsorted(instants, at_ns))
    best = np.full(len(code), NONE, np.int64)
    least = np.full(len(code), _NEAR_NS, np.int64)
    for place in (after, after - 1):
        row = order[np.clip(place, 0, len(order) - 1)]
        apart = np.abs(other_ns[row] - at_ns)
        nearer = (place >= 0) & (place < len(order)) & (other_code[row] == code) & (apart < least)
        best[nearer], least[nearer] = row[nearer], apart[nearer]
    return best


def _threads(raw: Raw, at_ns: I64) -> I32:
    """Return the thread of each instant: that whose operator around it began last.

    A snapshot has no threads. Without an operator it is the thread with most operators.
    """
    parts = [group for category, group in raw.groups.items() if category.lower() in _OPERATORS]
    operators = Group.join(parts) if parts else None
    if operators is None or not len(operators):
        return np.zeros(len(at_ns), np.int32)
    threads, count = np.unique(operators.thread, return_counts=True)
    found = np.full(len(at_ns), threads[count.argmax()], np.int32)
    latest = np.full(len(at_ns), np.iinfo(np.int64).min)
    for thread in threads[np.argsort(-count)][:_MOST_THREADS]:
        mine = operators.take(operators.thread == thread)
        same = np.full(len(at_ns), thread, np.int32)
        row = intervals.innermost(mine.thread, mine.start_ns, mine.end_ns, same, at_ns)
        start = np.where(row >= 0, mine.start_ns[row], np.iinfo(np.int64).min)
        later = start > latest
        found[later], latest[later] = thread, start[later]
    return found
