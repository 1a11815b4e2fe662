"""Recordings of Ascend's torch_npu, by the documented schema: ``Program().folder(path, rank=3)``.

One program of operators, a task queue, calls of CANN, tasks, a collective and blocks of memory is
written in each of the forms that the tool has: database, ``trace_view.json``, and tables.
"""

from __future__ import annotations

import contextlib
import csv
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BASE_NS = 1_704_161_511_420_306_491
PID, MAIN, QUEUE = 4376, 4376, 4390
NONE = 4294967295
STAMP = "20240102030405678"
HOST_CONNECTIONS = 5 << 28

SCHEMA = {
    "STRING_IDS": "id INTEGER PRIMARY KEY, value TEXT",
    "NPU_INFO": "id INTEGER, name TEXT",
    "HOST_INFO": "hostUid TEXT, hostName TEXT",
    "META_DATA": "name TEXT, value TEXT",
    "RANK_DEVICE_MAP": "rankId INTEGER, deviceId INTEGER",
    "STEP_TIME": "id INTEGER, startNs INTEGER, endNs INTEGER",
    "ENUM_HCCL_DATA_TYPE": "id INTEGER PRIMARY KEY, name TEXT",
    "CONNECTION_IDS": "id INTEGER, connectionId INTEGER",
    "PYTORCH_CALLCHAINS": "id INTEGER, stack INTEGER, stackDepth INTEGER",
    "PYTORCH_API": "startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, "
    "name INTEGER, sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, "
    "inputShapes INTEGER, callchainId INTEGER, type INTEGER",
    "CANN_API": "startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, "
    "connectionId INTEGER PRIMARY KEY, name INTEGER",
    "TASK": "startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, "
    "globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, contextId INTEGER, "
    "streamId INTEGER, taskId INTEGER, modelId INTEGER",
    "COMPUTE_TASK_INFO": "name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER, "
    "mixBlockDim INTEGER, taskType INTEGER, opType INTEGER, inputFormats INTEGER, "
    "inputDataTypes INTEGER, inputShapes INTEGER, outputFormats INTEGER, "
    "outputDataTypes INTEGER, outputShapes INTEGER",
    "MEMCPY_INFO": "globalTaskId NUMERIC, size NUMERIC, memcpyOperation NUMERIC",
    "COMMUNICATION_TASK_INFO": "name INTEGER, globalTaskId INTEGER, taskType INTEGER, "
    "planeId INTEGER, groupName INTEGER, size INTEGER, opId INTEGER",
    "COMMUNICATION_OP": "opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, "
    "groupName INTEGER, opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, "
    "dataType INTEGER, algType INTEGER, count NUMERIC, opType INTEGER",
    "MSTX_EVENTS": "startNs INTEGER, endNs INTEGER, eventType INTEGER, rangeId INTEGER, "
    "category INTEGER, message INTEGER, globalTid INTEGER, endGlobalTid INTEGER, "
    "domainId INTEGER, connectionId INTEGER",
    "OP_MEMORY": "name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, "
    "activeReleaseTime INTEGER, duration INTEGER, activeDuration INTEGER, "
    "allocationTotalAllocated INTEGER, allocationTotalReserved INTEGER, "
    "allocationTotalActive INTEGER, releaseTotalAllocated INTEGER, releaseTotalReserved INTEGER, "
    "releaseTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER",
    "AICORE_FREQ": "deviceId INTEGER, timestampNs NUMERIC, freq INTEGER",
    "HBM": "deviceId INTEGER, timestampNs INTEGER, bandwidth NUMERIC, hbmId INTEGER, type INTEGER",
    "LLC": "deviceId INTEGER, llcId INTEGER, timestampNs INTEGER, hitRate REAL, "
    "throughput INTEGER, mode INTEGER",
    "NPU_MEM": "type INTEGER, ddr NUMERIC, hbm NUMERIC, timestampNs INTEGER, deviceId INTEGER",
}
"""The tables of the documentation that hold what is written here."""

_GROUP = "group_name_0"
_MIB = 1 << 20


def tid(thread: int) -> int:
    """The tool's id of a thread of the host."""
    return PID << 32 | thread


