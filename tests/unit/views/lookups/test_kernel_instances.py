"""The activities behind a row of the kernel table."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tb_privateuse1.analysis.counters.instance_counters import InstanceCounter
from tb_privateuse1.storage import derived
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.lookups.kernel_instances import Instances, kernel_instances
from tests.support.make import kernel, launch, op, step, trace


def some() -> Trace:
    return trace(
        step(1, 0, 100), op("aten::mm", 0, 5), launch(1, 2, 1), op("aten::add", 10, 15),
        launch(11, 12, 2),
        kernel("k", 20, 24, 1), kernel("k", 30, 32, 1), kernel("k", 40, 49, 1),
        kernel("k", 50, 55, 2), kernel("other", 60, 80),
        step(2, 100, 200), op("aten::mm", 110, 112), launch(111, 112, 3), kernel("k", 120, 121, 3),
    )  # fmt: skip


def ask(t: Trace, **options: Any) -> Instances:
    return kernel_instances(t, derived.DerivedData(t).pyramid, **{"window": "all", **options})


def row_of(t: Trace, operator: str) -> int:
    return next(r.longest_row for r in kernels(t).rows if r.operator == operator)


def test_those_of_the_row_the_longest_first() -> None:
    t = some()
    found = ask(t, index=row_of(t, "aten::mm"))
    assert (found.name, found.calls) == ("k", 4)
    assert [i.end_ns - i.start_ns for i in found.items] == [9_000, 4_000, 2_000, 1_000]
    assert {i.table for i in found.items} == {"kernels"}
    assert ask(t, index=row_of(t, "aten::mm"), group="name").calls == 5


def test_the_typical_one_has_the_median_duration() -> None:
    t = some()
    typical = ask(t, index=row_of(t, "aten::mm")).typical
    assert typical is not None
    assert typical.end_ns - typical.start_ns == 4_000
    assert [ask(t, index=row_of(t, "aten::mm"), step=1).typical] == [
        *ask(t, index=row_of(t, "aten::mm"), step=1).items
    ]
    assert ask(trace(op("a", 0, 1))).typical is None


def test_in_order_of_time_in_a_step_and_by_pages() -> None:
    t = some()
    index = row_of(t, "aten::mm")
    found = ask(t, index=index, order="time", limit=2, offset=1)
    assert [i.start_ns for i in found.items] == [30_000, 40_000]
    assert ask(t, index=index, step=1).calls == 1
    assert ask(t, index=index, limit=0).items == ()


def test_the_most_usual_first() -> None:
    t = some()
    index = row_of(t, "aten::mm")  # 9 µs, beside 1, 2 and 4 µs
    found = ask(t, index=index, order="typical")
    assert found.typical == found.items[0]
    assert [i.end_ns - i.start_ns for i in found.items] == [4_000, 2_000, 1_000, 9_000]
    assert found.shorter == 3
    assert ask(t, index=index, step=1).shorter is None


def test_the_median_comes_before_those_as_long() -> None:
    t = trace(kernel("k", 0, 4), kernel("k", 5, 9), kernel("k", 10, 14), kernel("k", 20, 21))
    found = ask(t, order="typical")
    assert found.typical == found.items[0]


def test_the_histogram_has_them_all() -> None:
    t = some()
    bins = ask(t, index=row_of(t, "aten::mm")).histogram
    assert sum(b.calls for b in bins) == 4
    assert bins[0].low_ns == 1_000
    assert bins[-1].high_ns == 9_001
    assert all(a.high_ns == b.low_ns for a, b in itertools.pairwise(bins))
    (one,) = ask(t, index=row_of(t, "aten::add")).histogram
    assert (one.low_ns, one.high_ns, one.calls) == (5_000, 5_001, 1)


def test_kernels_without_a_duration() -> None:
    t = trace(kernel("k", 5, 5), kernel("k", 6, 8))
    assert sum(b.calls for b in ask(t).histogram) == 2


def test_what_is_not_there() -> None:
    assert ask(Trace()) == Instances("", None, 0, None, None, (), (), ())
    for options in ({"index": 99}, {"index": -1}, {"limit": -1}, {"step": 7}):
        with pytest.raises(TraceError):
            ask(some(), **options)


def test_counters_while_they_run() -> None:
    power = {"ph": "C", "name": "Power", "pid": "GPU"}
    values = ((0, 100), (20, 300), (24, 100), (30, 200), (60, 50))
    t = trace(
        op("aten::mm", 0, 5), launch(1, 2, 1), kernel("k", 20, 24, 1), kernel("k", 29, 31, 1),
        kernel("other", 60, 80),
        *({**power, "ts": at, "args": {"W": watts}} for at, watts in values),
        {**power, "name": "Late", "ts": 50, "args": {"W": 1}},
    )  # fmt: skip
    (found,) = ask(t, index=0).counters
    mean, busy = (4 * 300 + 100 + 200) / 6, (4 * 300 + 100 + 200 + 20 * 50) / 26
    assert found == InstanceCounter(0, "Power · W", mean, 2, busy)
    assert [one.name for one in ask(t, index=2).counters] == ["Power · W", "Late · W"]


def test_without_counters_there_are_none() -> None:
    t = some()
    assert ask(t, index=row_of(t, "aten::mm")).counters == ()
