"""Files of all tables, in a directory or an archive, have the tables' columns."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tb_privateuse1.export import table_files, trace_tables
from tb_privateuse1.export.time_window import Window
from tb_privateuse1.trace.errors import TraceError
from tests.support import make

TRACE = make.trace(
    *(make.op(f'aten::mm,"{i}"', 10 * i, 10 * i + 5, id=i) for i in range(50)),
    make.kernel("gemm\nline", 30, 55.5, 5),
)
READERS = {"parquet": parquet.read_table, "csv": csv.read_csv}


def wanted(name: str, window: Window | None = None) -> pa.Table:
    found = trace_tables.batches(TRACE, name, window or Window())
    return pa.Table.from_batches(list(found), trace_tables.schema(name))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_an_archive_has_every_table(kind: str) -> None:
    parts = list(table_files.archive(kind, TRACE))
    assert len(parts) > len(trace_tables.COLUMNS), "it is sent piece by piece"
    with zipfile.ZipFile(io.BytesIO(b"".join(parts))) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [f"{name}.{kind}" for name in trace_tables.COLUMNS]
        ops = archive.read(f"ops.{kind}")
    found = READERS[kind](io.BytesIO(ops))
    assert found.column("name").to_pylist() == wanted("ops").column("name").to_pylist()
    assert found.column("end_ns").to_pylist() == wanted("ops").column("end_ns").to_pylist()
    if kind == "parquet":
        assert found.equals(wanted("ops"))


def test_a_directory_of_a_window(tmp_path: Path) -> None:
    window = Window(100_000, 200_000)
    table_files.directory("parquet", str(tmp_path / "new" / "out"), TRACE, window)
    found = {path.name for path in (tmp_path / "new" / "out").iterdir()}
    assert found == {f"{name}.parquet" for name in trace_tables.COLUMNS}
    ops = parquet.read_table(tmp_path / "new" / "out" / "ops.parquet")
    assert ops.equals(wanted("ops", window))
    assert ops.column("row").to_pylist() == list(range(10, 20))


def test_csv_lines(tmp_path: Path) -> None:
    table_files.directory("csv", str(tmp_path), TRACE, Window(0, 5_000))
    head, line = (tmp_path / "ops.csv").read_text().splitlines()
    assert head.startswith('"row","name","kind","start_ns"')
    assert line.startswith('0,"aten::mm,""0""","operator",0,5000,5000,')
    assert ",," in line, "what is not known is empty"


def test_csv_has_no_formulas(tmp_path: Path) -> None:
    names = ["=1+1", "+1", "-1", "@f", "\tx", "\rx", "a=b", "'=1"]
    trace = make.trace(*(make.op(name, 10 * i, 5) for i, name in enumerate(names)))
    table_files.directory("csv", str(tmp_path), trace)
    found = csv.read_csv(
        tmp_path / "ops.csv", parse_options=csv.ParseOptions(newlines_in_values=True)
    )
    expected = ["'=1+1", "'+1", "'-1", "'@f", "'\tx", "'\rx", "a=b", "'=1"]
    assert found.column("name").to_pylist() == expected
    assert found.column("start_ns").to_pylist() == [10_000 * i for i in range(8)]
    table_files.directory("parquet", str(tmp_path), trace)
    exact = parquet.read_table(tmp_path / "ops.parquet").column("name").to_pylist()
    assert exact == names


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError) as caught:
        table_files.directory("csv", str(tmp_path / "file" / "out"), TRACE)
    assert caught.value.code == "unwritable"
