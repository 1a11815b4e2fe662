"""The calls behind a row of the operator table."""

from __future__ import annotations

import pytest

from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.lookups.operator_calls import operator_calls
from tb_privateuse1.views.operators import operators
from tests.support.lookups import ask
from tests.support.make import annotation, frame, op, step, trace


def some() -> Trace:
    return trace(
        step(1, 0, 100), frame("nn.Module: Net_0", 5, 30),
        op("aten::mm", 10, 20, **{"Input Dims": [[2, 3]]}),
        op("aten::mm", 40, 45, **{"Input Dims": [[4, 4]]}),
        annotation("aten::mm", 50, 55), op("aten::add", 60, 65), op("aten::add", 61, 64),
        step(2, 100, 200), op("aten::mm", 110, 113, **{"Input Dims": [[2, 3]]}),
    )  # fmt: skip


@pytest.mark.parametrize("group", ["name", "shapes", "module", "stack", "category"])
def test_they_are_those_of_the_row(group: str) -> None:
    t = some()
    rows = operators(t, group=group).rows  # type: ignore[arg-type]
    assert len(rows) > 1
    for row in rows:
        found = ask(operator_calls, t, index=row.longest_row, group=group)
        assert found.calls == row.calls == sum(b.calls for b in found.histogram)
        times = [item.end_ns - item.start_ns for item in found.items]
        assert sum(times) == row.host_total_ns
        assert times == sorted(times, reverse=True)
        assert found.items[0].index == row.longest_row


def test_by_time_by_pages_and_in_a_step() -> None:
    t = some()
    index = operators(t).rows[0].longest_row
    found = ask(operator_calls, t, index=index, order="time")
    assert [i.start_ns for i in found.items] == [10_000, 40_000, 110_000]
    assert {i.name for i in found.items} == {"aten::mm"}
    page = ask(operator_calls, t, index=index, order="time", limit=1, offset=1)
    assert ([i.start_ns for i in page.items], page.calls) == ([40_000], 3)
    assert ask(operator_calls, t, index=index, step=1).calls == 1


def test_what_is_in_no_row() -> None:
    t = some()
    (note,) = (i for i in range(len(t.ops)) if t.ops.start_ns[i] == 50_000)
    assert ask(operator_calls, t, index=note).calls == 0
    assert ask(operator_calls, Trace()).items == ()
    for options in ({"index": 99}, {"index": -1}, {"limit": -1}, {"offset": -1}, {"step": 7}):
        with pytest.raises(TraceError):
            ask(operator_calls, t, **options)
