"""Bytes of reading and writing at indices."""

from __future__ import annotations

from tests.unit.analysis.work.calls import moved, tensor, work

X, ROWS = tensor(100, 8), tensor(3, dtype="long int")


def test_only_chosen_rows_are_read() -> None:
    assert moved("aten::embedding", X, ROWS, -1, False, False) == (24 + 96, 96)
    assert moved("aten::index_select", X, 0, ROWS) == (24 + 96, 96)
    assert moved("aten::index", X, [ROWS]) == (24 + 96, 96)


def test_values_are_put_where_the_indices_say() -> None:
    values = tensor(3, 8)
    assert moved("aten::_index_put_impl_", X, [ROWS], values, False, True) == (96, 96)
    assert moved("aten::_index_put_impl_", X, [ROWS], values, True, True) == (192, 96)


def test_a_value_is_scattered_without_a_source() -> None:
    index = tensor(3, 8, dtype="long int")
    assert moved("aten::scatter_", X, 0, index, 1.0) == (192, 96)


def test_a_result_that_depends_on_values_is_unknown() -> None:
    assert work("aten::index", X, None) is None
    assert work("aten::nonzero", X) is None
    assert work("aten::topk", X, 3, 7) is None
