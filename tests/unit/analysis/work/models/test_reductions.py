"""FLOPs and bytes of reductions over dimensions."""

from __future__ import annotations

from tests.unit.analysis.work.calls import call, moved, tensor, work

X = tensor(6, 8)


def test_dimensions_count_from_both_ends() -> None:
    assert moved("aten::sum", X, [-1], False, None) == (192, 24)
    assert moved("aten::sum", X, [0, 1], True, None) == (192, 4)
    assert moved("aten::sum", X, [], False, None) == (192, 4)
    assert moved("aten::argmax", X, 0, False) == (192, 64)


def test_sums_of_integers_are_long() -> None:
    assert moved("aten::sum", tensor(6, dtype="int"), None) == (24, 8)


def test_a_dimension_that_is_not_there() -> None:
    assert moved("aten::sum", X, [5], False, None) == (192, None)


def test_extremes() -> None:
    assert moved("aten::max", X) == (192, 4)
    assert moved("aten::max", X, 1, False) == (192, 6 * 12)
    assert moved("aten::max", X, X) == (384, 192)


def test_scans() -> None:
    assert moved("aten::cumsum", tensor(6, dtype="bool"), 0) == (6, 48)
    assert call("aten::cumsum_", X).in_place
    assert work("aten::cumsum") is None