@dataclass
class Program:
    """A program of some steps, each with matrix products, one copy, a wait and a collective.

    ``queue``: operators enqueue, and another thread calls CANN.
    """

    steps: int = 2
    products: int = 3
    device: int = 5
    queue: bool = True
    ranks: int = 8
    rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    kernels: list[tuple[Any, ...]] = field(default_factory=list)
    _strings: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = {table: [] for table in SCHEMA}
        self._connection = 0
        self._task = 0
        self._at = BASE_NS
        self._device_at = BASE_NS
        for number in range(self.steps):
            self._step(number)
        self._facts()

    def database(self, path: Path, page_bytes: int = 1024) -> Path:
        """Write the database; strings are last, as the tool writes them."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rows["STRING_IDS"] = [(i, text) for text, i in self._strings.items()]
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA page_size={page_bytes}")
        for table, columns in SCHEMA.items():
            connection.execute(f"CREATE TABLE {table} ({columns})")
        for table, rows in sorted(self.rows.items(), key=lambda item: item[0] == "STRING_IDS"):
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        connection.commit()
        connection.close()
        return path

    def trace_view(self, path: Path) -> Path:
        """Write the same as Chrome trace JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.events + _processes(self.device)))
        return path

    def folder(self, place: Path, rank: int = 0, forms: tuple[str, ...] = ("db", "json", "csv"),
               worker: str = "host_4376", stamp: str = STAMP) -> Path:  # fmt: skip
        """Write the folder of a rank below a directory."""
        folder = place / f"{worker}_{stamp}_ascend_pt"
        output = folder / "ASCEND_PROFILER_OUTPUT"
        output.mkdir(parents=True)
        info = {"rank_id": rank, "config": {"common_config": {"with_stack": False}}}
        (folder / f"profiler_info_{rank}.json").write_text(json.dumps(info))
        (folder / "profiler_metadata.json").write_text(json.dumps(self._groups()))
        self.rows["RANK_DEVICE_MAP"] = [(rank, self.device)]
        if "db" in forms:
            self.database(output / f"ascend_pytorch_profiler_{rank}.db")
        if "json" in forms:
            self.trace_view(output / "trace_view.json")
        if "csv" in forms:
            self.tables(output)
        return folder

    def tables(self, output: Path) -> None:
        """Write ``kernel_details.csv`` and ``operator_memory.csv``."""
        _write(
            output / "kernel_details.csv",
            ["Step Id", "Device_id", "Name", "Type", "Accelerator Core", "Start Time(us)",
             "Duration(us)", "Wait Time(us)", "Block Num", "Input Shapes"],
            [(1, self.device, name, kind, unit, f"{us(start)}\t", (end - start) / 1000, 0, cores,
              '"2,3;3,4"') for name, kind, unit, start, end, cores in self.kernels],
        )  # fmt: skip
        names = {i: text for text, i in self._strings.items()}
        blocks = []
        for row in self.rows["OP_MEMORY"]:
            times = [f"{us(at)}\t" if at is not None else "" for at in row[2:7]]
            totals = [n / _MIB if n is not None else "" for n in row[7:13]]
            blocks.append((names[row[0]], row[1] / 1024, *times, *totals, 7, f"NPU:{row[14]}"))
        _write(
            output / "operator_memory.csv",
            ["Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)",
             "Active Release Time(us)", "Duration(us)", "Active Duration(us)",
             "Allocation Total Allocated(MB)", "Allocation Total Reserved(MB)",
             "Allocation Total Active(MB)", "Release Total Allocated(MB)",
             "Release Total Reserved(MB)", "Release Total Active(MB)", "Stream Ptr",
             "Device Type"],
            blocks,
        )  # fmt: skip

    def _step(self, number: int) -> None:
        start = self._at
        for product in range(self.products):
            self._product(product)
        self._collective(number)
        self._at += 5_000
        self._range(f"ProfilerStep#{number}", start, self._at)
        self.rows["STEP_TIME"].append((number, start, self._at))
        for at in range(start, self._at, 20_000):
            self._sample(at)

    def _sample(self, at: int) -> None:
        """The device's clock, bandwidths and memory at a time."""
        device, part = self.device, at % 7
        self.rows["AICORE_FREQ"].append((device, at, 1800 - 100 * part))
        for kind in ("read", "write"):
            self.rows["HBM"].append((device, at, 1e9 * part, 0, self.id(kind)))
        self.rows["LLC"].append((device, 0, at, 0.25 + part / 100, 1 << 30, self.id("read")))
        self.rows["NPU_MEM"].append((self.id("APP"), 0, (part + 1) << 30, at, device))

    def _product(self, number: int) -> None:
        """An operator whose kernel is launched by the queue's thread or by its own."""
        start, self._at = self._at, self._at + 40_123
        launch = (start + 12_000, start + 21_001)
        connection = self._next_connection()
        host = len(self.rows["CONNECTION_IDS"])
        self.rows["CONNECTION_IDS"].append((host, connection))
        chain = len(self.rows["PYTORCH_CALLCHAINS"]) // 2
        self.rows["PYTORCH_CALLCHAINS"] += [
            (chain, self.id("model.py(3): forward"), 0),
            (chain, self.id("train.py(9): step"), 1),
        ]
        self._range("aten::mm", start, self._at - 100, connection=host, chain=chain)
        thread = QUEUE if self.queue else MAIN
        if self.queue:
            self._queued(start + 3_000, launch)
        self._call("aclnnMm", 20000, launch[0] - 500, launch[1] + 500, thread)
        self._call("launch", 10000, *launch, thread, connection)
        kind = ("AI_CORE", "MIX_AIC", "AI_VECTOR_CORE")[number % 3]
        self._device_at = max(self._device_at, launch[1]) + 1_000
        stop = self._device_at + 20_000 + 7 * number
        task = self._run("KERNEL_AICORE", self._device_at, stop, 3, connection)
        name = f"aclnnMm_MatMulV3_{number}"
        ids = [self.id(t) for t in ("MatMulV3", "ND;ND", "FLOAT16;FLOAT16", '"2,3;3,4"')]
        self.rows["COMPUTE_TASK_INFO"].append(
            (self.id(name), task, 20 + number, 0, self.id(kind), *ids, ids[1], ids[2], ids[3])
        )
        self.kernels.append((name, "MatMulV3", kind, self._device_at, stop, 20 + number))
        self._hardware(name, self._device_at, stop, 3, launch[0], thread, start)
        self._device_at = stop
        self._run("EVENT_WAIT", stop, stop + 500, 3, NONE)
        self._hardware("EVENT_WAIT", stop, stop + 500, 3)
        total = number * _MIB
        self.rows["OP_MEMORY"].append(
            (self.id("aten::mm"), 512 * (number + 1), start + 1_000, self._at + 9_000, None,
             self._at + 8_000 - start, None, total + 512, 2 * _MIB, total, total, 2 * _MIB, total,
             7, self.device)
        )  # fmt: skip

    def _queued(self, start: int, launch: tuple[int, int]) -> None:
        number = len(self.rows["CANN_API"])
        real = HOST_CONNECTIONS + number
        for kind, begin, end, thread in (
            ("Enqueue", start, start + 1_000, MAIN),
            ("Dequeue@aclnnMm", launch[0] - 2_000, launch[1] + 2_000, QUEUE),
        ):
            row = 1000 + len(self.rows["CONNECTION_IDS"])
            self.rows["CONNECTION_IDS"].append((row, real))
            self._range(kind, begin, end, thread, row, kind=50002)
            phase = "s" if kind == "Enqueue" else "f"
            self.events.append(_end("async_task_queue", phase, number, PID, thread, begin))

    def _collective(self, number: int) -> None:
        """An all-reduce of two tasks on a plane, and a copy, both launched by the main thread."""
        start, self._at = self._at, self._at + 30_000
        connection = self._next_connection()
        self._call("hcom_allReduce_", 5500, start + 1_000, start + 9_000, MAIN, connection)
        begin = max(self._device_at, start + 10_000)
        name = f"hcom_allReduce__{number}_1"
        for at, kind in ((begin, "NOTIFY_WAIT"), (begin + 3_000, "MEMCPY_ASYNC")):
            task = self._run(kind, at, at + 2_500, 9, connection)
            self.rows["COMMUNICATION_TASK_INFO"].append(
                (self.id(kind), task, self.id(kind), 0, self.id(_GROUP), 4096, number)
            )
        self.rows["COMMUNICATION_OP"].append(
            (self.id(name), begin, begin + 6_001, connection, self.id(_GROUP), number, 0, 0, 3,
             self.id("MESH-RING"), 1 << 20, self.id("hcom_allReduce_"))
        )  # fmt: skip
        sends = {"data_type": "FP16", "alg_type": "MESH-RING", "count": 1 << 20}
        whole = _span(9_000 + self.device, 1, name, begin, begin + 6_001)
        self.events.append(whole | {"args": sends})
        copy = self._next_connection()
        self._call("aclrtMemcpyAsync", 20000, start + 12_000, start + 14_000, MAIN, copy)
        task = self._run("MEMCPY_ASYNC", begin + 7_000, begin + 9_000, 4, copy)
        self.rows["MEMCPY_INFO"].append((task, 65_536, 1))
        self._hardware("MEMCPY_ASYNC", begin + 7_000, begin + 9_000, 4, start + 12_000, MAIN)
        self._device_at = begin + 9_000
        mark = self.id("a range of mine")
        self.rows["MSTX_EVENTS"].append(
            (start, self._at - 10, 2, number, NONE, mark, tid(MAIN), tid(MAIN), 0, NONE)
        )

    def _range(self, name: str, start: int, end: int, thread: int = MAIN,
               connection: int | None = None, chain: int | None = None,
               kind: int = 50001) -> None:  # fmt: skip
        inputs = kind == 50001 and name.startswith("aten")
        self.rows["PYTORCH_API"].append(
            (str(start), str(end), tid(thread), connection, self.id(name), -1, 0,
             self.id("c10::Half;\r\nc10::Half") if inputs else None,
             self.id("2,3;\r\n3,4") if inputs else None, chain, kind)
        )  # fmt: skip
        category = {50001: "cpu_op"}.get(kind, name.partition("@")[0].lower())
        texts = {"Input type": "c10::Half;\r\nc10::Half", "Input Dims": "2,3;\r\n3,4"}
        arguments = {"cat": category, "args": texts if inputs else {}}
        self.events.append(_span(PID, thread, name, start, end) | arguments)

    def _call(self, name: str, level: int, start: int, end: int, thread: int,
              connection: int | None = None) -> None:  # fmt: skip
        if connection is None:
            connection = self._next_connection()
        self.rows["CANN_API"].append((start, end, level, tid(thread), connection, self.id(name)))
        titles = {20000: "AscendCL", 10000: "Node", 5500: "Communication"}
        self.events.append(_span(10_002, thread, f"{titles[level]}@{name}", start, end))

    def _run(self, kind: str, start: int, end: int, stream: int, connection: int) -> int:
        self._task += 1
        self.rows["TASK"].append(
            (start, end, self.device, connection, self._task, PID, self.id(kind), NONE, stream,
             self._task, NONE)
        )  # fmt: skip
        return self._task

    def _hardware(self, name: str, start: int, end: int, stream: int, launch: int | None = None,
                  thread: int = MAIN, operator: int | None = None) -> None:  # fmt: skip
        device = 700 + self.device
        self.events.append(_span(device, stream, name, start, end))
        if launch is not None:
            self.events.append(_end("HostToDevice", "s", start, 10_002, thread, launch))
            self.events.append(_end("HostToDevice", "f", start, device, stream, start))
        if operator is not None:
            self.events.append(_end("async_npu", "s", start, PID, MAIN, operator))
            self.events.append(_end("async_npu", "f", start, device, stream, start))

    def _facts(self) -> None:
        self.rows["NPU_INFO"] = [(self.device, "Ascend910B3")]
        self.rows["HOST_INFO"] = [("1", "node7")]
        self.rows["RANK_DEVICE_MAP"] = [(0, self.device)]
        self.rows["META_DATA"] = [(k, json.dumps(v)) for k, v in self._groups().items()]
        self.rows["ENUM_HCCL_DATA_TYPE"] = [(0, "INT8"), (3, "FP16"), (4, "FP32")]

    def _groups(self) -> dict[str, Any]:
        members = list(range(self.ranks))
        group = {"group_name": "default_group", "group_rank": 0, "global_ranks": members}
        return {"parallel_group_info": {_GROUP: group}}

    def _next_connection(self) -> int:
        self._connection += 1
        return self._connection

    def id(self, text: str) -> int:
        """The database's id of a string."""
        return self._strings.setdefault(text, len(self._strings))


