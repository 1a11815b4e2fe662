"""The segments of a memory snapshot: how the allocator's memory is divided, and what is free."""

from __future__ import annotations

from typing import Annotated

from tb_privateuse1.analysis.memory import allocations
from tb_privateuse1.analysis.memory import devices as memory_devices
from tb_privateuse1.analysis.memory import segments as parts
from tb_privateuse1.analysis.memory.segments import MemorySegment, RefusedAllocation
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.recorded_metadata import FREE, IN_USE, PENDING, MemoryBlocks
from tb_privateuse1.views.result import Result


class MemorySegments(Result, frozen=True):
    """The result of the lookup: one device when the snapshot was taken."""

    label: str | None
    """The device; null without a memory snapshot of it."""
    reserved_bytes: int
    in_use_bytes: int
    pending_bytes: int
    free_bytes: int
    """Free within the segments."""
    empty_bytes: int
    """In segments without a block in use: what emptying the cache returns."""
    largest_free_bytes: int
    free_blocks: int
    refused: tuple[RefusedAllocation, ...]
    """The allocations that failed, the largest first."""
    segments_total: int
    segments: tuple[MemorySegment, ...]
    """Those with most free bytes first, those without a block in use last."""


def memory_segments(
    trace: Trace,
    *,
    device: Annotated[
        str | None, "type and index, as 6/0; by default the accelerator that allocates most"
    ] = None,
    limit: Annotated[int, "at most this many segments, those with most free bytes first"] = 32,
) -> MemorySegments:
    """Return the segments of one device, as the memory snapshot has them.

    Raises TraceError ``bad_option``.
    """
    if limit < 0:
        raise TraceError("bad_option", say("limit must be at least 0."))
    found = allocations.memory_devices(trace.memory)
    chosen = memory_devices.choose_device(trace, found, device)
    blocks = parts.blocks_of(trace, chosen) if chosen else MemoryBlocks.empty()
    if chosen is None or not len(blocks):
        return MemorySegments(None, 0, 0, 0, 0, 0, 0, 0, (), 0, ())
    owners = parts.owners(trace, chosen, blocks)
    size, state = blocks.bytes, blocks.state
    return MemorySegments(
        label=allocations.device_label(trace, chosen),
        reserved_bytes=int(size.sum()),
        in_use_bytes=int(size[state == IN_USE].sum()),
        pending_bytes=int(size[state == PENDING].sum()),
        free_bytes=int(size[state == FREE].sum()),
        empty_bytes=parts.empty_bytes(blocks),
        largest_free_bytes=int(size[state == FREE].max(initial=0)),
        free_blocks=int((state == FREE).sum()),
        refused=parts.refused(trace, chosen[1], blocks),
        segments_total=len(set(blocks.segment.tolist())),
        segments=tuple(parts.segments(trace, blocks, owners, limit)),
    )
