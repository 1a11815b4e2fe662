"""A snapshot beside a trace: it adds what the trace lacks of memory, and nothing counts twice."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tb_privateuse1 as tbp
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.readers.snapshot import completion
from tb_privateuse1.trace.model import Trace
from tests.support import invariants, make, trace_files
from tests.support.read_traces import codes
from tests.support.snapshots import START_US, Allocator, snapshot, training, write

TRACE = "host_1.1700000000000000000.pt.trace.json"
BESIDE = "host_1.1700000000000000000.memory_snapshot.pickle"
WORKER = {"pid": 1, "tid": 2}


def write_trace(folder: Path, *events: make.Event) -> Path:
    """A trace whose times count from ``START_US``."""
    content = make.document(*events, baseTimeNanoseconds=START_US * 1000)
    return trace_files.write(folder / TRACE, content)


def operators(allocator: Allocator) -> list[make.Event]:
    """An operator around each allocation of the history, every other one on a second thread."""
    made = [e for e in allocator.entries if e["action"] == "alloc"]
    listed = []
    for i, entry in enumerate(made):
        at = entry["time_us"] - START_US
        one = make.op(f"aten::op{i}", at - 1, at + 2, id=i + 1)
        listed.append(one | WORKER if i % 2 else one)
    return [make.op("outer", 0, allocator.now_us - START_US + 10, id=999), *listed]


def reported(allocator: Allocator, device_type: int = 20, shift_us: float = 0) -> list[make.Event]:
    """The allocator's changes as torch reports them to the profiler: with sizes rounded up."""
    events, total = [], 0
    for entry in allocator.entries:
        sign = {"alloc": 1, "free_requested": -1}.get(entry["action"], 0)
        if sign:
            size = -(-entry["size"] // 512) * 512 * sign
            total += size
            at = entry["time_us"] - START_US + shift_us
            events.append(make.memory(at, size, total, device_type, Addr=entry["addr"]))
    return events


def trace_of(folder: Path) -> Trace:
    trace = tbp.open(folder).trace()
    invariants.check(trace)
    return trace


@pytest.mark.long
def test_a_device_without_events_gets_those_of_the_snapshot(tmp_path: Path) -> None:
    allocator = training()
    write_trace(tmp_path, *operators(allocator), make.memory(5, 100, 100, device_type=0))
    write(tmp_path / BESIDE, snapshot(allocator))
    trace = trace_of(tmp_path)
    mine = trace.memory.take(trace.memory.device_type == 1)
    assert mine.allocated_bytes.tolist() == [total for _, total, _ in allocator.totals]
    assert mine.reserved_bytes.tolist() == [total for _, _, total in allocator.totals]
    assert "memory_of_snapshot" in codes(trace)
    assert (trace.memory.device_type == 0).sum() == 1
    made = mine.take(mine.bytes > 0)
    names = [trace.text(trace.ops.name[row]) for row in made.op]
    assert names == [f"aten::op{i}" for i in range(len(made))]
    assert (made.stack >= 0).all()


@pytest.mark.long
def test_events_of_the_trace_get_stacks_and_stay_as_they_are(tmp_path: Path) -> None:
    allocator = training()
    alone = tmp_path / "alone"
    events = [*operators(allocator), *reported(allocator, shift_us=2.5)]
    write_trace(alone, *events)
    write_trace(tmp_path / "both", *events)
    write(tmp_path / "both" / BESIDE, snapshot(allocator))
    before, after = trace_of(alone).memory, trace_of(tmp_path / "both").memory
    for name, column in before.columns():
        if name != "stack":
            assert column.tolist() == getattr(after, name).tolist()
    assert (before.stack == -1).all()
    assert ((after.stack >= 0) == (after.bytes > 0)).all()


def test_stacks_are_those_of_the_same_allocation_of_an_address(tmp_path: Path) -> None:
    allocator = Allocator()
    for i in range(20):
        address = allocator.allocate(512, line=100 + i, depth=1)
        allocator.free(address)
        segment = allocator.segments[0]  # the block is used again
        segment["next"], segment["room"] = segment["address"], segment["total_size"]
    write_trace(tmp_path, *operators(allocator), *reported(allocator, shift_us=-2))
    write(tmp_path / BESIDE, snapshot(allocator))
    trace = trace_of(tmp_path)
    stacks = [trace.text(i) for i in trace.memory.stack[trace.memory.bytes > 0]]
    assert len(set(trace.memory.address.tolist())) == 1
    assert stacks == [f"/work/model0.py({100 + i}): layer0" for i in range(20)]


def test_a_block_larger_than_that_of_the_trace_is_another(tmp_path: Path) -> None:
    allocator = Allocator()
    allocator.allocate(2000)
    (event,) = reported(allocator)
    event["args"]["Bytes"] = 512
    write_trace(tmp_path, *operators(allocator), event)
    write(tmp_path / BESIDE, snapshot(allocator))
    assert trace_of(tmp_path).memory.stack.tolist() == [-1]


@pytest.mark.long
def test_devices_are_completed_one_by_one(tmp_path: Path) -> None:
    first, second = training(1), training(2, device=1)
    write_trace(tmp_path, *operators(first), *reported(first, device_type=1))
    write(tmp_path / BESIDE, snapshot(first, second))
    trace = trace_of(tmp_path)
    assert set(trace.memory.device_type.tolist()) == {1}
    counts = [int((trace.memory.device == i).sum()) for i in (0, 1)]
    assert counts[0] == len(reported(first))
    assert 0 < counts[1] <= len(second.totals)


def test_only_the_time_of_the_trace_counts_and_totals_stay_exact(tmp_path: Path) -> None:
    allocator = training()
    middle = allocator.now_us - START_US - 1500
    write_trace(tmp_path, make.op("late", middle, allocator.now_us - START_US + 10, id=1))
    write(tmp_path / BESIDE, snapshot(allocator))
    trace = trace_of(tmp_path)
    last = [total for at, total, _ in allocator.totals if at >= START_US + middle]
    assert trace.memory.allocated_bytes.tolist() == last
    assert 0 < len(last) < len(allocator.totals)


def test_a_snapshot_of_another_time_is_said(tmp_path: Path) -> None:
    allocator = training()
    content = make.document(*operators(allocator), baseTimeNanoseconds=1)
    trace_files.write(tmp_path / TRACE, content)
    write(tmp_path / BESIDE, snapshot(allocator))
    trace = trace_of(tmp_path)
    assert not len(trace.memory)
    assert "snapshot_elsewhere" in codes(trace)


@pytest.mark.long
@pytest.mark.parametrize("data", [b"", b"no pickle", b"\x80\x04cos\nsystem\n."])
def test_one_that_cannot_be_read_is_a_finding(tmp_path: Path, data: bytes) -> None:
    allocator = training()
    write_trace(tmp_path, *operators(allocator))
    (tmp_path / BESIDE).write_bytes(data)
    trace = trace_of(tmp_path)
    assert "part_unreadable" in codes(trace)
    assert len(trace.ops)


def test_it_is_no_recording_of_its_own_there(tmp_path: Path) -> None:
    allocator = training()
    path = write_trace(tmp_path, *operators(allocator))
    beside = write(tmp_path / BESIDE, snapshot(allocator))
    write(tmp_path / "host_1.1800000000000000000.memory_snapshot.pickle", snapshot(allocator))
    found = catalog.scan(str(tmp_path), READERS)
    (run,) = found.runs.runs
    (worker,) = run.workers
    assert [span.label for span in worker.spans] == ["1700000000000000000", "1800000000000000000"]
    files = found.find(span=1)
    assert [part.name for part in files.parts] == [BESIDE]
    assert not found.find(span=2).parts
    for chosen, parts in ((path, [BESIDE]), (beside, [])):
        alone = catalog.scan(str(chosen), READERS).find()
        assert alone.trace.name == chosen.name
        assert [part.name for part in alone.parts] == parts


@pytest.mark.long
def test_another_snapshot_changes_the_cached_trace(tmp_path: Path) -> None:
    allocator = training()
    write_trace(tmp_path, *operators(allocator))
    assert not len(trace_of(tmp_path).memory)
    write(tmp_path / BESIDE, snapshot(allocator))
    assert len(trace_of(tmp_path).memory)


def nearest_by_loops(code: Any, at: Any, other_code: Any, other_at: Any) -> list[int | None]:
    """The least distance to a row of the same code, ``None`` without a near one."""
    found: list[int | None] = []
    for one, ns in zip(code, at, strict=True):
        near = [abs(o - ns) for c, o in zip(other_code, other_at, strict=True) if c == one]
        least = min(near, default=1_000_000)
        found.append(least if least < 1_000_000 else None)
    return found


def test_the_nearest_is_that_of_plain_loops() -> None:
    rng = random.Random(4)
    for _ in range(200):
        columns = []
        for n in (rng.randint(1, 20), rng.randint(1, 20)):
            columns += [
                np.array([rng.randrange(3) for _ in range(n)]),
                np.array([rng.randrange(5_000_000) for _ in range(n)]),
            ]
        row = completion._nearest(*columns)
        apart = [
            None if r < 0 else abs(int(columns[3][r] - at))
            for r, at in zip(row, columns[1], strict=True)
        ]
        assert apart == nearest_by_loops(*columns)
