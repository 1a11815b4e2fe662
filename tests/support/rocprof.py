"""Databases of rocprofv3 by the published schema 3 and 4, and its JSON, of the same ``Program``."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

START_NS = 81_420_306_491
PID, MAIN = 4376, 4376
GUID = "_00000450_565d_765d_bc41_19a2073d19ee"
_PLACE = "nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER"
_GRID = (
    "workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER, "
    "grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER"
)
_INFO = {
    "rocpd_string": "id INTEGER PRIMARY KEY, string TEXT NOT NULL",
    "rocpd_info_node": "id INTEGER PRIMARY KEY, hash BIGINT, hostname TEXT",
    "rocpd_info_process": "id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER NOT NULL",
    "rocpd_info_thread": "id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, tid INTEGER NOT NULL",
    "rocpd_info_agent": "id INTEGER PRIMARY KEY, type TEXT, absolute_index INTEGER, "
    "type_index INTEGER, name TEXT, product_name TEXT",
    "rocpd_info_kernel_symbol": "id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT, "
    "arch_vgpr_count INTEGER, accum_vgpr_count INTEGER",
    "rocpd_event": "id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER, "
    "parent_stack_id INTEGER, correlation_id INTEGER, extdata JSONB DEFAULT '{}' NOT NULL",
}
SCHEMAS = {
    3: _INFO | {
        "rocpd_region": f"id INTEGER PRIMARY KEY, {_PLACE}, start BIGINT NOT NULL, "
        "end BIGINT NOT NULL, name_id INTEGER NOT NULL, event_id INTEGER",
        "rocpd_kernel_dispatch": f"id INTEGER PRIMARY KEY, {_PLACE}, agent_id INTEGER, "
        "queue_id INTEGER, stream_id INTEGER, start BIGINT NOT NULL, end BIGINT NOT NULL, "
        f"kernel_id INTEGER, group_segment_size INTEGER, {_GRID}, event_id INTEGER",
        "rocpd_memory_copy": f"id INTEGER PRIMARY KEY, {_PLACE}, queue_id INTEGER, "
        "stream_id INTEGER, start BIGINT NOT NULL, end BIGINT NOT NULL, name_id INTEGER, "
        "dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER, event_id INTEGER",
    },
    4: _INFO | {
        "rocpd_info_category": "id INTEGER PRIMARY KEY, name TEXT NOT NULL",
        "rocpd_track": f"id INTEGER PRIMARY KEY, {_PLACE}, agent_id INTEGER, queue_id INTEGER, "
        "stream_id INTEGER",
        "rocpd_timestamp": "id INTEGER PRIMARY KEY, value BIGINT NOT NULL",
        "rocpd_region": "id INTEGER PRIMARY KEY, track_id INTEGER, start_id INTEGER, "
        "end_id INTEGER, name_id INTEGER NOT NULL, event_id INTEGER",
        "rocpd_kernel_dispatch": "id INTEGER PRIMARY KEY, track_id INTEGER, start_id INTEGER, "
        f"end_id INTEGER, kernel_id INTEGER, group_segment_size INTEGER, {_GRID}, "
        "event_id INTEGER",
        "rocpd_memory_copy": "id INTEGER PRIMARY KEY, track_id INTEGER, start_id INTEGER, "
        "end_id INTEGER, name_id INTEGER, dst_agent_id INTEGER, src_agent_id INTEGER, "
        "size INTEGER, event_id INTEGER",
    },
}  # fmt: skip
"""The tables that hold what is written here; unread columns are left out."""

_TABLES = {
    "kernel_dispatch": "KERNEL_DISPATCH",
    "hip_api": "HIP",
    "hsa_api": "HSA",
    "marker_api": "MARKER",
    "rccl_api": "RCCL",
    "memory_copy": "MEMORY_COPY",
}
"""The tables of the JSON, by the beginning of the kinds of their records."""

COPY_BYTES = 1 << 20
_CPU, _GPU = 1, 5


@dataclass
class Program:
    """Steps with operators that launch kernels, a copy and a collective.

    ``streams``: whether streams are recorded, not queues alone.
    """

    steps: int = 2
    products: int = 3
    version: int = 3
    streams: bool = True
    rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = {table: [] for table in SCHEMAS[self.version]}
        self._strings: dict[str, int] = {}
        self._categories: dict[str, int] = {}
        self._stack = 0
        self._at = self._device_at = START_NS
        for number in range(self.steps):
            start = self._at
            self._copy()
            for _ in range(self.products):
                self._product(f"aten::mm, seq = {number}, op_id = 3, sizes = [[2, 3], [3, 4]]")
            self._launch(2, 2, 5000)
            self._at = max(self._at, self._device_at) + 100
            self.region("MARKER_CORE_RANGE_API", "roctxThreadRangeA", start, self._at,
                        message=f"ProfilerStep#{number}")  # fmt: skip
            self.region("MARKER_CORE_API", "roctxMarkA", start, start, message="a mark")
            self._at += 100
        self._facts()

    def id(self, text: str) -> int:
        """The id of a string, which is added if it is new."""
        return self._strings.setdefault(text, len(self._strings) + 1)

    def database(self, path: Path, page_bytes: int = 1024, ending: str = GUID) -> Path:
        """Write the tables; those of another process may be in the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rows["rocpd_string"] = [(i, text) for text, i in self._strings.items()]
        if self.version == 4:
            self.rows["rocpd_info_category"] = [(i, t) for t, i in self._categories.items()]
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA page_size={page_bytes}")
        for table, columns in SCHEMAS[self.version].items():
            connection.execute(f"CREATE TABLE {table}{ending} ({columns})")
            if not ending:
                continue
            connection.execute(
                f"CREATE VIEW IF NOT EXISTS {table} AS SELECT * FROM {table}{ending}"
            )
        for table, rows in self.rows.items():
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO {table}{ending} VALUES ({marks})", rows)
        connection.commit()
        connection.close()
        return path

    def document(self) -> dict[str, Any]:
        """The same as the tool's JSON, of a program of version 3."""
        events = {row[0]: row for row in self.rows["rocpd_event"]}
        names = {number: text for text, number in self._strings.items()}
        kinds: dict[str, list[str]] = {"NONE": [], "KERNEL_DISPATCH": ["NONE", "COMPLETE"]}
        tables: dict[str, list[dict[str, Any]]] = {table: [] for table in _TABLES}

        def record(event: int, name: str, start: int, end: int, **rest: Any) -> None:
            kind = names[events[event][1]]
            operations = kinds.setdefault(kind, ["NONE"])
            if name not in operations:
                operations.append(name)
            table = next(table for table, start in _TABLES.items() if kind.startswith(start))
            tables[table].append({
                "size": 64, "kind": list(kinds).index(kind), "operation": operations.index(name),
                "correlation_id": {"internal": events[event][2], "external": 0},
                "start_timestamp": start, "end_timestamp": end, "thread_id": MAIN, **rest,
            })  # fmt: skip

        for _, _, _, _, start, end, name, event in self.rows["rocpd_region"]:
            record(event, names[name], start, end)
        for row in self.rows["rocpd_kernel_dispatch"]:
            agent, queue, stream, start, end, kernel, shared, *sizes, event = row[4:]
            info = {
                "agent_id": {"handle": agent}, "queue_id": {"handle": queue},
                "kernel_id": kernel, "dispatch_id": row[0], "private_segment_size": 0,
                "group_segment_size": shared,
                "workgroup_size": dict(zip("xyz", sizes[:3], strict=True)),
                "grid_size": dict(zip("xyz", sizes[3:], strict=True)),
            }  # fmt: skip
            record(event, "COMPLETE", start, end, dispatch_info=info, stream_id={"handle": stream})
        for row in self.rows["rocpd_memory_copy"]:
            _, stream, start, end, name, target, origin, size, event = row[4:]
            record(event, names[name], start, end, bytes=size, stream_id={"handle": stream},
                   dst_agent_id={"handle": target}, src_agent_id={"handle": origin})  # fmt: skip
        messages = [(e[2], json.loads(e[5]).get("message")) for e in events.values()]
        return {"rocprofiler-sdk-tool": [{
            "metadata": {"pid": PID, "init_time": START_NS, "node": {"hostname": "node7"}},
            "agents": [
                {"id": {"handle": i}, "type": 2 if kind == "GPU" else 1, "name": name,
                 "product_name": product, "node_id": place, "logical_node_type_id": index}
                for i, kind, place, index, name, product in self.rows["rocpd_info_agent"]
            ],
            "strings": {
                "callback_records": [],
                "buffer_records": [{"kind": k, "operations": o} for k, o in kinds.items()],
                "marker_api": [{"key": key, "value": text} for key, text in messages if text],
            },
            "code_objects": [],
            "kernel_symbols": [
                {"kernel_id": i, "kernel_name": plain, "formatted_kernel_name": name,
                 "arch_vgpr_count": vector, "accum_vgpr_count": more}
                for i, plain, name, vector, more in self.rows["rocpd_info_kernel_symbol"]
            ],
            "callback_records": {"counter_collection": []},
            "buffer_records": tables,
        }]}  # fmt: skip

    def json(self, path: Path) -> Path:
        """Write the tool's JSON, in lines without indentation as it does."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.document(), indent=0))
        return path

    def region(self, category: str, name: str, start: int, end: int, message: str = "") -> int:
        """Add a region of the host; returns the number of the call."""
        self._stack += 1
        event = self._event(category, self._stack, message)
        self._row("rocpd_region", (None, None, None), start, end, self.id(name), event)
        return self._stack

    def _event(self, category: str, stack: int, message: str = "") -> int:
        number = len(self.rows["rocpd_event"]) + 1
        kinds = self._categories if self.version == 4 else self._strings
        kind = kinds.setdefault(category, len(kinds) + 1)
        extra = json.dumps({"message": message} if message else {})
        self.rows["rocpd_event"].append((number, kind, stack, 0, 0, extra))
        return number

    def _row(self, table: str, where: tuple[int | None, ...], start: int, end: int,
             *rest: Any) -> None:  # fmt: skip
        """Add a row; ``where`` are agent, queue and stream."""
        number = len(self.rows[table]) + 1
        if self.version == 3:
            on_device = {"rocpd_region": (), "rocpd_memory_copy": where[1:]}.get(table, where)
            self.rows[table].append((number, 1, 1, 1, *on_device, start, end, *rest))
            return
        track, times = self.rows["rocpd_track"], self.rows["rocpd_timestamp"]
        track.append((len(track) + 1, 1, 1, 1, *where))
        times += [(len(times) + 1, start), (len(times) + 2, end)]
        self.rows[table].append((number, len(track), len(times) - 1, len(times), *rest))

    def _on_device(self, length: int) -> tuple[int, int]:
        self._device_at = max(self._device_at, self._at) + 100
        start, self._device_at = self._device_at, self._device_at + length
        return start, self._device_at

    def _launch(self, kernel: int, stream: int, length: int) -> None:
        call = self.region("HIP_RUNTIME_API", "hipLaunchKernel", self._at + 20, self._at + 300)
        event = self._event("KERNEL_DISPATCH", call)
        self._row(
            "rocpd_kernel_dispatch", (_GPU, stream, stream if self.streams else 0),
            *self._on_device(length), kernel, 2048, 64, 2, 1, 1000, 4, 1, event,
        )  # fmt: skip

    def _product(self, name: str) -> None:
        self.region("MARKER_CORE_RANGE_API", "roctxThreadRangeA", self._at, self._at + 900,
                    message=name)  # fmt: skip
        self._launch(1, 1, 700)
        self._at += 1000

    def _copy(self) -> None:
        call = self.region("HIP_RUNTIME_API", "hipMemcpyAsync", self._at + 20, self._at + 300)
        event = self._event("MEMORY_COPY", call)
        name = self.id("MEMORY_COPY_HOST_TO_DEVICE")
        self._row("rocpd_memory_copy", (None, 1, 1 if self.streams else 0), *self._on_device(500),
                  name, _GPU, _CPU, COPY_BYTES, event)  # fmt: skip
        self._at += 500

    def _facts(self) -> None:
        rows = self.rows
        rows["rocpd_info_node"].append((1, 77, "node7"))
        rows["rocpd_info_process"].append((1, 1, PID))
        rows["rocpd_info_thread"].append((1, 1, 1, MAIN))
        rows["rocpd_info_agent"] += [
            (_CPU, "CPU", 0, 0, "EPYC", "AMD EPYC"),
            (_GPU, "GPU", 2, 0, "gfx942", "AMD Instinct MI300X"),
        ]
        rows["rocpd_info_kernel_symbol"] += [
            (1, "_Z4gemmPf.kd", "void gemm<float>(float*)", 40, 8),
            (2, "ncclDevKernel_AllReduce_Sum_f32.kd", "ncclDevKernel_AllReduce_Sum_f32", 64, 0),
        ]
