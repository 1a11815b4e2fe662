"""The ranges with the same name as one of them."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.storage import derived
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.lookups.event_items import Instances, TableName
from tb_privateuse1.views.lookups.namesakes import namesakes
from tests.support.make import frame, kernel, launch, op, step, trace


def some() -> Trace:
    return trace(
        step(1, 0, 100), step(2, 100, 200), op("aten::mm", 0, 5), op("aten::add", 10, 13),
        op("aten::mm", 110, 112), launch(1, 2, 1), launch(11, 14, 2), launch(111, 112, 3),
        kernel("k", 20, 24, 1), kernel("k", 30, 32, 2), kernel("other", 60, 80, 3),
    )  # fmt: skip


def ask(t: Trace, **options: Any) -> Instances:
    return namesakes(t, derived.DerivedData(t).pyramid, **options)


@pytest.mark.parametrize("table", get_args(TableName))
def test_all_of_a_table_with_its_name(table: TableName) -> None:
    t = some()
    names = getattr(t, table).name
    for index in range(len(names)):
        found = ask(t, table=table, index=index)
        assert found.calls == len(found.items) == int((names == names[index]).sum())
        assert index in [one.index for one in found.items]
        assert found.typical == found.items[0]
        assert found.shorter is not None


def test_how_many_took_less() -> None:
    t = some()
    longest = next(i for i in range(len(t.ops)) if t.ops.end_ns[i] == 5_000)
    assert ask(t, table="ops", index=longest).shorter == 1
    assert ask(t, table="ops", index=longest, order="duration").items[0].index == longest


@pytest.mark.long
@given(st.lists(st.integers(1, 50), min_size=1, max_size=12), st.data())
def test_the_typical_one_divides_them(durations: list[int], data: st.DataObject) -> None:
    t = trace(*(kernel("k", 100 * i, 100 * i + d) for i, d in enumerate(durations)))
    index = data.draw(st.integers(0, len(durations) - 1))
    found = ask(t, index=index)
    assert found.typical is not None
    took = found.typical.end_ns - found.typical.start_ns
    assert took == sorted(d * 1000 for d in durations)[len(durations) // 2]
    own = int((t.kernels.end_ns - t.kernels.start_ns)[index])
    assert found.shorter == int(np.sum(np.array(durations) * 1000 < own))


def test_the_functions_that_they_come_from() -> None:
    t = trace(
        frame("train.py(3): a", 0, 50), frame("torch/nn/x.py(7): forward", 1, 40),
        op("aten::mm", 2, 12), launch(3, 4, 1), op("aten::mm", 20, 25), launch(21, 22, 2),
        frame("train.py(9): b", 60, 99), op("aten::mm", 61, 63), launch(62, 63, 3),
        op("aten::mm", 120, 121),
        kernel("k", 10, 13, 1), kernel("k", 30, 33, 2), kernel("k", 70, 90, 3),
    )  # fmt: skip
    (first, second) = ask(t, table="ops").sites
    assert (first.function, first.calls, first.total_ns) == ("a (train.py)", 2, 15_000)
    assert (second.function, second.calls, second.total_ns) == ("b (train.py:9)", 1, 2_000)
    sites = ask(t, table="kernels").sites
    assert [(s.function, s.calls) for s in sites] == [("b (train.py:9)", 1), ("a (train.py)", 2)]
    assert ask(t, table="launches").sites == ()
    assert ask(some(), table="ops").sites == ()


def test_what_is_not_there() -> None:
    assert ask(Trace()).calls == 0
    for options in ({"index": 99}, {"index": -1}, {"limit": -1}, {"offset": -1}):
        with pytest.raises(TraceError):
            ask(some(), **options)
