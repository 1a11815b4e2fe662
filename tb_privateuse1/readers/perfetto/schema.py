"""Numbers of the fields that are read, and what the packets of a trace may begin with.

Source: https://github.com/google/perfetto/tree/main/protos/perfetto/trace (``TracePacket`` and the
messages in it).
"""

from __future__ import annotations

from tb_privateuse1.readers.chrome.event_schema import JSON, NUMBERS, TEXTS
from tb_privateuse1.readers.perfetto.wire import LENGTH, VARINT

PACKET = 1
CLOCK_SNAPSHOT, TIMESTAMP, SEQUENCE, TRACK_EVENT, INTERNED, FLAGS = 6, 8, 10, 11, 12, 13
CLEARED_OLD, DROPPED, PROCESS, THREAD = 41, 42, 43, 44
COMPRESSED, ZSTD = 50, 133
GPU_COUNTERS, GPU_STAGE, CLOCK, DEFAULTS, TRACK = 52, 53, 58, 59, 60
GPU_INFO = 128

NUMBER_FIELDS = frozenset({3, TIMESTAMP, SEQUENCE, FLAGS, 41, DROPPED, CLOCK, 79, 87, 98})
"""Fields of a packet that are numbers; all others are messages and texts, except these:"""
FIXED_FIELDS = frozenset({36})
UNUSED_FIELDS = frozenset({4})
"""No tool writes them (``inode_file_map``), and JSON behind an empty line looks like one."""
MOST_FIELD = 1000
"""Fields of a packet have lower numbers; a few are for tests."""

NOT_SHOWN = {
    1: "ftrace",
    2: "process_tree",
    5: "chrome_events",
    7: "sys_stats",
    9: "process_stats",
    37: "profile",
    39: "android_log",
    54: "streaming_profile",
    57: "graphics_frame",
    62: "vulkan_memory",
    63: "gpu_log",
    65: "vulkan_api",
    66: "perf_sample",
    71: "gpu_mem_total",
    73: "memory_tracker",
}
"""Packets with events of other kinds: they are counted."""

CONTENTS = frozenset(
    {CLOCK_SNAPSHOT, TRACK_EVENT, PROCESS, THREAD, COMPRESSED, ZSTD, GPU_COUNTERS, GPU_STAGE}
    | {TRACK, GPU_INFO, *NOT_SHOWN}
)
"""A packet has one of these fields; of several the last one counts (``oneof data``)."""

NAMES, CATEGORIES, ARGUMENTS, TEXT_VALUES, STAGES = 2, 1, 3, 29, 24
"""Fields of ``InternedData``."""

GROUPS = {
    "operator": "cpu_op",
    "annotation": "user_annotation",
    "frame": "python_function",
    "runtime": "runtime",
}
"""Our export's categories, as Kineto's traces spell them."""

COLUMN_OF = {spelling: column for column, spelling in {**NUMBERS, **JSON, **TEXTS}.items()} | {
    "Input shapes": "shapes",
    "Input types": "dtypes",
}
"""The column of an argument, by its name in Kineto's traces and in our export."""


def fits(number: int, kind: int) -> bool:
    """Return whether a packet may have a field of this number and kind."""
    if number >= MOST_FIELD or number in UNUSED_FIELDS:
        return False
    if number in FIXED_FIELDS:
        return True
    return kind == (VARINT if number in NUMBER_FIELDS else LENGTH)
