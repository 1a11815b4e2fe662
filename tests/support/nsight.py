"""Exports of Nsight Systems by the documented schema: ``Program().database(path)``.

A program of steps with operators as ``emit_nvtx`` names them, calls of the runtime, kernels,
copies, a fill, a collective, waits, and samples of a GPU's metrics.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

START_NS = 1_704_161_511_420_306_491
PID, MAIN, AUTOGRAD = 4376, 4376, 4390
_WHERE = (
    "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
    "contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, "
    "correlationId INTEGER, globalPid INTEGER"
)

SCHEMA = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT",
    "ThreadNames": "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER",
    "TARGET_INFO_SYSTEM_ENV": "globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, "
    "nameEnum INTEGER NOT NULL, value TEXT NOT NULL",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
    "TARGET_INFO_GPU": "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, "
    "totalMemory INTEGER, smCount INTEGER, computeMajor INTEGER, computeMinor INTEGER, "
    "threadsPerWarp INTEGER, maxThreadsPerBlock INTEGER, maxRegistersPerSm INTEGER, "
    "maxShmemPerSm INTEGER",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, "
    "uuid TEXT, numMultiprocessors INTEGER",
    "META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
    "ENUM_CUDA_MEM_KIND": "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT",
    "MPI_RANKS": "globalTid INTEGER, rank INTEGER NOT NULL",
    "TARGET_INFO_GPU_METRICS": "typeId INTEGER NOT NULL, sourceId INTEGER NOT NULL, "
    "typeName TEXT NOT NULL, metricId INTEGER NOT NULL, metricName TEXT NOT NULL",
    "GPU_METRICS": "rawTimestamp INTEGER NOT NULL, timestamp INTEGER NOT NULL, "
    "typeId INTEGER NOT NULL, metricId INTEGER NOT NULL, value INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER NOT NULL, end INTEGER NOT NULL, "
    "eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, "
    "nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER",
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{_WHERE}, demangledName INTEGER NOT NULL, "
    "shortName INTEGER NOT NULL, mangledName INTEGER, registersPerThread INTEGER NOT NULL, "
    "gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, "
    "blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, "
    "staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, "
    "graphNodeId INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_WHERE}, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, "
    "srcKind INTEGER, dstKind INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_WHERE}, value INTEGER NOT NULL, bytes INTEGER NOT NULL, "
    "graphNodeId INTEGER, memKind INTEGER",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{_WHERE}, graphId INTEGER NOT NULL, "
    "graphExecId INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_WHERE}, syncType INTEGER NOT NULL, "
    "eventId INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
    "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
    "eventId INTEGER NOT NULL",
    "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, "
    "rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, "
    "endGlobalTid INTEGER, textId INTEGER, domainId INTEGER",
}
"""The tables of the documentation that hold what is written here; unread columns are left out."""

COPY_BYTES, FILL_BYTES = 1 << 20, 4096


def process(pid: int = PID) -> int:
    """The tool's id of a process."""
    return 1 << 56 | 1 << 48 | pid << 24


