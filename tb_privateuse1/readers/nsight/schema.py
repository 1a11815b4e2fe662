"""Tables and codes of Nsight Systems' sqlite exports that are read.

Source: NVIDIA's documentation of the exporter ("SQLite Schema Reference" in the user guide) and
CUPTI's of the codes. Times are ns since the start of the session, sizes are bytes. Tables and
columns are there only if the report has them.
"""

from __future__ import annotations

REPORTS = (".nsys-rep", ".qdrep")
"""Suffixes of the tool's own files, which it exports as such databases."""

STRINGS = "StringIds"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
FILLS = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
WAITS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
RECORDS = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
RANGES = "NVTX_EVENTS"
METRICS = "GPU_METRICS"
METRIC_NAMES = "TARGET_INFO_GPU_METRICS"
START = "TARGET_INFO_SESSION_START_TIME"
GPUS = "TARGET_INFO_GPU"
DEVICES = "TARGET_INFO_CUDA_DEVICE"
SYSTEM = "TARGET_INFO_SYSTEM_ENV"
PROCESSES = "PROCESSES"
THREADS = "ThreadNames"
RANKS = "MPI_RANKS"
MEMORY_KINDS = "ENUM_CUDA_MEM_KIND"
EXPORT = "META_DATA_EXPORT"

EVENT_TABLES = (CALLS, KERNELS, COPIES, FILLS, GRAPHS, WAITS, RANGES, METRICS)
"""The tables with events, in the order in which their rows are numbered."""

TABLES = (
    *EVENT_TABLES, STRINGS, RECORDS, METRIC_NAMES, START, GPUS, DEVICES, SYSTEM, PROCESSES, THREADS,
    RANKS, MEMORY_KINDS, EXPORT,
)  # fmt: skip

DRIVER_CALL = 1
"""``eventClass`` of a call of the driver (``ENUM_NSYS_EVENT_CLASS``)."""

PUSH_POP, START_END = 59, 60
"""``eventType`` of ranges (``ENUM_NSYS_EVENT_TYPE``); marks, names and domains have others."""

DIRECTIONS = {
    1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD",
    9: "HtoH", 10: "PtoP", 11: "HtoD", 12: "DtoH", 13: "DtoD",
}  # fmt: skip
"""``copyKind``, as Kineto spells it; from 11 on pages of unified memory move."""

EVENT_SYNC, STREAM_WAIT, STREAM_SYNC, CONTEXT_SYNC = 1, 2, 3, 4
WAIT_NAMES = {
    EVENT_SYNC: "Event Sync",
    STREAM_WAIT: "Stream Wait Event",
    STREAM_SYNC: "Stream Sync",
    CONTEXT_SYNC: "Context Sync",
}
"""``syncType``, as Kineto spells it."""

NAMED = (
    "nameId", "textId", "demangledName", "shortName", "mangledName", "jsonTextId",
)  # fmt: skip
"""Columns that hold ids of strings."""
