"""Tables keep their promises: read-only, equally long, complete."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_privateuse1.trace.model import TABLES, Lanes, Trace


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_a_field_of_trace_and_can_be_empty(name: str) -> None:
    table = getattr(Trace(), name)
    assert type(table) is TABLES[name]
    assert len(table) == 0
    table_type: Any = TABLES[name]
    assert set(table_type.__struct_fields__) == set(TABLES[name].column_types())


def test_columns_cannot_be_written() -> None:
    lanes = Lanes(np.array([0]), np.array([1]), np.array([2], np.int32))
    with pytest.raises(ValueError, match="read-only"):
        lanes.device[0] = 5


def test_a_mask_of_all_rows_takes_the_table_itself() -> None:
    lanes = Lanes(np.array([0, 1]), np.array([1, 2]), np.array([2, 3], np.int32))
    assert lanes.take(np.array([True, True])) is lanes
    assert lanes.take(np.array([False, True])).device.tolist() == [1]
    with pytest.raises(IndexError):
        lanes.take(np.array([True]))


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"lengths \[0, 1\]"):
        Lanes(np.array([0]), np.array([], np.int64), np.array([2], np.int32))


def test_take_keeps_all_columns_together() -> None:
    lanes = Lanes(np.array([0, 1, 2]), np.array([5, 6, 7]), np.array([0, 0, 1], np.int32))
    taken = lanes.take(np.array([2, 0]))
    assert taken.device.tolist() == [2, 0]
    assert taken.stream.tolist() == [7, 5]
