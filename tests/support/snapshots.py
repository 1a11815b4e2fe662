"""Memory snapshots in the layout of torch, and what they say: ``Allocator().snapshot()``.

The layout is that of torch/csrc/cuda/memory_snapshot.cpp and torch/csrc/cuda/Module.cpp
(``THCPModule_memorySnapshot``) of torch 2.13: entries with the size that was asked for, blocks with
the rounded one too, lists of frames that share their frames.
"""

from __future__ import annotations

import functools
import pickle
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

START_US = 1_700_000_000_000_000
_CHANGES = {
    "alloc": (1, 0), "free_requested": (-1, 0), "segment_alloc": (0, 1), "segment_free": (0, -1),
}  # fmt: skip
"""The signs of what an entry adds to the requested and the reserved bytes."""
_FIRST = 0x7F30_0000_0000
_ROUND = 512
_SEGMENT = 2 << 20

Entry = dict[str, Any]


@functools.cache
def frame(file: str, line: int, name: str) -> Entry:
    """A frame. torch makes one dictionary for all stacks that have it."""
    return {"filename": file, "line": line, "name": name}


def frames(depth: int, line: int) -> list[Entry]:
    """Python frames, innermost first, under those of C++ as ``stacks="all"`` records them."""
    python = [frame(f"/work/model{i}.py", line + i, f"layer{i}") for i in range(depth)]
    return [frame("??", 0, "c10::empty"), *python]


@dataclass
class Allocator:
    """A caching allocator of one device that keeps its history as torch's does."""

    device: int = 0
    now_us: int = START_US
    most_entries: int | None = None
    kind: str = "small"
    """Of its segments."""
    entries: list[Entry] = field(default_factory=list)
    segments: list[Entry] = field(default_factory=list)
    live: dict[int, Entry] = field(default_factory=dict)
    unused: int = _FIRST
    """The address of the next segment."""
    requested: int = 0
    reserved: int = 0
    totals: list[tuple[int, int, int]] = field(default_factory=list)
    """Truth: time in µs, requested bytes and reserved bytes after each change."""

    def allocate(self, size: int, line: int = 10, depth: int = 3) -> int:
        """Allocate a block, in a new segment if the last one has no room; return its address."""
        rounded = -(-size // _ROUND) * _ROUND
        stack = frames(depth, line)
        segment = self.segments[-1] if self.segments else None
        if segment is None or segment["room"] < rounded:
            whole = -(-rounded // _SEGMENT) * _SEGMENT
            address, self.unused = self.unused, self.unused + whole
            segment = {"address": address, "total_size": whole, "room": whole, "next": address}
            self.segments.append(segment)
            self._record("segment_alloc", address, whole, stack)
        address = segment["next"]
        segment["next"] += rounded
        segment["room"] -= rounded
        self.live[address] = {
            "size": rounded, "requested_size": size, "address": address,
            "state": "active_allocated", "frames": stack, "segment": segment["address"],
        }  # fmt: skip
        self._record("alloc", address, size, stack)
        return address

    def free(self, address: int) -> None:
        """Free a block; it is not used again, as an address of its own is easy to follow."""
        block = self.live.pop(address)
        self._record("free_requested", address, block["requested_size"], frames(1, 900))
        self._record("free_completed", address, block["requested_size"], frames(1, 900))

    def empty_cache(self) -> None:
        """Return segments without blocks in use."""
        used = {block["segment"] for block in self.live.values()}
        for segment in [s for s in self.segments if s["address"] not in used]:
            self.segments.remove(segment)
            self._record("segment_free", segment["address"], segment["total_size"], [])

    def refuse(self, size: int) -> None:
        """Run out of memory."""
        entry = {"action": "oom", "device_free": 0, "size": size, "stream": 0, "frames": []}
        self.entries.append(entry | {"time_us": self.now_us})

    def _record(self, action: str, address: int, size: int, stack: list[Entry]) -> None:
        self.now_us += 7
        self.entries.append(
            {
                "action": action, "addr": address, "size": size, "stream": 0,
                "time_us": self.now_us, "compile_context": "N/A", "user_metadata": "",
                "pool_id": (0, 0), "frames": stack,
            }
        )  # fmt: skip
        if action != "free_completed":
            block, segment = _CHANGES[action]
            self.requested += block * size
            self.reserved += segment * size
            self.totals.append((self.now_us, self.requested, self.reserved))

    def history(self) -> list[Entry]:
        """Return the entries that the ring still has."""
        return self.entries if self.most_entries is None else self.entries[-self.most_entries :]

    def listed_segments(self) -> list[Entry]:
        """Return the segments as a snapshot lists them, blocks that are free included."""
        return [self._listed(segment) for segment in self.segments]

    def _listed(self, segment: Entry) -> Entry:
        blocks = [b for b in self.live.values() if b["segment"] == segment["address"]]
        blocks.sort(key=lambda block: block["address"])
        used = sum(b["size"] for b in blocks)
        return {
            "device": self.device, "address": segment["address"],
            "total_size": segment["total_size"], "allocated_size": used, "active_size": used,
            "requested_size": sum(b["requested_size"] for b in blocks), "stream": 0,
            "segment_type": self.kind, "segment_pool_id": (0, 0), "is_expandable": False,
            "frames": [], "blocks": [*_with_free(segment, blocks)],
        }  # fmt: skip


def _with_free(segment: Entry, blocks: list[Entry]) -> Iterator[Entry]:
    """Yield the blocks of a segment, and a free one wherever there is none in use."""
    at, end = segment["address"], segment["address"] + segment["total_size"]
    for block in [*blocks, {"address": end, "size": 0}]:
        if block["address"] > at:
            yield {
                "address": at, "size": block["address"] - at,
                "requested_size": 0, "state": "inactive", "frames": [],
            }  # fmt: skip
        if block["size"]:
            yield {key: value for key, value in block.items() if key != "segment"}
        at = block["address"] + block["size"]


def snapshot(*allocators: Allocator, backend: str = "CUDA") -> dict[str, Any]:
    """Return the snapshot of some devices, as ``torch.<device>.memory._snapshot`` does."""
    traces: list[list[Entry]] = [
        [] for _ in range(max((a.device for a in allocators), default=-1) + 1)
    ]
    for allocator in allocators:
        traces[allocator.device] = allocator.history()
    return {
        "segments": [s for a in allocators for s in a.listed_segments()],
        "device_traces": traces,
        "allocator_settings": {
            f"PYTORCH_{backend}_ALLOC_CONF": "", "max_split_size": -1,
            "garbage_collection_threshold": 0.0, "expandable_segments": False,
            "roundup_power2_divisions": {"1": 0},
        },
        "external_annotations": [],
    }  # fmt: skip


def training(seed: int = 1, steps: int = 3, device: int = 0) -> Allocator:
    """Return an allocator after some steps: weights stay, activations go, one block grows."""
    rng = random.Random(seed)
    allocator = Allocator(device)
    for i in range(4):
        allocator.allocate(rng.randint(1, 1 << 20), line=100 + i)
    for _ in range(steps):
        made = [allocator.allocate(rng.randint(1, 1 << 20), line=200 + i) for i in range(6)]
        rng.shuffle(made)
        for address in made[:-1]:
            allocator.free(address)
        allocator.now_us += 1000
        allocator.empty_cache()
    return allocator


def write(path: Path, content: object, protocol: int | None = None) -> Path:
    """Write a pickle as torch does, with Python's own protocol by default."""
    path.write_bytes(pickle.dumps(content, protocol))
    return path
