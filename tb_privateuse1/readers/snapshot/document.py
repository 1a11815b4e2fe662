"""Parse a memory snapshot to columns: entries of the history, and blocks in use.

The layout is that of ``torch.cuda.memory._snapshot`` (torch/cuda/memory.py), which other backends
of torch share. A snapshot's parts may be shared objects, so that a small file could describe
endless lists: there are at most as many rows as the file has bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.frame_texts import Stacks
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.recorded_metadata import FREE, IN_USE, PENDING, MemoryBlocks, Refusal
from tb_privateuse1.trace.table import I32, I64

ALLOCATED, FREED, RETURNED, GROWN, SHRUNK, REFUSED, OTHER = range(7)
"""Actions: of blocks in use, of blocks that are free again, of segments, and out of memory."""

_ACTIONS = {
    "alloc": ALLOCATED,
    "free_requested": FREED,
    "free_completed": RETURNED,
    "segment_alloc": GROWN,
    "segment_map": GROWN,
    "segment_free": SHRUNK,
    "segment_unmap": SHRUNK,
    "oom": REFUSED,
}
_IN_USE = "active_allocated"
_STATES = {_IN_USE: IN_USE, "inactive": FREE}
"""A block of another state is released, and waits: its names differ between versions of torch."""
_MOST_REFUSALS = 100
"""A program that tries again fails again."""
_LIMIT = 1 << 48
"""Sizes from 256 TiB on are impossible, as those of memory events are."""
_MOST_DEVICES = 1024


class Entries(Struct, frozen=True):
    """The history of one device's allocator, in its order. ``number`` counts over all devices."""

    action: I64
    at_us: I64
    """Unix time, ``MISSING`` before torch 2.1."""
    address: I64
    size: I64
    stack: I32
    number: I64


class InUse(Struct, frozen=True):
    """The memory of one device when the snapshot was taken: blocks in use, and bytes reserved."""

    address: I64
    size: I64
    stack: I32
    reserved: int


class Document(Struct):
    """A snapshot's parts by device, the texts of stacks and pools, and what is wrong with it."""

    history: dict[int, Entries] = field(default_factory=dict)
    in_use: dict[int, InUse] = field(default_factory=dict)
    blocks: MemoryBlocks = field(default_factory=MemoryBlocks.empty)
    """Of all segments; texts are places in ``stacks``, and the device's type is not known."""
    refusals: list[Refusal] = field(default_factory=list)
    stacks: list[str] = field(default_factory=list)
    backend: str | None = None
    """torch's name of the device; None if the settings do not say it."""
    tally: Tally = field(default_factory=Tally)


def parse(content: Any, size: int) -> Document:
    """Return the parts of a snapshot of ``size`` bytes; rows of an impossible kind are counted."""
    document = Document(backend=_backend(content.get("allocator_settings")))
    stacks = Stacks(document.stacks, document.tally)
    number = 0
    for device, listed in enumerate(_list(content.get("device_traces"))[:_MOST_DEVICES]):
        rows = _list(listed)
        if number + len(rows) > size:
            document.tally.add("malformed_events", len(rows), "device_traces")
            break
        if rows:
            document.history[device] = _entries(rows, number, stacks, document.tally)
            document.refusals += _refusals(rows, device)
        number += len(rows)
    _add_segments(content.get("segments"), size, stacks, document)
    return document


def entry(content: Any, number: int) -> dict[str, Any] | None:
    """Return the entry of a number, counted over the histories of all devices; None without."""
    for listed in _list(content.get("device_traces"))[:_MOST_DEVICES]:
        rows = _list(listed)
        if 0 <= number < len(rows):
            found = rows[number]
            return found if type(found) is dict else None
        number -= len(rows)
    return None


def _entries(rows: list[Any], first: int, stacks: Stacks, tally: Tally) -> Entries:
    numbers = [
        i for i, row in enumerate(rows) if type(row) is dict and type(row.get("action")) is str
    ]
    tally.add("malformed_events", len(rows) - len(numbers), "device_traces")
    kept = rows if len(numbers) == len(rows) else [rows[i] for i in numbers]
    sizes = _sizes([row.get("size") for row in kept])
    tally.add("sizes_impossible", int((sizes == MISSING).sum()))
    return Entries(
        action=np.array([_ACTIONS.get(row["action"], OTHER) for row in kept], np.int64),
        at_us=_numbers([row.get("time_us") for row in kept]),
        address=_numbers([row.get("addr") for row in kept]),
        size=sizes,
        stack=stacks.column([row.get("frames") for row in kept]),
        number=np.array(numbers, np.int64) + first,
    )


def _add_segments(listed: Any, size: int, stacks: Stacks, document: Document) -> None:
    if type(listed) is not list:
        return
    devices = set(document.history)
    by_device: dict[int, list[dict[Any, Any]]] = {device: [] for device in devices}
    for segment in listed[:size]:
        device = segment.get("device", 0) if type(segment) is dict else None
        if type(device) is not int or not 0 <= device < _MOST_DEVICES:
            document.tally.add("malformed_events", 1, "segments")
            continue
        by_device.setdefault(device, []).append(segment)
    document.blocks = _all_blocks(by_device, size, stacks, document)
    left = size
    for device, segments in sorted(by_device.items()):
        visited = [*_blocks(segments, left)]
        left -= len(visited)
        blocks = [
            block for block in visited if type(block) is dict and block.get("state") == _IN_USE
        ]
        totals = _sizes([segment.get("total_size") for segment in segments])
        document.in_use[device] = InUse(
            address=_numbers([block.get("address") for block in blocks]),
            size=_sizes([_requested(block) for block in blocks]),
            stack=stacks.column([block.get("frames") for block in blocks]),
            reserved=int(totals[totals != MISSING].sum()),
        )


