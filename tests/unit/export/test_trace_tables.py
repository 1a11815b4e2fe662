"""Arrow tables: every column is described, typed, and null if unknown."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tb_privateuse1.export import trace_tables
from tb_privateuse1.export.time_window import Window
from tb_privateuse1.export.work_columns import BY_TABLE
from tb_privateuse1.trace.model import TABLES, Trace
from tests.support import make


def table(trace: Trace, name: str, window: Window | None = None) -> list[dict[str, object]]:
    found = trace_tables.batches(trace, name, window or Window())
    rows: list[dict[str, object]] = pa.Table.from_batches(
        list(found), trace_tables.schema(name)
    ).to_pylist()
    return rows


@pytest.fixture
def trace() -> Trace:
    return make.trace(
        make.op("aten::mm", 10, 40, id=7, **{"Input Dims": [[2, 3]]}),
        make.annotation("mine", 50, 60),
        make.launch(20, 25, 5),
        make.kernel("gemm", 30, 55.5, 5),
        make.kernel("Memset (Device)", 60, 61, 9, category="gpu_memset"),
        make.memory(15, -64, 192),
    )


def test_every_column_is_described() -> None:
    assert set(trace_tables.COLUMNS) == set(TABLES) - {"checkpoints"}
    for name, described in trace_tables.COLUMNS.items():
        fields = set(TABLES[name].column_types())
        if "group" in fields:  # a keyword of SQL
            fields = fields - {"group"} | {"process_group"}
        work = set(BY_TABLE[name](Trace())) if name in BY_TABLE else set()
        wanted = "its meaning in tb_privateuse1/export/trace_tables.py"
        assert set(described) - {"row", "duration_ns"} == fields | work, wanted
        assert all(described.values())


def test_rows(trace: Trace) -> None:
    mm, mine = table(trace, "ops")
    assert mm | {
        "row": 0, "name": "aten::mm", "kind": "operator", "start_ns": 0, "end_ns": 30_000,
        "duration_ns": 30_000, "external_id": 7, "shapes": "[[2,3]]", "parent": None,
        "elapsed_ns": None, "sequence": None, "stack": None,
    } == mm  # fmt: skip
    assert (mine["kind"], mine["external_id"]) == ("annotation", None)
    gemm, memset = table(trace, "kernels")
    assert (gemm["kind"], gemm["op"], gemm["launch"], gemm["bytes"]) == ("kernel", 0, 0, None)
    assert (gemm["evidence"], gemm["communication"]) == ("measured", False)
    assert (memset["kind"], memset["launch"], memset["op"]) == ("memset", None, None)
    (memory,) = table(trace, "memory")
    assert (memory["bytes"], memory["allocated_bytes"]) == (-64, 192)
    assert memory["reserved_bytes"] is None
    assert [lane["stream"] for lane in table(trace, "lanes")] == [7]


def test_how_a_kernel_was_launched() -> None:
    args = {"grid": [4, 106, 1], "block": [128, 1, 1], "registers per thread": 40}
    trace = make.trace(make.kernel("gemm", 30, 55.5, 5, **args), make.kernel("other", 60, 61, 6))
    gemm, other = table(trace, "kernels")
    configs = {row["row"]: row for row in table(trace, "configs")}
    launched = configs[gemm["config"]]
    assert (launched["grid"], launched["block"], launched["registers"]) == (
        "[4,106,1]", "[128,1,1]", 40,
    )  # fmt: skip
    assert (launched["shared_bytes"], launched["occupancy"]) == (None, None)
    assert other["config"] is None


def test_a_window_keeps_the_rows_numbers(trace: Trace) -> None:
    (mine,) = table(trace, "ops", Window(40_000, 45_000))
    assert (mine["row"], mine["name"]) == (1, "mine")


def test_all_rows_at_once_are_the_same(trace: Trace) -> None:
    strings = trace_tables.string_table(trace)
    for name in trace_tables.COLUMNS:
        assert trace_tables.whole_table(trace, name, strings).to_pylist() == table(trace, name)


def test_text_that_is_no_text() -> None:
    trace = make.trace(make.op("\ud83d", 0, 5, id=1))
    assert table(trace, "ops")[0]["name"] == "\ufffd"
    assert (
        trace_tables.whole_table(trace, "ops", trace_tables.string_table(trace)).to_pylist()[0][
            "name"
        ]
        == "\ufffd"
    )


def test_an_empty_trace_has_all_tables() -> None:
    for name in trace_tables.COLUMNS:
        assert table(Trace(), name) == []
