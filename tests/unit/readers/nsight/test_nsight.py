"""Exports of Nsight Systems: totals equal plain SQL, and links are those of the tables."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import tb_privateuse1 as tbp
from tb_privateuse1 import readers
from tb_privateuse1.readers import nsight
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import ANNOTATION, KERNEL, MEMCPY, MEMSET, OPERATOR, Trace
from tests.support.ascend import edited
from tests.support.listing import only_run
from tests.support.nsight import (
    AUTOGRAD,
    COPY_BYTES,
    FILL_BYTES,
    MAIN,
    PID,
    START_NS,
    Program,
    process,
)
from tests.support.read_traces import texts, trace_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Program().database(tmp_path / "report.sqlite")


@pytest.fixture
def trace(path: Path) -> Trace:
    return trace_of(path)


def total(path: Path, query: str) -> list[tuple[Any, ...]]:
    with edited(path) as connection:
        return connection.execute(query).fetchall()


def test_totals_equal_plain_sql(path: Path, trace: Trace) -> None:
    plain = total(
        path,
        "SELECT s.value, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
        "JOIN StringIds s ON s.id = k.demangledName GROUP BY s.value",
    )
    kernels = trace.kernels
    length = kernels.end_ns - kernels.start_ns
    work = kernels.kind == KERNEL
    count = Counter(texts(trace, kernels.name[work]))
    spent: Counter[str] = Counter()
    for name, ns in zip(texts(trace, kernels.name[work]), length[work].tolist(), strict=True):
        spent[name] += ns
    assert sorted(plain) == sorted((name, count[name], spent[name]) for name in count)
    for kind, table in ((MEMCPY, "MEMCPY"), (MEMSET, "MEMSET")):
        query = f"SELECT count(*), sum(end - start), sum(bytes) FROM CUPTI_ACTIVITY_KIND_{table}"
        mine = kernels.kind == kind
        found = (int(mine.sum()), int(length[mine].sum()), int(kernels.bytes[mine].sum()))
        assert total(path, query) == [found]
    calls = trace.launches
    query = "SELECT count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_RUNTIME"
    assert total(path, query) == [(len(calls), int((calls.end_ns - calls.start_ns).sum()))]
    operators = [":" in name or "Backward" in name for name in texts(trace, trace.ops.name)]
    query = "SELECT count(*), sum(end - start) FROM NVTX_EVENTS WHERE text LIKE '%seq = %'"
    host = trace.ops.end_ns - trace.ops.start_ns
    assert total(path, query) == [(sum(operators), int(host[operators].sum()))]


def test_times_are_exact_and_absolute(path: Path, trace: Trace) -> None:
    assert trace.base_ns == START_NS - 500  # began before the session
    starts = {
        at + START_NS for (at,) in total(path, "SELECT start FROM CUPTI_ACTIVITY_KIND_KERNEL")
    }
    assert starts <= set((trace.kernels.start_ns + trace.base_ns).tolist())


def test_without_the_time_of_day_times_are_of_the_session(path: Path, trace: Trace) -> None:
    with edited(path) as connection:
        connection.execute("DROP TABLE TARGET_INFO_SESSION_START_TIME")
    other = trace_of(path)
    assert other.base_ns == -500
    assert other.kernels.start_ns.tolist() == trace.kernels.start_ns.tolist()


def test_a_kernel_has_launch_operator_and_configuration(trace: Trace) -> None:
    kernels = trace.kernels
    row = texts(trace, kernels.name).index("void gemm<float>(float*)")
    launch = kernels.launch[row]
    assert trace.text(trace.launches.name[launch]) == "cudaLaunchKernel"
    assert trace.text(trace.ops.name[kernels.op[row]]) == "aten::mm"
    config = kernels.config[row]
    assert trace.text(trace.configs.grid[config]) == "[64,2,1]"
    assert trace.text(trace.configs.block[config]) == "[128,1,1]"
    assert trace.configs.registers[config] == 40
    assert trace.configs.shared_bytes[config] == 3072
    assert trace.text(trace.lanes.name[kernels.lane[row]]) == "device 0 stream 7"


@pytest.mark.parametrize("registered", [False, True])
def test_names_of_torch_become_operators(tmp_path: Path, registered: bool) -> None:
    trace = trace_of(Program(registered=registered).database(tmp_path / "a.sqlite"))
    named = texts(trace, trace.ops.name)
    kinds = Counter(zip(named, trace.ops.kind.tolist(), strict=True))
    assert {key: n for key, n in kinds.items() if "Step" not in key[0]} == {
        ("aten::mm", OPERATOR): 6, ("MmBackward0", OPERATOR): 2, ("forward", ANNOTATION): 2,
    }  # fmt: skip
    row = named.index("MmBackward0")
    assert trace.text(trace.ops.shapes[row]) == "[[2,3],[3,4]]"
    assert trace.ops.sequence[row] == 0
    thread = trace.ops.thread[row]
    assert trace.text(trace.threads.tid[thread]) == str(AUTOGRAD)
    assert trace.text(trace.threads.name[thread]) == "pt_autograd_0"
    assert trace.text(trace.threads.pid[thread]) == str(PID)
    assert texts(trace, trace.steps.name) == ["ProfilerStep#0", "ProfilerStep#1"]


def test_copies_have_direction_and_kinds_of_memory(trace: Trace) -> None:
    kernels = trace.kernels
    copied = kernels.kind == MEMCPY
    assert set(texts(trace, kernels.name[copied])) == {"Memcpy HtoD (Pinned -> Device)"}
    assert set(kernels.bytes[copied].tolist()) == {COPY_BYTES}
    filled = kernels.kind == MEMSET
    assert set(texts(trace, kernels.name[filled])) == {"Memset (Device)"}
    assert set(kernels.bytes[filled].tolist()) == {FILL_BYTES}


def test_collectives_are_recognized_by_their_kernels(trace: Trace) -> None:
    talk = trace.kernels.communication
    assert set(texts(trace, trace.kernels.name[talk])) == {
        "void ncclDevKernel_AllReduce_Sum_f32_RING_LL<float>(float*)"
    }
    assert set(texts(trace, trace.collectives.kind)) == {"all_reduce"}


def test_waits_name_the_stream_on_which_the_event_was_recorded(trace: Trace) -> None:
    waits = trace.event_waits
    calls = texts(trace, trace.launches.name[waits.launch])
    assert Counter(calls) == {"cudaStreamWaitEvent": 2, "cudaStreamSynchronize": 2}
    rows = [i for i, name in enumerate(calls) if name == "cudaStreamWaitEvent"]
    streams = trace.lanes.stream
    assert streams[waits.lane[rows]].tolist() == [20, 20]
    assert streams[waits.awaited_lane[rows]].tolist() == [7, 7]
    recorded = texts(trace, trace.launches.name[waits.record[rows]])
    assert recorded == ["cudaEventRecord"] * 2
    assert sorted(waits.record[rows].tolist()) == waits.record[rows].tolist()


def test_metrics_are_counters(path: Path, trace: Trace) -> None:
    series, samples = trace.counter_series, trace.counter_samples
    assert texts(trace, series.name) == [
        "SMs Active [Throughput %]", "DRAM Read Bandwidth [Throughput %]",
    ]  # fmt: skip
    assert set(texts(trace, series.process)) == {"GPU 0"}
    assert total(path, "SELECT count(*), sum(value) FROM GPU_METRICS") == [
        (len(samples), int(samples.value.sum()))
    ]


def test_metadata(trace: Trace) -> None:
    meta = trace.meta
    assert (meta.vendor, meta.reader, meta.timeline) == ("cuda", "nsight", "measured")
    assert meta.hostname == "node7"
    assert [(d["id"], d["name"], d["numSms"]) for d in meta.devices] == [
        (0, "NVIDIA H100 80GB HBM3", 132)
    ]
    assert meta.rank is None


def test_the_rank_of_mpi_is_the_rank(path: Path) -> None:
    program = Program()
    program.rows["MPI_RANKS"].append((process() | MAIN, 5))
    assert trace_of(program.database(path.with_name("b.sqlite"))).meta.rank == 5


def test_graphs_as_a_whole_are_work_of_the_device(path: Path) -> None:
    program = Program(steps=1)
    correlation = program.call("cudaGraphLaunch_v10000", 90_000, 90_100)
    program.rows["CUPTI_ACTIVITY_KIND_GRAPH_TRACE"].append(
        (90_200, 99_200, 0, 1, None, 7, correlation, process(), 4, 5)
    )
    trace = trace_of(program.database(path.with_name("b.sqlite")))
    row = texts(trace, trace.kernels.name).index("Graph 4")
    assert trace.kernels.end_ns[row] - trace.kernels.start_ns[row] == 9_000
    assert trace.text(trace.launches.name[trace.kernels.launch[row]]) == "cudaGraphLaunch"


def test_ranges_that_had_not_ended_last_until_the_end(path: Path) -> None:
    program = Program(steps=1)
    program.range("train", 10, None)
    program.range("a mark", 20, None, kind=34)
    trace = trace_of(program.database(path.with_name("b.sqlite")))
    named = texts(trace, trace.ops.name)
    assert "a mark" not in named
    row = named.index("train")
    assert trace.ops.end_ns[row] == max(trace.kernels.end_ns.max(), trace.launches.end_ns.max())
    assert "unclosed_ranges" in {finding.code for finding in trace.meta.findings}


def test_processes_of_one_report_are_kept_apart(tmp_path: Path) -> None:
    report, other = Program(), Program(pid=PID + 1)
    other.rows["TARGET_INFO_CUDA_DEVICE"] = [(1, 0, PID + 1, "", 132)]
    alone = trace_of(report.database(tmp_path / "a.sqlite"))
    report.add(other)
    trace = trace_of(report.database(tmp_path / "b.sqlite"))
    kernels = trace.kernels
    assert sorted(set(trace.lanes.device.tolist())) == [1, 3]  # as the machine numbers them
    threads = trace.threads.pid[trace.launches.thread[kernels.launch]]
    devices = trace.lanes.device[kernels.lane]
    assert set(zip(texts(trace, threads), devices.tolist(), strict=True)) == {
        (str(PID), 3), (str(PID + 1), 1),
    }  # fmt: skip
    assert len(kernels) == 2 * len(alone.kernels)
    assert "several_processes" in {finding.code for finding in trace.meta.findings}


def test_processes_on_one_device_have_streams_of_their_own(tmp_path: Path) -> None:
    report, other = Program(), Program(pid=PID + 1)
    report.add(other)
    trace = trace_of(report.database(tmp_path / "a.sqlite"))
    assert set(trace.lanes.device.tolist()) == {3}
    assert sorted(trace.lanes.stream.tolist()) == [7, 20, 1007, 1020]


def test_a_row_is_read_again_with_names_for_ids(path: Path) -> None:
    run = tbp.open(path)
    row = texts(run.trace(), run.trace().kernels.name).index("void gemm<float>(float*)")
    record = msgspec.json.decode(run.event("kernels", row).record or "")
    assert record["table"] == "CUPTI_ACTIVITY_KIND_KERNEL"
    assert record["shortName"] == "gemm"
    with pytest.raises(TraceError) as caught:
        nsight.NSIGHT.record(str(path), run.trace().checkpoints, 10**6)
    assert caught.value.code == "no_event"


def test_a_packed_export_is_read_too(path: Path) -> None:
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert len(trace_of(packed).kernels) == len(trace_of(path).kernels)


@pytest.mark.parametrize("suffix", ["nsys-rep", "qdrep"])
def test_a_report_says_how_to_export_it(tmp_path: Path, suffix: str) -> None:
    report = tmp_path / f"job.{suffix}"
    report.write_bytes(b"\x00\x01binary" * 100)
    with pytest.raises(TraceError) as caught:
        readers.read(str(report))
    assert caught.value.code == "not_exported"
    assert f"nsys export --type sqlite job.{suffix}" in (caught.value.hint or "")


def test_ranks_are_in_the_names_of_files(tmp_path: Path) -> None:
    for rank in range(2):
        Program().database(tmp_path / f"job_rank{rank}.sqlite")
        (tmp_path / f"job_rank{rank}.nsys-rep").write_bytes(b"binary")
    run = only_run(tmp_path)
    assert [worker.rank for worker in run.workers] == [0, 1]
    assert [len(worker.spans) for worker in run.workers] == [1, 1]


def test_a_report_alone_is_listed(tmp_path: Path) -> None:
    (tmp_path / "job.nsys-rep").write_bytes(b"binary")
    run = only_run(tmp_path)
    assert [worker.worker for worker in run.workers] == ["job"]


def test_strings_that_no_event_has_stay_in_the_file(path: Path) -> None:
    with edited(path) as connection:
        connection.execute("INSERT INTO StringIds VALUES (9999, 'what the program printed')")
    assert "what the program printed" not in trace_of(path).strings
    assert np.all(trace_of(path).kernels.event >= 0)
