"""Databases of rocprofv3: totals equal plain SQL, and links are those of the tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

import tb_privateuse1 as tbp
from tb_privateuse1 import readers
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import KERNEL, MEMCPY, Trace
from tests.support.ascend import edited
from tests.support.read_traces import texts, trace_of
from tests.support.rocprof import COPY_BYTES, GUID, MAIN, PID, START_NS, Program

_OTHER = "_11111111_565d_765d_bc41_19a2073d19ee"


@pytest.fixture(params=[3, 4])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return Program(version=request.param).database(tmp_path / "4376_results.db")


@pytest.fixture
def trace(path: Path) -> Trace:
    return trace_of(path)


def test_totals_equal_plain_sql(tmp_path: Path) -> None:
    path = Program().database(tmp_path / "a.db")
    trace = trace_of(path)
    kernels, calls = trace.kernels, trace.launches
    length, work = kernels.end_ns - kernels.start_ns, kernels.kind == KERNEL
    with edited(path) as connection:
        plain = connection.execute(
            "SELECT count(*), sum(end - start) FROM rocpd_kernel_dispatch"
        ).fetchall()
        copied = connection.execute(
            "SELECT count(*), sum(end - start), sum(size) FROM rocpd_memory_copy"
        ).fetchall()
        called = connection.execute(
            "SELECT count(*), sum(end - start) FROM rocpd_region r JOIN rocpd_string s "
            "ON s.id = r.name_id WHERE s.string LIKE 'hip%'"
        ).fetchall()
    assert plain == [(int(work.sum()), int(length[work].sum()))]
    copies = kernels.kind == MEMCPY
    assert copied == [
        (int(copies.sum()), int(length[copies].sum()), int(kernels.bytes[copies].sum()))
    ]
    assert called == [(len(calls), int((calls.end_ns - calls.start_ns).sum()))]


def test_both_schemas_give_the_same_trace(tmp_path: Path) -> None:
    old = trace_of(Program(version=3).database(tmp_path / "a.db"))
    new = trace_of(Program(version=4).database(tmp_path / "b.db"))
    for table, columns in (
        ("kernels", ("start_ns", "end_ns", "launch", "op", "step", "lane", "bytes")),
        ("ops", ("start_ns", "end_ns", "kind", "thread")), ("launches", ("start_ns", "op")),
    ):  # fmt: skip
        for column in columns:
            mine, other = getattr(old, table), getattr(new, table)
            assert getattr(mine, column).tolist() == getattr(other, column).tolist()
    assert texts(old, old.kernels.name) == texts(new, new.kernels.name)


def test_a_kernel_has_launch_operator_and_configuration(trace: Trace) -> None:
    kernels = trace.kernels
    row = texts(trace, kernels.name).index("void gemm<float>(float*)")
    assert trace.text(trace.launches.name[kernels.launch[row]]) == "hipLaunchKernel"
    assert trace.text(trace.ops.name[kernels.op[row]]) == "aten::mm"
    config = kernels.config[row]
    assert trace.text(trace.configs.grid[config]) == "[16,2,1]"  # 1000 by 4 in parts of 64 by 2
    assert trace.text(trace.configs.block[config]) == "[64,2,1]"
    assert trace.configs.registers[config] == 48
    assert trace.configs.shared_bytes[config] == 2048
    assert trace.base_ns == START_NS


def test_ranges_of_roctx_are_operators_and_steps(trace: Trace) -> None:
    named = Counter(texts(trace, trace.ops.name))
    assert named["aten::mm"] == 6
    assert "a mark" not in named
    assert texts(trace, trace.steps.name) == ["ProfilerStep#0", "ProfilerStep#1"]
    row = texts(trace, trace.ops.name).index("aten::mm")
    assert trace.text(trace.ops.shapes[row]) == "[[2,3],[3,4]]"
    thread = trace.ops.thread[row]
    assert trace.text(trace.threads.pid[thread]) == str(PID)
    assert trace.text(trace.threads.tid[thread]) == str(MAIN)


def test_copies_and_collectives(trace: Trace) -> None:
    kernels = trace.kernels
    copied = kernels.kind == MEMCPY
    assert set(texts(trace, kernels.name[copied])) == {"Memcpy HtoD (Host -> Device)"}
    assert set(kernels.bytes[copied].tolist()) == {COPY_BYTES}
    assert set(texts(trace, trace.collectives.kind)) == {"all_reduce"}


def test_metadata(trace: Trace) -> None:
    meta = trace.meta
    assert (meta.vendor, meta.reader, meta.hostname) == ("rocm", "rocprof", "node7")
    assert [(d["id"], d["name"]) for d in meta.devices] == [(0, "AMD Instinct MI300X")]


def test_without_streams_queues_are_lanes(tmp_path: Path) -> None:
    trace = trace_of(Program(streams=False).database(tmp_path / "a.db"))
    assert sorted(trace.lanes.stream.tolist()) == [1, 2]


def test_two_processes_of_one_database(tmp_path: Path) -> None:
    path = Program().database(tmp_path / "a.db")
    alone = trace_of(path)
    Program().database(path, ending=_OTHER)
    trace = trace_of(path)
    assert len(trace.kernels) == 2 * len(alone.kernels)
    assert "several_processes" in {finding.code for finding in trace.meta.findings}
    assert (trace.kernels.launch >= 0).all()


def test_a_row_is_read_again_with_names_for_ids(path: Path) -> None:
    run = tbp.open(path)
    record = msgspec.json.decode(run.event("launches", 0).record or "")
    assert record["table"] == f"rocpd_region{GUID}"
    assert record["name_id"] == "hipMemcpyAsync"


def test_the_database_of_rocprof_version_2_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with edited(path) as connection:
        connection.execute("CREATE TABLE rocpd_op (id INTEGER)")
        connection.execute("CREATE TABLE rocpd_string (id INTEGER, string TEXT)")
        connection.execute("CREATE TABLE rocpd_info_process (id INTEGER)")
    with pytest.raises(TraceError) as caught:
        readers.read(str(path))
    assert caught.value.code == "not_a_trace"


@pytest.mark.long
@pytest.mark.parametrize("version", [3, 4])
def test_each_table_may_be_missing(tmp_path: Path, version: int) -> None:
    program = Program(version=version)
    for number, table in enumerate(program.rows):
        path = program.database(tmp_path / f"{number}.db")
        with edited(path) as connection:
            connection.execute(f"DROP TABLE {table}{GUID}")
        if table == "rocpd_string":
            with pytest.raises(TraceError):
                readers.read(str(path))
        else:
            assert trace_of(path).meta.reader == "rocprof"
