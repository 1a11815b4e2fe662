"""The segments of a memory snapshot: what is in use and free, and whether a request would fit."""

from __future__ import annotations

from pathlib import Path

import pytest

import tb_privateuse1 as tbp
from tb_privateuse1 import inference, readers
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.lookups.memory_segments import MemorySegments, memory_segments
from tests.support.snapshots import Allocator, snapshot, training, write

MIB = 1 << 20
NAME = "host_1.1700000000000000000.memory_snapshot.pickle"


def trace_of(tmp_path: Path, *allocators: Allocator, **changed: object) -> Trace:
    path = write(tmp_path / NAME, {**snapshot(*allocators), **changed})
    return inference.build_trace(readers.read(str(path)), None)


def ask(tmp_path: Path, *allocators: Allocator, limit: int = 32) -> MemorySegments:
    return memory_segments(trace_of(tmp_path, *allocators), limit=limit)


def in_pieces() -> Allocator:
    """An allocator with two segments, each of which is free but for its first and last block."""
    allocator = Allocator(kind="large")
    for line in (10, 20):
        allocator.allocate(MIB // 2, line=line)
        gone = allocator.allocate(MIB)
        allocator.allocate(MIB // 2, line=line + 1)
        allocator.free(gone)
    return allocator


def test_empty_segments_hide_no_other(tmp_path: Path) -> None:
    """They are all alike, and have the most free bytes."""
    allocator = in_pieces()
    allocator.free(allocator.allocate(2 * MIB))
    found = ask(tmp_path, allocator, limit=2)
    assert (found.segments_total, found.empty_bytes) == (3, 2 * MIB)
    assert [segment.free_bytes for segment in found.segments] == [MIB, MIB]


@pytest.mark.parametrize("seed", range(4))
def test_sums_are_those_of_the_allocator(tmp_path: Path, seed: int) -> None:
    allocator = training(seed)
    found = ask(tmp_path, allocator, limit=1000)
    listed = allocator.listed_segments()
    assert found.reserved_bytes == sum(s["total_size"] for s in listed) == allocator.reserved
    assert found.in_use_bytes == sum(s["allocated_size"] for s in listed)
    assert found.free_bytes == found.reserved_bytes - found.in_use_bytes
    assert found.segments_total == len(listed) == len(found.segments)
    for segment in found.segments:
        pieces = segment.pieces
        assert sum(piece.bytes for piece in pieces) == segment.bytes
        assert sum(piece.free_bytes for piece in pieces) == segment.free_bytes


def test_pieces_lie_where_the_blocks_are(tmp_path: Path) -> None:
    found = ask(tmp_path, in_pieces())
    assert (found.free_bytes, found.largest_free_bytes, found.free_blocks) == (2 * MIB, MIB, 2)
    assert found.empty_bytes == 0
    first = found.segments[0]
    assert [(p.offset_bytes, p.bytes, p.state) for p in first.pieces] == [
        (0, MIB // 2, "in_use"), (MIB // 2, MIB, "free"), (3 * MIB // 2, MIB // 2, "in_use"),
    ]  # fmt: skip
    assert [p.function for p in first.pieces] == [
        "/work/model0.py:10 in layer0", None, "/work/model0.py:11 in layer0",
    ]  # fmt: skip
    assert {p.category for p in first.pieces if p.state == "in_use"} <= {"unknown", "parameters"}


def test_a_request_that_fits_only_in_pieces(tmp_path: Path) -> None:
    allocator = in_pieces()
    allocator.refuse(3 * MIB // 2)
    (one,) = ask(tmp_path, allocator).refused
    assert (one.verdict, one.missing_bytes) == ("in_pieces", MIB // 2)
    assert (one.free_bytes, one.largest_free_bytes) == (2 * MIB, MIB)


@pytest.mark.parametrize(
    ("asked", "verdict", "missing"), [(MIB + 1, "in_pieces", 1), (9 * MIB, "full", 8 * MIB)]
)
def test_what_a_request_lacks(tmp_path: Path, asked: int, verdict: str, missing: int) -> None:
    allocator = in_pieces()
    allocator.refuse(asked)
    (one,) = ask(tmp_path, allocator).refused
    assert (one.verdict, one.missing_bytes) == (verdict, missing)


def test_free_blocks_of_other_pools_and_streams_serve_no_request(tmp_path: Path) -> None:
    allocator = in_pieces()
    allocator.refuse(2 * MIB)
    content = snapshot(allocator)
    first, second = content["segments"]
    first["segment_pool_id"] = (0, 1)
    second["stream"] = 7
    trace = trace_of(tmp_path, allocator, segments=content["segments"])
    found = memory_segments(trace)
    assert [s.pool for s in found.segments] == ["large 0.1", "large"]
    assert [s.stream for s in found.segments] == [0, 7]
    assert [(r.free_bytes, r.verdict) for r in found.refused] == [(0, "full")]


@pytest.mark.parametrize(
    ("asked", "verdict", "missing"), [(2 * MIB, "in_pieces", MIB), (9 * MIB, "full", 8 * MIB)]
)
def test_what_the_device_had_left_does_not_make_a_request_fit(
    tmp_path: Path, asked: int, verdict: str, missing: int
) -> None:
    """A memory limit refuses with memory left; the device is not that of the snapshot's time."""
    allocator = in_pieces()
    allocator.refuse(asked)
    allocator.entries[-1]["device_free"] = 500 * MIB
    (one,) = ask(tmp_path, allocator).refused
    assert (one.verdict, one.missing_bytes) == (verdict, missing)
    assert one.device_free_bytes == 500 * MIB


def test_a_segment_without_a_stream_has_none(tmp_path: Path) -> None:
    content = snapshot(in_pieces())
    del content["segments"][0]["stream"]
    found = memory_segments(trace_of(tmp_path, segments=content["segments"]))
    assert [s.stream for s in found.segments] == [None, 0]


def test_narrow_pieces_are_joined_and_lose_no_byte(tmp_path: Path) -> None:
    allocator = Allocator()
    made = [allocator.allocate(512, line=i) for i in range(4096)]
    for address in made[::2]:
        allocator.free(address)
    (segment,) = ask(tmp_path, allocator).segments
    assert len(segment.pieces) <= 400
    assert sum(piece.blocks for piece in segment.pieces) == 4096
    assert sum(piece.free_bytes for piece in segment.pieces) == segment.free_bytes == MIB


def test_a_recording_without_a_snapshot_has_none(tmp_path: Path) -> None:
    found = memory_segments(trace_of(tmp_path, training(), segments=[]))
    assert (found.label, found.segments) == (None, ())


def test_the_page_knows_how_many_there_are(tmp_path: Path) -> None:
    write(tmp_path / NAME, snapshot(in_pieces()))
    assert tbp.open(tmp_path).memory().segments == 2


def test_malformed_blocks_are_left_out(tmp_path: Path) -> None:
    allocator = in_pieces()
    content = snapshot(allocator)
    content["segments"][0]["blocks"] += [7, {"size": -1}, {"size": 1 << 60}, {"state": []}]
    trace = trace_of(tmp_path, allocator, segments=content["segments"])
    assert memory_segments(trace).reserved_bytes == 4 * MIB
