"""The formats whose mutants are read."""

from __future__ import annotations

from tests.support.mutants import (
    ascend_tables,
    databases,
    execution_trace,
    files,
    flight_recorder,
    memory_timeline,
    perfetto,
    rocprof_json,
    snapshot,
)
from tests.support.mutants.harness import Format

FORMATS: dict[str, Format] = {
    **files.FORMATS,
    **databases.FORMATS,
    **ascend_tables.FORMATS,
    "execution_trace": execution_trace.FORMAT,
    "flight_recorder": flight_recorder.FORMAT,
    "memory_timeline": memory_timeline.FORMAT,
    "perfetto": perfetto.FORMAT,
    "rocprof_json": rocprof_json.FORMAT,
    "snapshot": snapshot.FORMAT,
}
