"""Kernel rows and their statistics."""

from __future__ import annotations

import pytest

from tb_privateuse1.trace import Trace
from tb_privateuse1.views.kernels import kernels
from tests.make import kernel, launch, op, step, trace


def some() -> Trace:
    return trace(
        step(1, 0, 100), op("aten::mm", 0, 5), launch(1, 2, 1), op("aten::add", 10, 15),
        launch(11, 12, 2),
        kernel("k", 20, 24, 1), kernel("k", 30, 32, 1), kernel("k", 40, 49, 1),
        kernel("k", 50, 55, 2), kernel("ncclAllReduce", 60, 80),
        kernel("Memcpy HtoD", 82, 92, category="gpu_memcpy"),
    )  # fmt: skip


def test_rows_by_name_and_operator() -> None:
    result = kernels(some())
    rows = {(r.name, r.operator): r for r in result.rows}
    row = rows["k", "aten::mm"]
    assert (row.calls, row.total_ns, row.mean_ns, row.median_ns) == (3, 15_000, 5_000, 4_000)
    assert (row.min_ns, row.max_ns, row.bound_ns) == (2_000, 9_000, 0)
    assert rows["k", "aten::add"].calls == 1
    assert rows["ncclAllReduce", None].kind == "communication"
    assert rows["Memcpy HtoD", None].kind == "memcpy"
    assert (result.calls, result.total_ns) == (6, 50_000)
    assert sum(r.share for r in result.rows) == pytest.approx(1)
    assert [r.total_ns for r in result.rows] == sorted(
        (r.total_ns for r in result.rows), reverse=True
    )


def test_rows_by_name_only() -> None:
    rows = {r.name: r for r in kernels(some(), group="name").rows}
    assert (rows["k"].calls, rows["k"].operator) == (4, None)


def test_a_step_selects_its_activities() -> None:
    assert kernels(some(), step=1).calls == 6
    t = trace(step(1, 0, 10), step(2, 10, 20), launch(11, 12, 1), kernel("k", 13, 14, 1))
    assert kernels(t, step=1).rows == ()
    assert kernels(t, step=2).calls == 1


def test_empty() -> None:
    assert kernels(Trace()).rows == ()


@pytest.mark.parametrize("number", [None, 2])
def test_the_longest_is_a_row_of_the_trace(number: int | None) -> None:
    t = trace(step(1, 0, 30), step(2, 30, 90), op("a", 31, 40), launch(32, 33, 1),
              kernel("k", 20, 29), kernel("k", 34, 40, 1), kernel("k", 45, 52, 1))  # fmt: skip
    for row in kernels(t, step=number).rows:
        longest = t.kernels.end_ns[row.longest_row] - t.kernels.start_ns[row.longest_row]
        assert longest == row.max_ns
    assert {r.longest_row for r in kernels(t).rows} == {0, 2}
