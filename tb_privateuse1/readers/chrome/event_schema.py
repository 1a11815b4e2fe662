"""The schema of one event in Kineto's Chrome JSON, for msgspec, which needs no dictionaries.

The decoder skips fields that are not listed. There are two shapes with the same fields:
``FAST`` takes what torch writes today, times as numbers; ``LOOSE`` takes every spelling (numbers as
strings, null) and times that need more digits than a float64 has, and is slower.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Literal

import msgspec

from tb_privateuse1.readers.raw import MISSING_OF
from tb_privateuse1.trace.model import NONE

NO_JSON = msgspec.Raw()

NUMBERS = {
    "external_id": "External id",
    "external_id_2021": "external id",
    "correlation": "correlation",
    "device": "device",
    "stream": "stream",
    "awaited_stream": "wait_on_stream",
    "record_correlation": "wait_on_cuda_event_record_corr_id",
    "sequence": "Sequence number",
    "forward_thread": "Fwd thread id",
    "python_id": "Python id",
    "python_parent": "Python parent id",
    "module_id": "Python module id",
    "record_function": "Record function id",
    "bytes": "bytes",
    "start_bound_ns": "start_bound_ns",
    "shift_bound_ns": "shift_bound_ns",
    "duration_bound_ns": "duration_bound_ns",
    "address": "Addr",
    "device_type": "Device Type",
    "device_id": "Device Id",
    "memory_bytes": "Bytes",
    "allocated_bytes": "Total Allocated",
    "reserved_bytes": "Total Reserved",
    "in_elements": "In msg nelems",
    "out_elements": "Out msg nelems",
    "group_size": "Group size",
    "rank_start": "Global rank start",
    "rank_stride": "Global rank stride",
    "source_rank": "Src Rank",
    "target_rank": "Dst Rank",
    "rank_elements": "count",
    "registers": "registers per thread",
    "shared_bytes": "shared memory",
    "graph_node": "graph node id",
}
JSON = {
    "shapes": "Input Dims",
    "shapes_2021": "Input dims",
    "dtypes": "Input type",
    "strides": "Input Strides",
    "concrete": "Concrete Inputs",
    "grid": "grid",
    "block": "block",
    "blocks_per_sm": "blocks per SM",
    "occupancy": "est. achieved occupancy %",
}
TEXTS = {
    "stack": "Call stack",
    "modules": "Module Hierarchy",
    "evidence": "evidence",
    "kernel": "kernel",
    "kernel_gb": "kernel_num_gb",
    "kernel_flop": "kernel_flop",
    "collective": "Collective name",
    "element_type": "dtype",
    "process_group": "Process Group Name",
    "group_purpose": "Process Group Description",
    "group_ranks": "Process Group Ranks",
    "unit": "Task Type",
    "rank_type": "data_type",
    "module_fqn": "module_fqn",
    "bare_name": "str",
    "bare_annotation": "annotation",
    "autograd_phase": "autograd_phase",
}
COLLECTIVE = (
    "in_elements",
    "out_elements",
    "group_size",
    "element_type",
    "process_group",
    "group_purpose",
    "group_ranks",
    "rank_start",
    "rank_stride",
    "source_rank",
    "target_rank",
)
"""Read only for events with the name of a collective."""
RANK_PART = ("rank_type",)
"""Read only for events without a category that count elements."""
CONFIG = ("grid", "registers", "shared_bytes", "blocks_per_sm", "occupancy")
"""Read only for events with the size of a block."""
INPUTS = ("strides", "concrete")
"""Read only for events with shapes."""
GRAPH_NODE = ("name", "module_fqn", "bare_name", "bare_annotation", "autograd_phase")
"""Read only for activities with a node of a graph: what the program wrote into the graph."""
COUNTED = ("kernel_flop",)
"""Read only for operators with Inductor's bytes: it writes both or the bytes alone."""
_LABELS = {"name": "name"}

_Phase = Literal[
    "X", "s", "f", "M", "i", "I", "B", "E", "C", "b", "n", "e", "t", "S", "T", "p", "F", "N", "O",
    "D", "P", "R", "c", "(", ")", "v", "V", "=",
]  # fmt: skip

_Number = int | float | str | None


def _arguments() -> type[msgspec.Struct]:
    def field(key: str, default: Any) -> Any:
        return msgspec.field(name=key, default=default)

    return msgspec.defstruct(
        "Args",
        [
            *((name, _Number, field(key, MISSING_OF[name])) for name, key in NUMBERS.items()),
            *((name, msgspec.Raw, field(key, NO_JSON)) for name, key in JSON.items()),
            *((name, Any, field(key, None)) for name, key in (TEXTS | _LABELS).items()),
        ],
        gc=False,
        frozen=True,
    )


class Event(msgspec.Struct, gc=False):
    """One event. ``ts`` and ``dur`` are in µs; see ``FAST`` and ``LOOSE`` for the types."""

    ph: str = ""
    cat: str | None = None
    name: Any = ""
    pid: int | float | str | None = None
    tid: int | float | str | None = None
    ts: Any = None
    dur: Any = None
    id: int | float | str | None = None
    args: Any = None


_Args = _arguments()
NO_ARGS = _Args()

FAST: type[Event] = msgspec.defstruct(  # type: ignore[assignment]
    "FastEvent",
    [
        ("ph", _Phase, ""),
        ("cat", str | None, None),
        ("name", str, ""),
        ("pid", int | str, -1),
        ("tid", int | str, -1),
        ("ts", float, math.nan),
        ("dur", float, 0.0),
        ("id", int, NONE),
        ("args", _Args, NO_ARGS),
    ],
    bases=(Event,),
    gc=False,
)

LOOSE: type[Event] = msgspec.defstruct(  # type: ignore[assignment]
    "LooseEvent",
    [
        ("ts", Decimal | None, None),
        ("dur", Decimal | None, None),
        ("args", _Args | None, None),
    ],
    bases=(Event,),
    gc=False,
)
