"""The segments of a memory snapshot: what is in use, what is free, and which requests that fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.memory import allocations, categories
from tb_privateuse1.analysis.memory.categories import CATEGORIES, Category
from tb_privateuse1.analysis.memory.remaining import allocating_functions
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.recorded_metadata import (
    BLOCK_STATES,
    FREE,
    IN_USE,
    PENDING,
    MemoryBlocks,
    Refusal,
)
from tb_privateuse1.trace.table import I8, I64, Bools

State = Literal["in_use", "pending", "free"]
Shortage = Literal["fits", "in_pieces", "full"]

_NARROWEST = 200
"""A piece is at least this part of its segment: a narrower one has no five pixels on a page."""
_SMALL_BYTES = 1 << 20
"""``kSmallSize`` of ``c10/cuda/CUDACachingAllocator.cpp``: larger requests have large segments."""

Owner = tuple[Category | None, str | None]
"""The category and the function of a block, as far as they are known."""


class SegmentPiece(Struct, frozen=True):
    """Blocks that follow each other and have the same state, category and function.

    Narrow pieces are joined with the next ones: these facts are then those of most bytes.
    """

    offset_bytes: int
    bytes: int
    free_bytes: int
    blocks: int
    state: State
    category: Category | None
    """Of memory in use, where its allocation is recorded."""
    function: str | None


class MemorySegment(Struct, frozen=True):
    """A part of the device's memory that the allocator reserved at once."""

    segment: int
    pool: str
    """``small`` or ``large``, and whose pool if it is a graph's own."""
    stream: int | None
    """Null where the snapshot does not say it."""
    bytes: int
    in_use_bytes: int
    pending_bytes: int
    """Released by the program, but a stream may still use it."""
    free_bytes: int
    largest_free_bytes: int
    pieces: tuple[SegmentPiece, ...]


class RefusedAllocation(Struct, frozen=True):
    """An allocation that failed, against what is free in the snapshot."""

    bytes: int
    device_free_bytes: int | None
    """What the device had left when it failed, perhaps enough: a memory limit refuses too.

    It is no part of the verdict, as the blocks are those of the snapshot's time."""
    free_bytes: int
    """In segments that serve such a size."""
    largest_free_bytes: int
    missing_bytes: int
    """What the largest free block lacks; 0 if it has enough."""
    verdict: Shortage
    """``in_pieces``: there is enough, but in no single place; ``full``: there is not."""


def blocks_of(trace: Trace, device: tuple[int, int]) -> MemoryBlocks:
    """Return the blocks of one device in the snapshot; none without one."""
    found = trace.memory_blocks
    return found.take((found.device_type == device[0]) & (found.device == device[1]))


def owners(trace: Trace, device: tuple[int, int], blocks: MemoryBlocks) -> list[Owner]:
    """Return the owner of each block, by its own frames, and by its allocation in the recording."""
    events = allocations.device_events(trace.memory, device)
    level, made = allocations.memory_level(events), allocations.pair_blocks(events)
    held = np.flatnonzero(made.fate == allocations.HELD)
    at = made.allocation[held]
    of = categories.categorize(trace, events, level, made).of[held]
    label = allocating_functions(trace, events, at)[0]
    rows = {address: i for i, address in enumerate(events.address[at].tolist())}
    return [
        _owner(trace, stack, rows.get(address), of, label) if state == IN_USE else (None, None)
        for stack, address, state in zip(
            blocks.stack.tolist(), blocks.address.tolist(), blocks.state.tolist(), strict=True
        )
    ]


def _owner(
    trace: Trace, stack: int, row: int | None, of: I8, label: Callable[[int], str | None]
) -> Owner:
    category = None if row is None else CATEGORIES[int(of[row])]
    own = (
        user_functions.listed_title(trace, trace.text(stack), begins=False) if stack >= 0 else None
    )
    return category, own or (None if row is None else label(row))


def empty_bytes(blocks: MemoryBlocks) -> int:
    """Return the bytes of segments without a block in use, or one that waits."""
    _, segment = np.unique(blocks.segment, return_inverse=True)
    used = np.bincount(segment, weights=blocks.state != FREE) > 0
    return int(blocks.bytes[~used[segment]].sum())