@contextlib.contextmanager
def edited(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database to change it or to ask it, and close it."""
    connection = sqlite3.connect(path)
    try:
        yield connection
        connection.commit()
    finally:
        connection.close()


def us(ns: int) -> str:
    """A time as the tool writes it."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def _span(pid: int, thread: int, name: str, start: int, end: int) -> dict[str, Any]:
    event = {"ph": "X", "pid": pid, "tid": thread, "name": name, "ts": us(start)}
    return event | {"dur": (end - start) / 1000}


def _end(category: str, phase: str, number: int, pid: int, thread: int, at: int) -> dict[str, Any]:
    return {"ph": phase, "cat": category, "name": category, "id": number, "pid": pid,
            "tid": thread, "ts": us(at), "bp": "e"}  # fmt: skip


def _processes(device: int) -> list[dict[str, Any]]:
    names = {PID: "Python", 700 + device: "Ascend Hardware", 10_002: "CANN",
             9_000 + device: "Communication"}  # fmt: skip
    events = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        for pid, name in names.items()
    ]
    group = {"name": f"Group {_GROUP} Communication"}
    return [*events, {"ph": "M", "name": "thread_name", "pid": 9_000 + device, "tid": 1,
                      "args": group}]  # fmt: skip


def _write(path: Path, header: list[str], rows: list[tuple[Any, ...]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
