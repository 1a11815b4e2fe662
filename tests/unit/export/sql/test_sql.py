"""Queries have results; hostile ones get nothing and end in time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.export import sql
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tests.support.repeats import sampled
from tests.support.trace_files import sidecar, trace

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> TraceFiles:
    folder = tmp_path_factory.mktemp("sql")
    trace(folder / "log" / "host_0.1.pt.trace.json", rank=0)
    sidecar(folder / "log" / "host_0.1.kernel_event.json")
    return catalog.scan(str(folder / "log"), READERS).find()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def ask(files: TraceFiles, cache: Path, text: str, **limits: float) -> sql.SqlResult:
    return sql.query(files, text, store=Store(jobs=0, cache_dir=cache), **limits)  # type: ignore[arg-type]


def refused(files: TraceFiles, cache: Path, text: str, **limits: float) -> TraceError:
    with pytest.raises(TraceError) as caught:
        ask(files, cache, text, **limits)
    return caught.value


def test_it_is_the_trace(files: TraceFiles, cache: Path) -> None:
    known = Store(jobs=0, cache_dir=cache).trace(files)
    found = ask(files, cache, "select row, start_ns, duration_ns, evidence from kernels order by 1")
    assert [column.name for column in found.columns] == [
        "row", "start_ns", "duration_ns", "evidence",
    ]  # fmt: skip
    assert [row[1] for row in found.rows] == known.kernels.start_ns.tolist()
    assert not found.cut
    joined = ask(
        files, cache, "select o.name, sum(k.duration_ns) from kernels k join ops o on k.op = o.row "
        "group by all order by 1",
    )  # fmt: skip
    assert sum(int(row[1] or 0) for row in joined.rows) == int(
        (known.kernels.end_ns - known.kernels.start_ns).sum()
    )


def test_values_are_json(files: TraceFiles, cache: Path) -> None:
    found = ask(
        files, cache,
        "select 'nan'::double, 'inf'::double, 170141183460469231731687303715884105727::hugeint, "
        "1.5::decimal(4,2), 3::decimal(4,2), [1, 2], {'a': 1}, 'x'::blob, true, null, "
        "date '2020-01-02'",
    )  # fmt: skip
    assert found.rows == (
        (None, None, "170141183460469231731687303715884105727", 1.5, 3, "[1, 2]", '{"a": 1}', "78",
         True, None, "2020-01-02"),
    )  # fmt: skip


def test_rows_are_limited(files: TraceFiles, cache: Path) -> None:
    found = ask(files, cache, "select * from range(1000)", rows=10)
    assert [row[0] for row in found.rows] == list(range(10))
    assert found.cut
    assert not ask(files, cache, "select * from range(10)", rows=10).cut
    long = ask(files, cache, "select repeat('x', 100000)")
    assert len(str(long.rows[0][0])) < 70_000


@pytest.mark.parametrize(
    ("text", "says"),
    sampled([
        ("selec 1", "syntax error"),
        ("select * from nothing", "does not exist"),
        ("select 1; select 2", "One statement that reads"),
        ("", "not none"),
        ("create table t as select 1", "not CREATE"),
        ("drop view ops", "not DROP"),
        ("insert into ops select * from ops", "not INSERT"),
        ("attach '/tmp/tb_sql.db'", "not ATTACH"),
        ("copy ops to '/tmp/tb_sql.csv'", "not COPY"),
        ("export database '/tmp/tb_sql'", "not EXPORT"),
        ("install httpfs", "not LOAD"),
        ("load httpfs", "not LOAD"),
        ("pragma database_list", "One statement that reads"),
        ("set memory_limit = '100GB'", "not SET"),
        ("reset memory_limit", "One statement that reads"),
        ("call pragma_version()", "not CALL"),
        ("select * from read_csv('/etc/passwd')", "disabled"),
        ("select * from read_text('/etc/hostname')", "disabled"),
        ("select * from read_blob('/proc/self/environ')", "disabled"),
        ("select * from glob('/*')", "disabled"),
        ("select * from '/etc/passwd'", "does not exist"),
        ("select * from parquet_scan('https://example.invalid/x.parquet')", "disabled"),
        ("select getenv('HOME')", "does not exist"),
        ("select [now()]", "time zone"),
        ("select * from connection", "does not exist"),
        ("explain analyze copy ops to '/tmp/tb_sql.csv'", ""),
        ("select " + "(" * 3000 + "1" + ")" * 3000, ""),
    ], 3),
)  # fmt: skip
def test_refused_queries(files: TraceFiles, cache: Path, text: str, says: str) -> None:
    error = refused(files, cache, text)
    assert error.code == "sql_error"
    assert says in error.message
    assert not list(Path("/tmp").glob("tb_sql*"))


def test_settings_tell_no_directory(files: TraceFiles, cache: Path) -> None:
    found = ask(files, cache, "select name, value from duckdb_settings() where value like '%/%'")
    rows = [row for row in found.rows if str(Path.cwd()) in str(row[1])]
    assert rows == []
    error = refused(files, cache, "select * from duckdb_extensions()")
    assert str(Path.home()) not in error.message


@pytest.mark.parametrize(
    "text",
    sampled(
        [
            "select list_sum(range(1000000000))",  # ignores the memory limit and interruption
            "select array_agg(range) from range(1000000000)",
            "select count(*) from range(10000000) a, range(10000000) b",
            "with recursive a(n) as (select 1 union all select n + 1 from a) select max(n) from a",
            "select max(a.range || b.range) from range(1000000) a, range(1000000) b",
        ],
        2,
    ),
)
def test_endless_queries_are_killed(files: TraceFiles, cache: Path, text: str) -> None:
    error = refused(files, cache, text, seconds=2, memory_bytes=200 << 20)
    assert error.code in ("sql_timeout", "sql_memory")


def test_a_long_query_is_refused_unread(files: TraceFiles, cache: Path) -> None:
    assert refused(files, cache, "select 1" + " " * 30_000).code == "bad_option"


def test_too_many_at_once(files: TraceFiles, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        sql._running.acquire()
    try:
        assert refused(files, cache, "select 1", seconds=0.1).code == "sql_busy"
    finally:
        for _ in range(2):
            sql._running.release()
    assert ask(files, cache, "select 1").rows == ((1,),)
