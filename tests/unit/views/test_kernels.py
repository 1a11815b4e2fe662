"""Kernel rows and their statistics."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.kernels import kernels
from tests.support.make import kernel, launch, op, step, trace
from tests.unit.analysis.work.calls import tensor, texts


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
    assert rows["NCCL all-reduce", None].kind == "communication"
    assert rows["copy H2D", None].kind == "memcpy"
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
    for row in kernels(t, step=number, window="all").rows:
        longest = t.kernels.end_ns[row.longest_row] - t.kernels.start_ns[row.longest_row]
        assert longest == row.max_ns
    assert {r.longest_row for r in kernels(t, window="all").rows} == {0, 2}


CONFIG = {"grid": [4, 1, 1], "block": [128, 1, 1], "registers per thread": 30, "shared memory": 64,
          "blocks per SM": 5.5, "est. achieved occupancy %": 40}  # fmt: skip


def launched() -> Trace:
    wider = {**CONFIG, "grid": [8, 1, 1], "blocks per SM": 0.5, "est. achieved occupancy %": 80}
    return trace(
        kernel("k", 0, 10, 1, **CONFIG), kernel("k", 10, 40, 2, **wider),
        kernel("k", 40, 50, 3, **CONFIG), kernel("plain", 60, 61),
    )  # fmt: skip


def test_rows_by_launch_properties() -> None:
    result = kernels(launched(), group="launch")
    assert result.has_configs
    wide, narrow, plain = result.rows
    assert (wide.grid, wide.block, wide.calls, wide.total_ns) == ("[8,1,1]", "[128,1,1]", 1, 30_000)
    assert (narrow.grid, narrow.registers, narrow.shared_bytes) == ("[4,1,1]", 30, 64)
    assert (narrow.calls, narrow.occupancy, narrow.blocks_per_sm) == (2, 0.4, 5.5)
    assert (plain.grid, plain.registers, plain.occupancy) == (None, None, None)


def test_launch_properties_of_several_are_means_by_duration() -> None:
    row = kernels(launched()).rows[0]
    assert (row.grid, row.calls) == (None, 3)
    assert row.occupancy == pytest.approx((0.4 * 20 + 0.8 * 30) / 50)
    assert row.blocks_per_sm == pytest.approx((5.5 * 20 + 0.5 * 30) / 50)


@pytest.mark.parametrize("odd", ["x", None, {"a": 1}, [3]])
def test_launch_properties_that_are_no_numbers(odd: Any) -> None:
    t = trace(kernel("k", 0, 10, **{**CONFIG, "est. achieved occupancy %": odd, "block": odd}))
    row = kernels(t, group="launch").rows[0]
    assert row.occupancy is None
    assert row.calls == 1


def test_the_95th_percentile() -> None:
    t = trace(*(kernel("k", 200 * i, 200 * i + i + 1) for i in range(101)))
    row = kernels(t).rows[0]
    assert (row.median_ns, row.p95_ns, row.p95_bound_ns) == (51_000, 96_000, 0)


def test_short_kernels() -> None:
    result = kernels(some(), short_ns=5_000)
    short = result.short
    assert short is not None
    assert (short.calls, short.share, short.total_ns) == (2, 2 / 5, 6_000)
    rows = {(r.name, r.operator): r.short_calls for r in result.rows}
    assert rows["k", "aten::mm"] == 2
    assert kernels(Trace()).short is None


def test_use_of_the_matrix_unit() -> None:
    gemm = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_nn"
    t = trace(
        op("aten::mm", 0, 5), launch(1, 2, 1), launch(3, 4, 2), op("aten::add", 10, 15),
        launch(11, 12, 3), kernel(gemm, 20, 27, 1), kernel("splitK", 30, 33, 2),
        kernel("volta_sgemm_64x64_nt", 40, 41), kernel("add", 50, 55, 3),
    )  # fmt: skip
    result = kernels(t)
    assert result.matrix is not None
    assert (result.matrix.unit, result.matrix.total_ns) == ("Tensor Cores", 7_000)
    assert (result.matrix.eligible_ns, result.matrix.used_ns) == (10_000, 7_000)
    assert {r.full_name: r.matrix_unit for r in result.rows}[gemm]
    assert not any(r.matrix_unit for r in result.rows if r.full_name != gemm)


def test_a_vendor_without_names_tells_nothing_of_it() -> None:
    t = trace(kernel("gemm", 0, 5, category="mtia_ccp_events"))
    result = kernels(t)
    assert (result.matrix, result.rows[0].matrix_unit) == (None, None)


def test_a_limit_keeps_the_sums() -> None:
    whole, part = kernels(some()), kernels(some(), limit=1, offset=1)
    assert (part.total_rows, part.total_ns, part.calls) == (4, whole.total_ns, whole.calls)
    assert part.others is not None
    assert part.others.rows == 3
    assert part.others.total_ns + part.rows[0].total_ns == whole.total_ns
    assert part.others.calls + part.rows[0].calls == whole.calls


def test_to_find() -> None:
    assert {r.operator for r in kernels(some(), find="ATEN::m").rows} == {"aten::mm"}
    assert [r.name for r in kernels(some(), find="nccl", group="name").rows] == ["NCCL all-reduce"]


@pytest.mark.parametrize("name", ["limit", "offset", "short_ns"])
def test_options_that_mean_nothing(name: str) -> None:
    with pytest.raises(TraceError) as caught:
        kernels(some(), **{name: -1})  # type: ignore[arg-type]
    assert caught.value.code == "bad_option"


def test_sorted_by_a_column() -> None:
    args = texts("aten::mm", tensor(256, 256), tensor(256, 256))
    t = trace(
        op("aten::mm", 0, 5, **args), launch(1, 2, 1), kernel("b", 10, 20, 1),
        op("aten::mm", 30, 35, **args), launch(31, 32, 2), kernel("a", 50, 90, 2),
        *(kernel("c", 100 + 30 * i, 120 + 30 * i) for i in range(4)),
    )  # fmt: skip

    def names(sort: str | None, **more: Any) -> list[str]:
        return [row.name for row in kernels(t, sort=sort, **more).rows]

    assert names(None) == names("-total_ns") == ["c", "a", "b"]
    assert names("name") == ["a", "b", "c"]
    assert names("-name") == ["c", "b", "a"]
    assert names("-calls") == ["c", "a", "b"]
    assert names("-mean_ns") == names("-max_ns") == ["a", "c", "b"]
    assert names("min_ns") == ["b", "c", "a"]
    assert names("-tflop_per_s") == ["b", "a", "c"], "what has no work is last"
    assert names("tflop_per_s") == ["a", "b", "c"]
    assert names("-tflop_per_s", limit=1, offset=1) == ["a"]
    assert kernels(trace(op("aten::mm", 0, 5)), sort="mean_ns").rows == ()
    with pytest.raises(TraceError, match="cannot be sorted by 'share'"):
        kernels(t, sort="share")
