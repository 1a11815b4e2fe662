"""Tables of rocprofv3's databases (rocpd) that are read.

Source: rocprofiler-sdk (source/share/rocprofiler-sdk-rocpd, ``rocpd_tables.sql``), schema 3 and 4.
Each recorded process has its own tables: their names end with its id. Schema 3 has times and places
in the rows, schema 4 in tables of timestamps and tracks. Times are ns of the system's clock since
it was started.
"""

from __future__ import annotations

STRINGS = "rocpd_string"
REGIONS = "rocpd_region"
DISPATCHES = "rocpd_kernel_dispatch"
COPIES = "rocpd_memory_copy"
EVENTS = "rocpd_event"
CATEGORIES = "rocpd_info_category"
SYMBOLS = "rocpd_info_kernel_symbol"
AGENTS = "rocpd_info_agent"
NODES = "rocpd_info_node"
PROCESSES = "rocpd_info_process"
THREADS = "rocpd_info_thread"
TRACKS = "rocpd_track"
TIMESTAMPS = "rocpd_timestamp"

EVENT_TABLES = (REGIONS, DISPATCHES, COPIES)
"""The tables with events of one process, in the order in which their rows are numbered."""

PLACES = ("pid", "tid", "agent_id", "queue_id", "stream_id")
"""Columns that a row has itself, or its track."""

CALLS = {"HIP": "hip_runtime", "HSA": "hip_driver"}
"""The category of calls, by the beginning of theirs in the file."""
LIBRARIES = ("RCCL",)
MARKERS = "MARKER"

DIRECTIONS = {
    "HOST_TO_DEVICE": "Memcpy HtoD (Host -> Device)",
    "DEVICE_TO_HOST": "Memcpy DtoH (Device -> Host)",
    "DEVICE_TO_DEVICE": "Memcpy DtoD (Device -> Device)",
    "HOST_TO_HOST": "Memcpy HtoH (Host -> Host)",
}
"""Copies by the end of their names, as Kineto spells them."""

NAMED = ("name_id", "region_name_id", "category_id")
"""Columns that hold ids of strings."""

TOOL = "rocprofiler-sdk-tool"
"""The only key of the tool's JSON: a list of processes."""
JSON_CALLS = ("hip_api", "hsa_api", "marker_api", "rccl_api")
JSON_TABLES = (*JSON_CALLS, "kernel_dispatch", "memory_copy")
"""Its tables with events, in the order in which their rows are numbered."""
GPU = 2
"""The type of an agent that is a device."""
