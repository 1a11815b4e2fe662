"""The work of one range against the roofs."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import astuple

from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.lookups.work import CallWork, work
from tests.support.make import kernel, launch, op, trace
from tests.unit.analysis.work.calls import tensor, texts

NOTHING = CallWork(None, None, None, None, None, None, None)


def some() -> Trace:
    args = texts("aten::mm", tensor(256, 256), tensor(256, 256))
    return trace(
        op("aten::linear", 0, 9), op("aten::mm", 1, 5, **args), launch(2, 3, 1),
        op("aten::mm", 30, 35, **args), launch(31, 32, 2), op("aten::item", 40, 41),
        kernel("b", 10, 20, 1), kernel("a", 50, 90, 2), kernel("c", 100, 130),
    )  # fmt: skip


def columns(row: Any) -> CallWork:
    return CallWork(**{name: getattr(row, name) for name in CallWork.__struct_fields__})


def test_of_an_activity_it_is_that_of_its_row() -> None:
    t = some()
    rows = kernels(t).rows
    assert {row.calls for row in rows} == {1}
    for row in rows:
        assert work(t, index=row.longest_row) == columns(row)
    assert NOTHING not in (work(t, index=0), work(t, index=1))
    assert work(t, index=2) == NOTHING


def test_of_an_operator_and_a_call_it_is_that_of_their_activities() -> None:
    t = some()
    names = [t.text(name) for name in t.ops.name]
    first = work(t, table="kernels", index=0)
    assert work(t, table="ops", index=names.index("aten::linear")) == first
    assert work(t, table="ops", index=names.index("aten::mm")) == first
    assert work(t, table="launches", index=0) == first
    assert work(t, table="ops", index=names.index("aten::item")) == NOTHING


def test_what_is_not_there() -> None:
    assert set(astuple(work(Trace()))) == {None}
    assert work(trace(op("a", 0, 1)), table="frames") == NOTHING
    for index in (99, -1):
        with pytest.raises(TraceError):
            work(some(), index=index)