@dataclass
class Program:
    """Steps of a product forward and backward, a copy, a collective and a wait for its event."""

    steps: int = 2
    products: int = 3
    pid: int = PID
    device: int = 0
    registered: bool = False
    """Whether the report has the names of ranges as ids of strings."""
    rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    strings: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = {table: [] for table in SCHEMA}
        self._correlation = 0
        self._at = -500  # the first call had begun before the session
        self._device_at = 0
        self._operator = 0
        for number in range(self.steps):
            self._step(number)
        self._facts()

    def id(self, text: str) -> int:
        """The id of a string, which is added if it is new."""
        return self.strings.setdefault(text, len(self.strings) + 1)

    def add(self, other: Program) -> None:
        """Take the events of another process into this report."""
        names = {number: text for text, number in other.strings.items()}
        columns = {table: [part.split()[0] for part in text.split(", ")]
                   for table, text in SCHEMA.items()}  # fmt: skip
        shared = ("TARGET_INFO_GPU", "TARGET_INFO_SESSION_START_TIME", "ENUM_CUDA_MEM_KIND")
        for table, rows in other.rows.items():
            if table in shared:
                continue
            named = [i for i, c in enumerate(columns[table])
                     if c in ("nameId", "textId", "demangledName", "shortName")]  # fmt: skip
            for row in rows:
                whole = list(row)
                for i in named:
                    if whole[i] is not None:
                        whole[i] = self.id(names[whole[i]])
                self.rows[table].append(tuple(whole))

    def database(self, path: Path, page_bytes: int = 1024) -> Path:
        """Write the database; tables without rows are left out, as the tool does."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rows["StringIds"] = [(i, text) for text, i in self.strings.items()]
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA page_size={page_bytes}")
        written = {table: rows for table, rows in self.rows.items() if rows}
        for table in written:
            connection.execute(f"CREATE TABLE {table} ({SCHEMA[table]})")
        for table, rows in written.items():
            marks = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        connection.commit()
        connection.close()
        return path

    def range(self, name: str, start: int, end: int | None, thread: int = MAIN,
              kind: int = 59) -> None:  # fmt: skip
        """Add a range that the program named."""
        text, text_id = (None, self.id(name)) if self.registered else (name, None)
        tid = process(self.pid) | thread
        self.rows["NVTX_EVENTS"].append(
            (start, end, kind, None, None, None, text, tid, None, text_id, 0)
        )

    def call(self, name: str, start: int, end: int, thread: int = MAIN, driver: int = 0) -> int:
        """Add a call of the runtime or driver; returns its correlation."""
        self._correlation += 1
        self.rows["CUPTI_ACTIVITY_KIND_RUNTIME"].append(
            (start, end, driver, process(self.pid) | thread, self._correlation, self.id(name), 0,
             None)
        )  # fmt: skip
        return self._correlation

    def where(self, length: int, stream: int, correlation: int) -> tuple[Any, ...]:
        """The first columns of the device's next event, which begins after the last one."""
        self._device_at = max(self._device_at, self._at) + 100
        start, self._device_at = self._device_at, self._device_at + length
        return (start, self._device_at, self.device, 1, None, stream, correlation,
                process(self.pid))  # fmt: skip

    def kernel(self, name: str, length: int, stream: int, correlation: int) -> None:
        """Add a kernel."""
        self.rows["CUPTI_ACTIVITY_KIND_KERNEL"].append(
            (*self.where(length, stream, correlation), self.id(f"void {name}<float>(float*)"),
             self.id(name), None, 40, 64, 2, 1, 128, 1, 1, 1024, 2048, None)
        )  # fmt: skip

    def _step(self, number: int) -> None:
        start = self._at
        self._copy()
        for _ in range(self.products):
            self._product(f"aten::mm, seq = {number}", MAIN)
        self._product(f"MmBackward0, seq = {number}", AUTOGRAD)
        self._collective()
        self._at = max(self._at, self._device_at) + 200
        self.range(f"ProfilerStep#{number}", start, self._at)
        self.range("forward", start + 10, start + 2000, kind=60)
        self.rows["GPU_METRICS"] += [
            (0, at, 1 << 56 | self.device, metric, 10 * metric + number)
            for at in range(max(start, 0), self._at, 2000)
            for metric in (3, 5)
        ]
        self._at += 100

    def _product(self, name: str, thread: int) -> None:
        self._operator += 1
        start = self._at
        self.range(f"{name}, op_id = {self._operator}, sizes = [[2, 3], [3, 4]]", start,
                   start + 900, thread)  # fmt: skip
        correlation = self.call("cudaLaunchKernel_v7000", start + 100, start + 400, thread)
        self.kernel("gemm", 700, 7, correlation)
        self._at = start + 1000

    def _copy(self) -> None:
        correlation = self.call("cudaMemcpyAsync_v3020", self._at + 20, self._at + 300)
        self.rows["CUPTI_ACTIVITY_KIND_MEMCPY"].append(
            (*self.where(500, 7, correlation), COPY_BYTES, 1, 1, 2)
        )
        correlation = self.call("cudaMemsetAsync_v3020", self._at + 310, self._at + 400)
        self.rows["CUPTI_ACTIVITY_KIND_MEMSET"].append(
            (*self.where(100, 7, correlation), 0, FILL_BYTES, None, 2)
        )
        self._at += 500

    def _collective(self) -> None:
        at = self._at
        recorded = self.call("cudaEventRecord_v3020", at, at + 50)
        self.rows["CUPTI_ACTIVITY_KIND_CUDA_EVENT"].append(
            (self.device, 1, 7, recorded, process(self.pid), 11)
        )
        waited = self.call("cudaStreamWaitEvent_v3020", at + 60, at + 100)
        self.rows["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"].append(
            (at + 60, at + 100, self.device, 1, None, 20, waited, process(self.pid), 2, 11)
        )
        launched = self.call("cuLaunchKernelEx", at + 120, at + 200, driver=1)
        self.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 3000, 20, launched)
        waited = self.call("cudaStreamSynchronize_v3020", at + 220, self._device_at + 10)
        self.rows["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"].append(
            (at + 220, self._device_at, self.device, 1, None, 20, waited, process(self.pid), 3, 0)
        )
        self._at = self._device_at + 50

    def _facts(self) -> None:
        rows = self.rows
        rows["PROCESSES"].append((process(self.pid), self.pid, "python3"))
        rows["ThreadNames"].append((self.id("pt_autograd_0"), 20, process(self.pid) | AUTOGRAD))
        rows["TARGET_INFO_SYSTEM_ENV"].append((1 << 56, "State", "Hostname", 4, "node7"))
        rows["TARGET_INFO_SESSION_START_TIME"].append((START_NS, "2024-01-02", "2024-01-02"))
        rows["TARGET_INFO_GPU"].append(
            (1 << 56, 3, "NVIDIA H100 80GB HBM3", 85 << 30, 132, 9, 0, 32, 1024, 65536, 233472)
        )
        rows["TARGET_INFO_CUDA_DEVICE"].append((3, self.device, self.pid, "", 132))
        rows["META_DATA_EXPORT"].append(("EXPORT_SCHEMA_VERSION", "3.25.0"))
        rows["ENUM_CUDA_MEM_KIND"] += [
            (0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"),
            (1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"),
            (2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"),
        ]
        rows["TARGET_INFO_GPU_METRICS"] += [
            (1 << 56, 1, "GPU", 3, "SMs Active [Throughput %]"),
            (1 << 56, 1, "GPU", 5, "DRAM Read Bandwidth [Throughput %]"),
        ]
