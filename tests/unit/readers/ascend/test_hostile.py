"""Databases that are damaged or made to hurt: what can be read is shown, and nothing else runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1 import readers
from tb_privateuse1.readers.ascend import schema
from tb_privateuse1.readers.sqlite.database import Database
from tb_privateuse1.trace.errors import TraceError
from tests.support.ascend import Program, edited
from tests.support.read_traces import codes, trace_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Program(steps=4).database(tmp_path / "a.db", 512)


def test_what_is_cut_off_is_said_and_the_rest_is_shown(tmp_path: Path) -> None:
    path = Program(steps=60).database(tmp_path / "a.db", 512)
    whole, data = trace_of(path), path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    trace = trace_of(path)
    assert {"truncated", "tables_damaged"} <= codes(trace)
    # Without its name a call of the task queue is a range like others.
    ranges, of_whole = (len(one.ops) + len(one.launches) for one in (trace, whole))
    assert 0 < ranges <= of_whole


def test_a_task_without_a_name_is_not_taken_for_work(path: Path) -> None:
    with edited(path) as connection:
        connection.execute("DELETE FROM STRING_IDS")
    trace = trace_of(path)
    assert "names_missing" in codes(trace)
    assert len(trace.kernels) == 4  # the collectives


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100, b"SQLite format 3\0"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        readers.read(str(path))
    assert caught.value.code in ("not_a_database", "not_a_trace")


def test_another_database_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with edited(path) as connection:
        connection.execute("CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT)")
    with pytest.raises(TraceError) as caught:
        readers.read(str(path))
    assert caught.value.code == "not_a_trace"
    assert "analysis.db" in (caught.value.hint or "")
    with pytest.raises(TraceError) as caught:
        readers.read(str(tmp_path / "missing.db"))
    assert caught.value.code == "unreadable"


def test_a_view_is_no_table(path: Path) -> None:
    with edited(path) as connection:
        connection.execute("ALTER TABLE TASK RENAME TO HIDDEN")
        connection.execute(
            "CREATE VIEW TASK AS WITH RECURSIVE t(n) AS "
            "(SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n AS startNs FROM t"
        )
    trace = trace_of(path)
    assert len(trace.kernels) == 4  # the collectives
    assert len(trace.ops) == len(trace_of(Program(steps=4).database(path.parent / "b.db")).ops)


def test_a_computed_column_is_not_read(path: Path) -> None:
    with edited(path) as connection:
        connection.execute("ALTER TABLE TASK DROP COLUMN streamId")
        connection.execute(
            "ALTER TABLE TASK ADD COLUMN streamId AS (length(hex(zeroblob(500000000))))"
        )
    assert set(trace_of(path).lanes.stream.tolist()) & {3, 9} == set()


def test_an_index_that_is_wrong_changes_nothing(path: Path) -> None:
    before = len(trace_of(path).kernels)
    with edited(path) as connection:
        connection.execute("CREATE INDEX part ON TASK(startNs, endNs) WHERE startNs < 5")
    assert len(trace_of(path).kernels) == before


def test_nothing_is_written_beside_it(path: Path) -> None:
    path.with_name("a.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\0" * 504)
    before = {p.name: p.stat().st_mtime_ns for p in path.parent.iterdir()}
    trace_of(path)
    assert {p.name: p.stat().st_mtime_ns for p in path.parent.iterdir()} == before


def test_pages_that_repeat_are_bounded(path: Path) -> None:
    """An interior page whose children are all the same page has more rows than the file has."""
    data = bytearray(path.read_bytes())
    with edited(path) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'PYTORCH_API'"
        ).fetchone()
    page = data[(root - 1) * 512 : root * 512]
    assert page[0] == 5, "an interior page"
    cells = int.from_bytes(page[3:5], "big")
    last = page[8:12]
    for number in range(cells):
        at = int.from_bytes(page[12 + 2 * number : 14 + 2 * number], "big")
        page[at : at + 4] = last
    data[(root - 1) * 512 : root * 512] = page
    path.write_bytes(data)
    assert len(trace_of(path).ops) <= len(data) // 6


def test_numbers_of_any_kind(path: Path) -> None:
    wrong = (None, "x", -5, 1e300, b"\xff\xfe", 2**63 - 1, "9" * 40)
    with edited(path) as connection:
        for number, value in enumerate(wrong, 1):
            connection.execute(f"UPDATE TASK SET startNs = ? WHERE rowid = {number}", (value,))
            for table, column in (
                ("PYTORCH_API", "name"), ("CANN_API", "globalTid"), ("COMMUNICATION_OP", "count"),
                ("OP_MEMORY", "size"), ("CONNECTION_IDS", "connectionId"), ("TASK", "streamId"),
                ("STRING_IDS", "value"), ("COMMUNICATION_OP", "groupName"),
            ):  # fmt: skip
                query = f"UPDATE {table} SET {column} = ? WHERE rowid = {number + 9}"
                if table == "COMMUNICATION_OP":
                    query = f"UPDATE {table} SET {column} = ? WHERE opId = {number % 4}"
                connection.execute(query, (value,))
    trace = trace_of(path)
    assert "events_without_time" in codes(trace)
    assert (trace.kernels.end_ns >= trace.kernels.start_ns).all()


def test_reading_can_be_canceled(path: Path) -> None:
    class Stop(Exception):
        pass

    def progress(*_: object) -> None:
        raise Stop

    with pytest.raises(Stop):
        readers.read(str(path), progress)


def test_tables_of_the_list_are_the_documented_ones(path: Path) -> None:
    database = Database(str(path), "a.db")
    missing = [table for table in schema.TABLES if not database.has(table)]
    assert missing == [schema.SCHEDULES]
    database.close()


def test_ids_at_the_end_of_what_a_number_holds(path: Path) -> None:
    with edited(path) as connection:
        for number in (-(2**63), 2**63 - 1):
            connection.execute("INSERT INTO PYTORCH_CALLCHAINS VALUES (?, ?, ?)", (number,) * 3)
            connection.execute("INSERT INTO CONNECTION_IDS VALUES (?, ?)", (number,) * 2)
    before = trace_of(Program(steps=4).database(path.parent / "b.db"))
    assert trace_of(path).ops.stack.tolist() == before.ops.stack.tolist()


def test_a_table_whose_definition_is_damaged_is_said(tmp_path: Path) -> None:
    path = Program().database(tmp_path / "a.db", 512)
    data = path.read_bytes()
    at = data.index(b"CREATE TABLE TASK (")
    path.write_bytes(data[:at] + b"CREATE TABLE TASK {" + data[at + 19 :])
    with pytest.raises(TraceError) as caught:
        readers.read(str(path))
    assert caught.value.code == "not_a_database"
    path.write_bytes(path.read_bytes()[:-600])  # one that is cut off is read leniently
    assert "tables_damaged" in codes(trace_of(path))
