"""Tables of what lies beside a trace: a memory snapshot's blocks, in words and without nulls."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tb_privateuse1 import inference, readers
from tb_privateuse1.export import trace_tables
from tb_privateuse1.export.recorded_columns import RECORDED
from tests.support.snapshots import Allocator, snapshot, write


def test_blocks_of_a_snapshot_are_rows(tmp_path: Path) -> None:
    allocator = Allocator()
    allocator.allocate(1000, line=10)
    allocator.free(allocator.allocate(1024))
    path = write(tmp_path / "h.1.memory_snapshot.pickle", snapshot(allocator))
    trace = inference.build_trace(readers.read(str(path)), None)
    found = trace_tables.batches(trace, "memory_blocks")
    rows = pa.Table.from_batches(list(found), trace_tables.schema("memory_blocks")).to_pylist()
    assert [(row["segment"], row["pool"], row["state"], row["bytes"]) for row in rows] == [
        (0, "small", "in_use", 1024), (0, "small", "free", (2 << 20) - 1024),
    ]  # fmt: skip
    assert [(row["stack"] or "").split(";")[0] for row in rows] == [
        "/work/model0.py(10): layer0", "",
    ]  # fmt: skip
    assert {tuple(row) for row in rows} == {tuple(RECORDED["memory_blocks"])}
