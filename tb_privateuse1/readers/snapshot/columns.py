"""Make memory events of a snapshot: totals at each, exact back from when it was taken.

The history is a ring that loses its oldest entries. What is in use and reserved in the end is in
the snapshot, so totals are counted from there backward and need nothing that is lost. All sizes are
those that the program asked for: the allocator's own, rounded up, are in no entry.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.readers.raw import Group
from tb_privateuse1.readers.snapshot.document import (
    ALLOCATED,
    FREED,
    GROWN,
    REFUSED,
    RETURNED,
    SHRUNK,
    Document,
    Entries,
    InUse,
)
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.recorded_metadata import MemoryBlocks
from tb_privateuse1.trace.table import I32, I64

_LIMIT = 1 << 62
_LIMIT_US = _LIMIT // 1000


def memory_events(document: Document, device_type: int, label: int, first_text: int) -> Group:
    """Return an event for each allocation and release, and for each change of what is reserved.

    ``label`` is the events' name, ``first_text`` the string of the first stack. Times are Unix
    times in ns, or 0 on a device without a history: its blocks in use are its events.
    """
    groups: list[Group] = []
    for device in sorted({*document.history, *document.in_use}):
        entries, in_use = document.history.get(device), document.in_use.get(device)
        found = None if entries is None else _of_history(entries, in_use, document, label)
        if not found and in_use is not None:
            found = _of_blocks(in_use, label)
            document.tally.add("no_history", int(len(found) > 0))
        if not found:
            continue
        rows = len(found)
        found = replace(
            found,
            ids={
                **found.ids,
                "device_type": np.full(rows, device_type, np.int64),
                "device_id": np.full(rows, device, np.int64),
            },
        )
        groups.append(found)
    if not groups:
        nothing = np.empty(0, np.int64)
        return _of_blocks(InUse(nothing, nothing, np.empty(0, np.int32), 0), label)
    joined = Group.join(groups)
    stack = joined.text("stack")
    return replace(
        joined, texts={"stack": np.where(stack >= 0, stack + first_text, NONE).astype(np.int32)}
    )


def memory_blocks(document: Document, device_type: int, first_text: int) -> MemoryBlocks:
    """Return the blocks of all segments; ``first_text`` is the string of the document's first."""
    found = document.blocks
    texts = {
        name: np.where(column >= 0, column + first_text, NONE).astype(np.int32)
        for name, column in (("pool", found.pool), ("stack", found.stack))
    }
    return replace(found, device_type=np.full(len(found), device_type, np.int64), **texts)


def refusals(document: Document) -> tuple[int, int]:
    """Return how often the allocator ran out of memory, and the largest request of these."""
    sizes = [e.size[e.action == REFUSED] for e in document.history.values()]
    both = np.concatenate([np.empty(0, np.int64), *sizes])
    return len(both), int(both.max(initial=0))


def _of_history(entries: Entries, in_use: InUse | None, document: Document, label: int) -> Group:
    """Return the events of one device's entries; those without a possible time are left out."""
    action, size = entries.action, np.where(entries.size == MISSING, 0, entries.size)
    # A recording may leave out requests: then a block counts until it is free again. One block
    # that is returned may be the first of the ring, whose request is lost.
    is_left_out = not (action == FREED).any() and (action == RETURNED).sum() > 1
    release = RETURNED if is_left_out else FREED
    change = np.select((action == ALLOCATED, action == release), (size, -size), 0)
    growth = np.select((action == GROWN, action == SHRUNK), (size, -size), 0)
    allocated = reserved = np.full(len(action), MISSING)
    if in_use is not None:
        held = int(in_use.size[in_use.size != MISSING].sum())
        allocated = _backward(held, change, "in_use_disagrees", document)
        reserved = _backward(in_use.reserved, growth, "reserved_disagrees", document)
    timed = (entries.at_us > 0) & (entries.at_us < _LIMIT_US)
    document.tally.add("events_without_time", int((~timed).sum()))
    rows = np.flatnonzero(timed & ((change != 0) | (growth != 0)))
    # A row that only changes what is reserved has no block, and so no address.
    of_block = change[rows] != 0
    # The order is certain, as a lock guards the allocator; times of threads may be a little off.
    at_ns = np.maximum.accumulate(entries.at_us[rows]) * 1000
    return Group(
        name=np.full(len(rows), label, np.int32),
        start_ns=at_ns,
        end_ns=at_ns.copy(),
        thread=np.zeros(len(rows), np.int32),
        event=entries.number[rows].astype(np.int32),
        ids={
            "address": np.where(of_block, entries.address[rows], MISSING),
            "memory_bytes": change[rows],
            "allocated_bytes": allocated[rows],
            "reserved_bytes": reserved[rows],
        },
        texts={"stack": _of_allocations(entries.stack[rows], change[rows])},
    )


def _of_allocations(stack: I32, change: I64) -> I32:
    return np.where(change > 0, stack, NONE).astype(np.int32)


def _backward(last: int, change: I64, code: str, document: Document) -> I64:
    """Return the total after each change; the final one is ``last``.

    A total below 0 or beyond int64 cannot be: then the history is of other times than the blocks,
    and all totals are ``MISSING``.
    """
    after = np.cumsum(change)
    total = after + (last - int(change.sum()))
    if np.abs(change).sum(dtype=np.float64) + last > _LIMIT or int(total.min(initial=0)) < 0:
        document.tally.add(code)
        return np.full(len(change), MISSING)
    return total


def _of_blocks(in_use: InUse, label: int) -> Group:
    """Return the blocks in use as if they were allocated one after the other at time 0."""
    rows = np.flatnonzero(in_use.size != MISSING)
    size = in_use.size[rows]
    zero = np.zeros(len(rows), np.int64)
    return Group(
        name=np.full(len(rows), label, np.int32),
        start_ns=zero,
        end_ns=zero.copy(),
        thread=np.zeros(len(rows), np.int32),
        event=np.full(len(rows), NONE, np.int32),
        ids={
            "address": in_use.address[rows],
            "memory_bytes": size,
            "allocated_bytes": np.cumsum(size),
            "reserved_bytes": np.full(len(rows), in_use.reserved),
        },
        texts={"stack": in_use.stack[rows]},
    )