def _all_blocks(
    by_device: Mapping[int, list[dict[Any, Any]]], most: int, stacks: Stacks, document: Document
) -> MemoryBlocks:
    """Return the blocks of all devices' segments, without those of impossible sizes.

    At most ``most`` are visited: those that are no blocks count, too, for lists may be shared.
    """
    places: dict[str, int] = {}
    rows: list[tuple[int, ...]] = []
    blocks: list[dict[Any, Any]] = []
    segments = ((device, one) for device in sorted(by_device) for one in by_device[device])
    for number, (device, segment) in enumerate(segments):
        pool = places.setdefault(_pool(segment), len(places))
        at = _number(segment.get("address"))
        listed = _list(segment.get("blocks"))[:most]
        most -= len(listed)
        for block in listed:
            if type(block) is dict and 0 <= (size := _number(block.get("size"))) < _LIMIT:
                # Before torch 2.1 a block has no address: blocks follow each other.
                at = _number(block["address"]) if "address" in block else at
                state = block.get("state")
                state = _STATES.get(state, PENDING) if type(state) is str else PENDING
                rows.append((device, number, pool, _number(segment.get("stream")), at, size, state))
                blocks.append(block)
                at = _behind(at, size)
    columns = np.array(rows, np.int64).reshape(-1, 7).T
    first = len(document.stacks)
    document.stacks.extend(places)
    table = MemoryBlocks(
        device_type=np.full(len(rows), MISSING),
        device=columns[0].copy(),
        segment=columns[1].astype(np.int32),
        pool=(columns[2] + first).astype(np.int32),
        stream=columns[3].copy(),
        address=columns[4].copy(),
        bytes=columns[5].copy(),
        state=columns[6].astype(np.int8),
        stack=np.where(
            columns[6] == IN_USE, stacks.column([b.get("frames") for b in blocks]), NONE
        ).astype(np.int32),
    )
    return table.take(np.lexsort((table.address, table.segment)))


def _behind(address: int, size: int) -> int:
    """Return the address behind a block; ``MISSING`` if no integer of the column holds it."""
    end = address + size
    return end if address != MISSING and end < 1 << 63 else int(MISSING)


def _pool(segment: Mapping[Any, Any]) -> str:
    """Return the kind of a segment, with the number of a pool that is not the device's own."""
    kind = segment.get("segment_type")
    own = segment.get("segment_pool_id")
    name = kind if kind in ("small", "large") else "unknown"
    # torch's ``MempoolId_t``; lists in it could be shared, and endless as a text.
    if type(own) is not tuple or len(own) != 2 or not any(own):
        return name
    known = all(type(one) is int and 0 <= one < 1 << 64 for one in own)
    return f"{name} {own[0]}.{own[1]}" if known else name


def _refusals(rows: list[Any], device: int) -> list[Refusal]:
    """Return the allocations of a history that failed."""
    found = [row for row in rows if type(row) is dict and row.get("action") == "oom"]
    sizes = _sizes([row.get("size") for row in found]).tolist()
    free = _sizes([row.get("device_free") for row in found]).tolist()
    streams = [_number(row.get("stream")) for row in found]
    return [
        Refusal(device, size, *(None if one == MISSING else one for one in (stream, left)))
        for size, stream, left in zip(sizes, streams, free, strict=True)
        if size != MISSING
    ][-_MOST_REFUSALS:]


def _blocks(segments: Sequence[dict[Any, Any]], most: int) -> Iterator[Any]:
    """Yield up to ``most`` blocks of some segments."""
    for segment in segments:
        listed = _list(segment.get("blocks"))[: max(most, 0)]
        most -= len(listed)
        yield from listed


def _requested(block: dict[Any, Any]) -> Any:
    """Return what the program asked for; torch before 2.0 has it in the block's own history."""
    if (wanted := block.get("requested_size")) is not None:
        return wanted
    history = _list(block.get("history"))
    first = history[0] if history else None
    wanted = first.get("real_size") if type(first) is dict else None
    return block.get("size") if wanted is None else wanted


def _backend(settings: Any) -> str | None:
    """Return the device that ``PYTORCH_<DEVICE>_ALLOC_CONF`` names, in lower case."""
    for key in settings if type(settings) is dict else ():
        if type(key) is str and key.startswith("PYTORCH_") and key.endswith("_ALLOC_CONF"):
            name = key.removeprefix("PYTORCH_").removesuffix("_ALLOC_CONF").lower()
            if name.isidentifier() and len(name) <= 20:
                return name
    return None


def _list(value: Any) -> list[Any]:
    return value if type(value) is list else []


def _sizes(values: list[Any]) -> I64:
    column = _numbers(values)
    return np.where((column >= 0) & (column < _LIMIT), column, MISSING)


def _numbers(values: list[Any]) -> I64:
    """Return integers; unsigned ones of 64 bits keep their bits, and others are ``MISSING``."""
    if set(map(type, values)) <= {int}:
        try:
            return np.array(values, np.int64)
        except OverflowError:
            pass
    return np.array([_number(value) for value in values], np.int64)


def _number(value: Any) -> int:
    if type(value) is not int or not -(1 << 63) <= value < 1 << 64:
        return int(MISSING)
    return value if value < 1 << 63 else value - (1 << 64)
