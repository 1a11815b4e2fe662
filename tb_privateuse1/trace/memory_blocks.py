"""The blocks of a device's allocator when a memory snapshot was taken, and its failures."""

from __future__ import annotations

from msgspec import Struct

from tb_privateuse1.trace.table import Code, MaybeText, Number, SmallNumber, Table

IN_USE, PENDING, FREE = range(3)
BLOCK_STATES = ("in_use", "pending", "free")
"""By the code of ``MemoryBlocks.state``: ``pending`` is released, and waits for a stream."""


class MemoryBlocks(Table, frozen=True):
    """The blocks of all segments, by segment and address.

    ``segment`` counts the segments of all devices from 0. ``pool`` is the allocator's kind of
    segment, with the number of a graph's own pool. ``bytes`` are the allocator's, rounded up.
    """

    ORDER = ("segment", "address")

    device_type: Number
    device: Number
    segment: SmallNumber
    pool: MaybeText
    stream: Number
    address: Number
    bytes: Number
    state: Code
    stack: MaybeText
    """Python frames of the allocation, innermost first, joined by ``;``."""


class Refusal(Struct, frozen=True):
    """An allocation that failed for want of memory, in a snapshot's history."""

    device: int
    bytes: int
    """What was asked for."""
    stream: int | None
    device_free_bytes: int | None
    """What the device had left then; None if the snapshot does not say."""
