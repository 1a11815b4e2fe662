"""A selected stretch of time: what is in it, and how much of it."""

from __future__ import annotations

from tb_privateuse1.lookups import area
from tb_privateuse1.trace import Trace
from tests.lookups.ask import ask
from tests.make import kernel, op, trace


def test_ranges_count_with_their_part_inside() -> None:
    one = trace(op("a", 0, 10), op("a", 20, 40), op("b", 21, 22, thread=2), kernel("k", 15, 35),
                kernel("k", 30, 32, stream=8), kernel("far", 90, 95))  # fmt: skip
    found = ask(area, one, start_ns=5_000, stop_ns=30_000)
    rows = {(r.table, r.name): r for r in found.rows}
    a = rows["ops", "a"]
    assert (a.ranges, a.inside_ns, a.mean_ns, a.max_ns) == (2, 15_000, 15_000, 20_000)
    assert rows["kernels", "k"].inside_ns == 15_000
    assert (found.ranges, found.names, found.busy_ns) == (4, 3, 15_000)
    only = ask(area, one, start_ns=0, stop_ns=95_000, thread=int(one.ops.thread[-1]))
    assert [(r.table, r.name) for r in only.rows] == [("ops", "b")]
    assert {r.table for r in ask(area, one, lane=0).rows} == {"kernels"}


def test_nothing() -> None:
    found = ask(area, Trace())
    assert (found.rows, found.ranges, found.busy_ns) == ((), 0, None)
    backwards = ask(area, trace(kernel("k", 0, 9)), start_ns=8_000, stop_ns=2_000)
    assert backwards.busy_ns == 0
