"""Databases of torch_npu: totals equal plain SQL, and the trace equals that of the JSON."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import tb_privateuse1 as tbp
from tb_privateuse1.readers import ascend
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import KERNEL, MEMCPY, MISSING, Trace
from tests.support.ascend import MAIN, PID, QUEUE, Program, edited
from tests.support.read_traces import texts, trace_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Program().database(tmp_path / "ascend_pytorch_profiler_3.db")


@pytest.fixture
def trace(path: Path) -> Trace:
    return trace_of(path)


def total(path: Path, query: str) -> list[tuple[Any, ...]]:
    with edited(path) as connection:
        return connection.execute(query).fetchall()


def test_totals_equal_plain_sql(path: Path, trace: Trace) -> None:
    plain = total(
        path,
        "SELECT s.value, count(*), sum(t.endNs - t.startNs) FROM TASK t "
        "JOIN COMPUTE_TASK_INFO c USING (globalTaskId) JOIN STRING_IDS s ON s.id = c.name "
        "GROUP BY s.value UNION ALL "
        "SELECT s.value, count(*), sum(endNs - startNs) FROM COMMUNICATION_OP "
        "JOIN STRING_IDS s ON s.id = opName GROUP BY s.value",
    )
    kernels = trace.kernels
    compute = kernels.kind == KERNEL
    count = Counter(texts(trace, kernels.name[compute]))
    spent: Counter[str] = Counter()
    for name, length in zip(
        texts(trace, kernels.name[compute]),
        (kernels.end_ns - kernels.start_ns)[compute].tolist(), strict=True,
    ):  # fmt: skip
        spent[name] += length
    assert sorted(plain) == sorted((name, count[name], spent[name]) for name in count)
    host = total(
        path,
        "SELECT count(*), sum(endNs - startNs) FROM PYTORCH_API WHERE type = 50001",
    )
    own = len(trace.ops) - len(total(path, "SELECT 1 FROM MSTX_EVENTS"))
    named = [text != "a range of mine" for text in texts(trace, trace.ops.name)]
    assert host == [(own, int((trace.ops.end_ns - trace.ops.start_ns)[named].sum()))]


def test_times_are_exact_and_absolute(path: Path, trace: Trace) -> None:
    first = total(path, "SELECT min(cast(startNs AS INTEGER)) FROM PYTORCH_API")
    assert trace.base_ns == first[0][0]
    starts = total(path, "SELECT startNs FROM TASK JOIN COMPUTE_TASK_INFO USING (globalTaskId)")
    mine = trace.kernels.start_ns + trace.base_ns
    assert {at for (at,) in starts} <= set(mine.tolist())


def test_a_kernel_has_launch_operator_unit_and_cores(trace: Trace) -> None:
    kernels, named = trace.kernels, texts(trace, trace.kernels.name)
    row = named.index("aclnnMm_MatMulV3_1")
    assert trace.text(trace.launches.name[kernels.launch[row]]) == "Node@launch"
    assert trace.text(trace.ops.name[kernels.op[row]]) == "aten::mm"
    config = kernels.config[row]
    assert trace.text(trace.configs.unit[config]) == "MIX_AIC"
    assert trace.text(trace.configs.grid[config]) == "[21,1,1]"
    assert trace.text(trace.lanes.name[kernels.lane[row]]) == "device 5 stream 3"


@pytest.mark.parametrize("queue", [True, False])
def test_each_kernel_comes_from_the_operator_that_ran_then(tmp_path: Path, queue: bool) -> None:
    trace = trace_of(Program(queue=queue).database(tmp_path / "a.db"))
    products = [i for i, name in enumerate(texts(trace, trace.kernels.name)) if "MatMul" in name]
    ops = [i for i, name in enumerate(texts(trace, trace.ops.name)) if name == "aten::mm"]
    assert trace.kernels.op[products].tolist() == ops
    assert trace.ops.step[ops].tolist() == trace.kernels.step[products].tolist()
    threads = {trace.text(tid) for tid in trace.threads.tid}
    assert {str(MAIN)} | ({str(QUEUE)} if queue else set()) <= threads
    assert trace.text(trace.threads.pid[trace.ops.thread[0]]) == str(PID)


def test_waits_and_parts_of_collectives_are_no_work(trace: Trace) -> None:
    kinds = Counter(zip(trace.kernels.kind.tolist(), texts(trace, trace.kernels.name), strict=True))
    assert kinds[MEMCPY, "MEMCPY_ASYNC"] == 2  # of two more, each is a part of a collective
    assert not any(name.startswith(("NOTIFY", "EVENT")) for _, name in kinds)


def test_marks_and_what_schedules_a_collective_are_no_work(tmp_path: Path) -> None:
    program = Program(steps=1)
    before = len(trace_of(program.database(tmp_path / "a.db")).kernels)
    start, *_ = program.rows["TASK"][0]
    program._run("MsTx", start, start + 10**6, 3, 7)
    task = program._run("KERNEL_AICPU", start, start + 500, 12, 7)
    name, kind = program.id("allreduceAicpuKernel"), program.id("AI_CPU")
    path = program.database(tmp_path / "b.db")
    with edited(path) as connection:
        connection.execute(
            "CREATE TABLE COMMUNICATION_SCHEDULE_TASK_INFO (name INTEGER, "
            "globalTaskId INTEGER PRIMARY KEY, taskType INTEGER, opType INTEGER)"
        )
        connection.execute(
            "INSERT INTO COMMUNICATION_SCHEDULE_TASK_INFO VALUES (?, ?, ?, ?)",
            (name, task, kind, name),
        )
    assert len(trace_of(path).kernels) == before
    with edited(path) as connection:  # without collectives they are all there is
        connection.execute("DROP TABLE COMMUNICATION_OP")
    assert "allreduceAicpuKernel" in texts(trace_of(path), trace_of(path).kernels.name)


def test_a_collective_has_group_size_and_bytes(trace: Trace) -> None:
    rows = trace.collectives
    assert set(texts(trace, rows.kind)) == {"all_reduce"}
    assert set(texts(trace, rows.group)) == {"group_name_0"}
    assert set(rows.group_size.tolist()) == {8}
    assert set(rows.bytes.tolist()) == {2 << 20}  # 2^20 elements of FP16
    assert trace.kernels.communication[rows.kernel].all()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("allGather", 16 << 20), ("reduceScatter", 16 << 20), ("broadcast", 2 << 20),
     ("alltoall", int(MISSING))],
)  # fmt: skip
def test_the_count_of_a_collective_is_one_ranks_part(
    tmp_path: Path, kind: str, expected: int
) -> None:
    program = Program(steps=1)
    name = program.id(f"hcom_{kind}__0_1")
    (row,) = program.rows["COMMUNICATION_OP"]
    program.rows["COMMUNICATION_OP"] = [(name, *row[1:])]
    trace = trace_of(program.database(tmp_path / "a.db"))
    assert trace.collectives.bytes.tolist() == [expected]


def test_operators_have_inputs_and_stacks_as_torch_writes_them(trace: Trace) -> None:
    row = texts(trace, trace.ops.name).index("aten::mm")
    assert trace.text(trace.ops.shapes[row]) == "[[2,3],[3,4]]"
    assert trace.text(trace.ops.dtypes[row]) == '["c10::Half","c10::Half"]'
    assert trace.text(trace.ops.stack[row]) == "model.py(3): forward;train.py(9): step"


def test_stacks_that_differ_stay_different(tmp_path: Path) -> None:
    program = Program(steps=1)
    rows = program.rows["PYTORCH_CALLCHAINS"]
    rows[0], rows[1] = (*rows[0][:2], 1), (*rows[1][:2], 0)  # the frames of one change places
    trace = trace_of(program.database(tmp_path / "a.db"))
    products = [i for i, name in enumerate(texts(trace, trace.ops.name)) if name == "aten::mm"]
    stacks = texts(trace, trace.ops.stack[products])
    assert stacks[0] == "train.py(9): step;model.py(3): forward"
    assert set(stacks[1:]) == {"model.py(3): forward;train.py(9): step"}


def test_blocks_are_paired_and_belong_to_their_operators(trace: Trace) -> None:
    memory = trace.memory
    assert (len(memory), int(memory.bytes.sum())) == (12, 0)
    assert set(memory.device_type.tolist()) == {20}
    allocations = memory.bytes > 0
    assert all(name == "aten::mm" for name in texts(trace, trace.ops.name[memory.op[allocations]]))
    assert len(set(memory.address[allocations].tolist())) == 6


def test_metadata(trace: Trace) -> None:
    meta = trace.meta
    assert (meta.vendor, meta.reader, meta.timeline) == ("npu", "ascend", "measured")
    assert (meta.world_size, meta.distributed_backend, meta.hostname) == (8, "hccl", "node7")
    assert [device["name"] for device in meta.devices] == ["Ascend910B3"]
    assert texts(trace, trace.steps.name) == ["ProfilerStep#0", "ProfilerStep#1"]


def test_steps_of_a_database_without_operators(tmp_path: Path) -> None:
    program = Program()
    program.rows["PYTORCH_API"] = []
    trace = trace_of(program.database(tmp_path / "a.db"))
    assert texts(trace, trace.steps.name) == ["ProfilerStep#0", "ProfilerStep#1"]


def test_blocks_alone(tmp_path: Path) -> None:
    program = Program(steps=1)
    program.rows = {
        table: rows if table == "OP_MEMORY" else [] for table, rows in program.rows.items()
    }
    trace = trace_of(program.database(tmp_path / "a.db"))
    assert (len(trace.memory), len(trace.threads)) == (6, 1)


def test_the_trace_is_that_of_the_json(tmp_path: Path, trace: Trace) -> None:
    other = trace_of(Program().trace_view(tmp_path / "trace_view.json"))
    assert other.meta.reader == "chrome"

    def content(one: Trace) -> Any:
        kernels, launches = one.kernels, one.launches
        return sorted(zip(
            texts(one, kernels.name), kernels.start_ns.tolist(), kernels.end_ns.tolist(),
            texts(one, np.append(one.ops.name, -1)[kernels.op]), kernels.step.tolist(),
            kernels.kind.tolist(), kernels.communication.tolist(), strict=True,
        )), sorted(zip(
            texts(one, launches.name), launches.start_ns.tolist(), strict=True
        )), set(zip(
            texts(one, one.ops.name), texts(one, one.ops.shapes), texts(one, one.ops.dtypes),
            strict=True,
        )) - {("a range of mine", "", "")}  # fmt: skip

    assert content(trace) == content(other)
    for column in ("kind", "group"):
        mine, others = getattr(trace.collectives, column), getattr(other.collectives, column)
        assert texts(trace, mine) == texts(other, others)
    assert trace.collectives.bytes.tolist() == other.collectives.bytes.tolist()
    assert texts(trace, trace.steps.name) == texts(other, other.steps.name)


def test_a_row_is_read_again_with_names_for_ids(path: Path) -> None:
    run = tbp.open(path)
    row = texts(run.trace(), run.trace().kernels.name).index("aclnnMm_MatMulV3_1")
    record = msgspec.json.decode(run.event("kernels", row).record or "")
    assert (record["table"], record["taskType"]) == ("TASK", "KERNEL_AICORE")
    assert record["COMPUTE_TASK_INFO"]["inputShapes"] == '"2,3;3,4"'
    operator = msgspec.json.decode(run.event("ops", 1).record or "")
    assert (operator["table"], operator["name"]) == ("PYTORCH_API", "aten::mm")
    with pytest.raises(TraceError) as caught:
        ascend.ASCEND.record(str(path), run.trace().checkpoints, 10**6)
    assert caught.value.code == "no_event"


def test_a_packed_database_is_read_too(path: Path) -> None:
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert len(trace_of(packed).kernels) == len(trace_of(path).kernels)


def test_earlier_names_of_columns(tmp_path: Path) -> None:
    path = Program().database(tmp_path / "a.db")
    with edited(path) as connection:
        connection.execute("ALTER TABLE COMPUTE_TASK_INFO RENAME blockDim TO block_dim")
        connection.execute("ALTER TABLE PYTORCH_API DROP COLUMN type")
    trace = trace_of(path)
    assert trace.text(trace.configs.grid[trace.kernels.config[0]]) == "[20,1,1]"
    assert len(trace.ops) == len(trace_of(Program().database(tmp_path / "b.db")).ops)