def segments(
    trace: Trace, blocks: MemoryBlocks, owner: Sequence[Owner], most: int
) -> list[MemorySegment]:
    """Return ``most`` segments: those with most free bytes first, those with no block in use last.

    Empty ones are all alike, and can be returned to the device: they must not hide the others.
    """
    numbers, first = np.unique(blocks.segment, return_index=True)
    bounds = np.append(first, len(blocks))
    found = []
    for place in range(len(numbers)):
        part = slice(int(bounds[place]), int(bounds[place + 1]))
        size, state = blocks.bytes[part], blocks.state[part]
        by_state = np.bincount(state, weights=size, minlength=3).astype(np.int64).tolist()
        is_empty = by_state[FREE] == int(size.sum())
        found.append((not is_empty, by_state[FREE], int(size.sum()), -place, by_state, part))
    found.sort(reverse=True)
    return [
        MemorySegment(
            segment=int(numbers[-place]),
            pool=trace.text(blocks.pool[part.start]),
            stream=None if blocks.stream[part.start] == MISSING else int(blocks.stream[part.start]),
            bytes=total,
            in_use_bytes=by_state[IN_USE],
            pending_bytes=by_state[PENDING],
            free_bytes=free,
            largest_free_bytes=_largest(blocks.bytes[part], blocks.state[part] == FREE),
            pieces=_pieces(blocks, owner, part, total),
        )
        for _, free, total, place, by_state, part in found[:most]
    ]


def refused(trace: Trace, device: int, blocks: MemoryBlocks) -> tuple[RefusedAllocation, ...]:
    """Return the allocations that failed, the largest first, each size once."""
    last = {one.bytes: one for one in trace.meta.refusals if one.device == device}
    return tuple(_judged(trace, last[size], blocks) for size in sorted(last, reverse=True))


def _judged(trace: Trace, one: Refusal, blocks: MemoryBlocks) -> RefusedAllocation:
    kind = "small" if one.bytes <= _SMALL_BYTES else "large"
    pools = [i for i in np.unique(blocks.pool).tolist() if trace.text(i) in (kind, "unknown")]
    serves = np.isin(blocks.pool, pools) & (blocks.state == FREE)
    if one.stream is not None:
        serves &= blocks.stream == one.stream
    free, largest = int(blocks.bytes[serves].sum()), _largest(blocks.bytes, serves)
    missing = max(one.bytes - largest, 0)
    enough = free >= one.bytes
    return RefusedAllocation(
        bytes=one.bytes,
        device_free_bytes=one.device_free_bytes,
        free_bytes=free,
        largest_free_bytes=largest,
        missing_bytes=missing,
        verdict="fits" if not missing else "in_pieces" if enough else "full",
    )


def _largest(size: I64, of: Bools) -> int:
    return int(size[of].max(initial=0))


def _pieces(
    blocks: MemoryBlocks, owner: Sequence[Owner], part: slice, total: int
) -> tuple[SegmentPiece, ...]:
    start = int(blocks.address[part.start]) if part.stop > part.start else 0
    found: list[SegmentPiece] = []
    for row in range(part.start, part.stop):
        size, state = int(blocks.bytes[row]), int(blocks.state[row])
        category, function = owner[row]
        piece = SegmentPiece(
            offset_bytes=int(blocks.address[row]) - start,
            bytes=size,
            free_bytes=size if state == FREE else 0,
            blocks=1,
            state=BLOCK_STATES[state],  # type: ignore[arg-type]
            category=category,
            function=function,
        )
        if found and _joins(found[-1], piece, total / _NARROWEST):
            found[-1] = _joined(found[-1], piece)
        else:
            found.append(piece)
    return tuple(found)


def _joins(last: SegmentPiece, piece: SegmentPiece, least: float) -> bool:
    same = (last.state, last.category, last.function) == (
        piece.state,
        piece.category,
        piece.function,
    )
    return same or last.bytes < least


def _joined(last: SegmentPiece, piece: SegmentPiece) -> SegmentPiece:
    most = max(last, piece, key=lambda one: one.bytes)
    return SegmentPiece(
        offset_bytes=last.offset_bytes,
        bytes=piece.offset_bytes + piece.bytes - last.offset_bytes,
        free_bytes=last.free_bytes + piece.free_bytes,
        blocks=last.blocks + piece.blocks,
        state=most.state,
        category=most.category,
        function=most.function,
    )
