"""Two instants: planted causes are found by line, and differences add up."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest

from tb_privateuse1 import inference, readers
from tb_privateuse1.analysis.comparison.alive_memory import compare_alive
from tb_privateuse1.analysis.memory import allocations, differences
from tb_privateuse1.analysis.memory.differences import AliveChange, MemoryDifference, Moment
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.diff import diff
from tb_privateuse1.views.memory import memory
from tests.support.make import memory as event
from tests.support.make import op, step, trace
from tests.support.repeats import repeats
from tests.support.snapshots import Allocator, snapshot, training, write

KIB = 1024
NONE = np.empty(0, np.int64)
WEIGHT, ACTIVATION, BUFFER, NEW, LEAK = 10, 200, 300, 400, 500


def program(
    *, leak: bool = False, late: bool = False, larger: bool = False, added: bool = False
) -> Allocator:
    """Three steps of an activation and a buffer, with planted causes; one weight stays."""
    allocator = Allocator()
    allocator.allocate(64 * KIB, WEIGHT, depth=1)
    kept: list[int] = []
    for _ in range(3):
        activation = allocator.allocate((48 if larger else 32) * KIB, ACTIVATION, depth=1)
        if late:
            for address in kept:
                allocator.free(address)
            kept.clear()
        buffer = allocator.allocate(16 * KIB, BUFFER, depth=1)
        if leak:
            allocator.allocate(4 * KIB, LEAK, depth=1)
        else:
            allocator.free(allocator.allocate(4 * KIB, LEAK, depth=1))
        if added:
            allocator.allocate(2 * KIB, NEW, depth=1)
            added = False
        kept.append(activation)
        if not late:
            allocator.free(kept.pop())
        allocator.free(buffer)
    return allocator


def read(folder: Path, allocator: Allocator) -> Trace:
    path = write(folder / "w.1.memory_snapshot.pickle", snapshot(allocator))
    return inference.build_trace(readers.read(str(path)), None)


def compared(base: Trace, now: Trace, moment: Moment) -> MemoryDifference:
    (found,) = compare_alive(base, now, NONE, NONE, moment)
    return found


def changed(found: MemoryDifference) -> dict[int, tuple[str, int]]:
    """Return reason and change by line, of the rows that changed."""
    return {
        int((row.name or "").split(":")[1].split(" ")[0]): (row.reason, row.change_bytes)
        for row in found.functions
        if row.change_bytes
    }


@pytest.mark.parametrize(
    ("planted", "moment", "expected"),
    [
        ("leak", "end", {LEAK: ("more", 12 * KIB)}),
        ("late", "end", {ACTIVATION: ("late", 32 * KIB)}),
        ("larger", "peak", {ACTIVATION: ("larger", 16 * KIB)}),
        ("added", "end", {NEW: ("new", 2 * KIB)}),
    ],
)
def test_a_planted_cause_is_found_by_its_line(
    tmp_path: Path, planted: str, moment: Moment, expected: dict[int, tuple[str, int]]
) -> None:
    base, now = read(tmp_path, program()), read(tmp_path, program(**{planted: True}))
    found = compared(base, now, moment)
    assert changed(found) == expected
    assert found.change_bytes == sum(change for _, change in expected.values())
    back = changed(compared(now, base, moment))
    assert {line: change for line, (_, change) in back.items()} == {
        line: -change for line, (_, change) in expected.items()
    }
    assert {reason for reason, _ in back.values()} == {"gone" if planted == "added" else "less"}


def test_equal_snapshots_have_no_change(tmp_path: Path) -> None:
    base, now = (read(tmp_path, program()) for _ in range(2))
    found = compared(base, now, "peak")
    assert found.change_bytes == 0
    assert {row.reason for row in found.functions} == {"same"}


def rows(found: MemoryDifference) -> dict[tuple[str, str, str | None, str | None], AliveChange]:
    lists = {"f": found.functions, "m": found.modules, "c": found.categories}
    return {(k, r.source, r.name, r.operator): r for k, each in lists.items() for r in each}


@pytest.mark.parametrize("seed", range(repeats(8)))
@pytest.mark.parametrize("moment", ["peak", "end"])
def test_differences_add_up(tmp_path: Path, seed: int, moment: Moment) -> None:
    """Rows sum to the change of the total, and the differences of a chain to that of its ends."""
    rng = random.Random(seed)
    chain = [read(tmp_path, training(rng.randrange(1000), rng.randint(1, 4))) for _ in range(3)]
    whole = compared(chain[0], chain[2], moment)
    parts = [rows(compared(a, b, moment)) for a, b in itertools.pairwise(chain)]
    for each in (whole.functions, whole.modules, whole.categories):
        assert sum(r.base_bytes for r in each) == whole.base_bytes
        assert sum(r.now_bytes for r in each) == whole.now_bytes
        assert sum(r.change_bytes for r in each) == whole.change_bytes
    ends = rows(whole)
    for key in {*ends, *parts[0], *parts[1]}:
        steps = sum(part[key].change_bytes for part in parts if key in part)
        assert steps == (ends[key].change_bytes if key in ends else 0), key


def steps_with_a_leak() -> Trace:
    """Each step keeps 10 bytes of ``aten::mm`` and frees 20 of ``aten::add``; 100 were there."""
    events, total = [], 100
    for i in range(3):
        at = 100 * i
        events += [
            step(i, at, at + 100),
            op("aten::mm", at, at + 10),
            op("aten::add", at + 20, at + 30),
        ]
        for time, size, address in ((5, 10, 1000 + i), (25, 20, 7), (50, -20, 7)):
            total += size
            events.append(event(at + time, size, total, Addr=address))
    return trace(*events)


def test_two_instants_of_one_recording() -> None:
    """The memory view compares the start of the selected part with its end."""
    found = memory(steps_with_a_leak(), start_ns=100_000, end_ns=300_000).difference
    assert found is not None
    assert (found.base_bytes, found.now_bytes, found.change_bytes) == (110, 130, 20)
    assert [(r.source, r.operator, r.reason, r.change_bytes) for r in found.functions] == [
        ("operator", "aten::mm", "more", 20),
        ("earlier", None, "same", 0),
    ]
    assert [(r.base_allocations, r.now_allocations) for r in found.functions] == [
        (1, 3),
        (None, None),
    ]


def test_before_the_first_event_only_earlier_memory_is_there() -> None:
    found = memory(steps_with_a_leak()).difference
    assert found is not None
    assert [(r.source, r.reason, r.base_bytes, r.now_bytes) for r in found.functions] == [
        ("operator", "new", 0, 30),
        ("earlier", "same", 100, 100),
    ]


def test_two_steps_of_one_recording() -> None:
    one = steps_with_a_leak()
    (found,) = diff(one, one, step=2, base_step=0, alive_at="peak").alive
    assert (found.base_bytes, found.now_bytes) == (130, 150)
    changes = {r.operator: r.change_bytes for r in found.functions}
    assert changes == {"aten::mm": 20, "aten::add": 0, None: 0}
    assert diff(one, one).alive == ()


def test_without_totals_or_addresses_there_is_no_difference() -> None:
    bare = trace(step(0, 0, 100), event(10, 100, 100, Addr=None), op("aten::mm", 5, 20))
    assert memory(bare).difference is None
    assert diff(bare, steps_with_a_leak(), alive_at="end").alive == ()
    assert memory(trace(op("aten::mm", 0, 10))).difference is None


def test_the_most_at_once_counts_releases_first() -> None:
    """An address that is used again at once never counts twice."""
    one = trace(op("aten::mm", 0, 50), event(10, 8, 8, Addr=1), event(20, -8, 0, Addr=1),
                event(20, 8, 8, Addr=1))  # fmt: skip
    history = differences.device_history(one, allocations.memory_devices(one.memory)[0])
    assert history is not None
    (held,) = [h for k, h in differences.alive_at(history, 2, 30).functions.items() if k[2]]
    assert (held.bytes, held.allocations, held.most_bytes, held.most_allocations) == (8, 1, 8, 1)
