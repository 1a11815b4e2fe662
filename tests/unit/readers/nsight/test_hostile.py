"""Exports that are damaged or made to hurt: what can be read is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1 import readers
from tb_privateuse1.readers.nsight import schema
from tb_privateuse1.trace.errors import TraceError
from tests.support.ascend import edited
from tests.support.nsight import Program
from tests.support.read_traces import codes, trace_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Program(steps=4).database(tmp_path / "a.sqlite", 512)


def test_what_is_cut_off_is_said_and_the_rest_is_shown(tmp_path: Path) -> None:
    path = Program(steps=60).database(tmp_path / "a.sqlite", 512)
    whole, data = trace_of(path), path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    trace = trace_of(path)
    assert {"truncated", "tables_damaged"} <= codes(trace)
    assert 0 < len(trace.launches) <= len(whole.launches)


def test_another_database_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with edited(path) as connection:
        connection.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)")
    with pytest.raises(TraceError) as caught:
        readers.read(str(path))
    assert caught.value.code == "not_a_trace"


@pytest.mark.parametrize("table", schema.TABLES)
def test_each_table_may_be_missing(path: Path, table: str) -> None:
    with edited(path) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    trace = trace_of(path)
    assert (table in (schema.KERNELS, schema.STRINGS)) == (not trace.kernels.communication.any())


@pytest.mark.parametrize(
    ("table", "column"),
    [("CUPTI_ACTIVITY_KIND_KERNEL", "streamId"), ("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid"),
     ("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"), ("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid"),
     ("NVTX_EVENTS", "text"), ("NVTX_EVENTS", "textId"), ("NVTX_EVENTS", "eventType"),
     ("GPU_METRICS", "typeId"), ("CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind"),
     ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "eventId")],
)  # fmt: skip
def test_each_column_may_be_missing(path: Path, table: str, column: str) -> None:
    before = len(trace_of(path).kernels)
    with edited(path) as connection:
        connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    assert len(trace_of(path).kernels) == before


def test_numbers_of_any_kind(path: Path) -> None:
    wrong = (None, "x", -5, 1e300, b"\xff\xfe", 2**63 - 1, -(2**63), "9" * 40)
    with edited(path) as connection:
        for table in schema.EVENT_TABLES:
            if table == schema.GRAPHS:
                continue
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            connection.execute(f"CREATE TABLE COPY_OF AS SELECT * FROM {table}")
            connection.execute(f"DROP TABLE {table}")  # and with it what a column must not be
            connection.execute(f"ALTER TABLE COPY_OF RENAME TO {table}")
            for place, column in enumerate(columns):
                for number, value in enumerate(wrong):
                    row = 1 + (place + number * 3) % 8
                    query = f'UPDATE {table} SET "{column}" = ? WHERE rowid = {row}'
                    connection.execute(query, (value,))
    trace = trace_of(path)
    assert "events_without_time" in codes(trace)
    assert (trace.kernels.end_ns >= trace.kernels.start_ns).all()


def test_a_name_of_endless_commas_is_read_at_once(path: Path) -> None:
    program = Program(steps=1)
    program.range(", sizes = [" * 50_000, 10, 20)
    program.range("x, sizes = " + "[" * 500_000 + "]", 10, 20)
    assert len(trace_of(program.database(path.with_name("b.sqlite"))).ops)
