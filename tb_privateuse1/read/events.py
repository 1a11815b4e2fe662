"""The shape of one event in Kineto's Chrome JSON, decoded by msgspec without dictionaries.

Fields that no one reads are skipped by the decoder. Every number may come as a string.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

Number = int | float | str | None

NO_JSON = msgspec.Raw()


class Args(msgspec.Struct, gc=False):
    """The arguments that columns are made of; the names in the file stand beside."""

    external_id: Number = msgspec.field(name="External id", default=None)
    external_id_2021: Number = msgspec.field(name="external id", default=None)
    correlation: Number = None
    device: Number = None
    stream: Number = None
    bytes: Number = None
    start_bound_ns: Number = None
    duration_bound_ns: Number = None
    sequence: Number = msgspec.field(name="Sequence number", default=None)
    forward_thread: Number = msgspec.field(name="Fwd thread id", default=None)
    python_id: Number = msgspec.field(name="Python id", default=None)
    python_parent_id: Number = msgspec.field(name="Python parent id", default=None)
    module_id: Number = msgspec.field(name="Python module id", default=None)
    address: Number = msgspec.field(name="Addr", default=None)
    device_type: Number = msgspec.field(name="Device Type", default=None)
    device_id: Number = msgspec.field(name="Device Id", default=None)
    memory_bytes: Number = msgspec.field(name="Bytes", default=None)
    allocated_bytes: Number = msgspec.field(name="Total Allocated", default=None)
    reserved_bytes: Number = msgspec.field(name="Total Reserved", default=None)
    shapes: msgspec.Raw = msgspec.field(name="Input Dims", default=NO_JSON)
    shapes_2021: msgspec.Raw = msgspec.field(name="Input dims", default=NO_JSON)
    dtypes: msgspec.Raw = msgspec.field(name="Input type", default=NO_JSON)
    stack: Any = msgspec.field(name="Call stack", default=None)
    evidence: Any = msgspec.field(name="class", default=None)
    collective: Any = msgspec.field(name="Collective name", default=None)
    name: Any = None


NO_ARGS = Args()


class Event(msgspec.Struct, gc=False):
    """One event. ``ts`` and ``dur`` are microseconds with up to three decimals."""

    ph: str = ""
    cat: str | None = None
    name: Any = ""
    pid: Number = None
    tid: Number = None
    ts: Number = None
    dur: Number = None
    id: Number = None
    args: Args | None = None


class ExactEvent(Event, gc=False):
    """An event whose time does not fit a float64 to the nanosecond."""

    ts: Decimal | None = None  # type: ignore[assignment]
