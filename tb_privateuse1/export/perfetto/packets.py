"""Perfetto's TracePackets: the head of a trace, interned names, and events as columns.

Field numbers are from the published schema:
https://github.com/google/perfetto/tree/main/protos/perfetto/trace
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.analysis.kernel_names import display_name
from tb_privateuse1.export.perfetto.protobuf import EncodedPart, constant, field, message, varint
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.perfetto_words import (
    ARGUMENTS,
    BOOTTIME,
    CATEGORIES,
    CLEARED,
    COMPUTE,
    COUNTER,
    NEEDS,
    OTHER,
    REALTIME,
    SLICE_END,
)
from tb_privateuse1.trace.table import I64

_PACKET, _SEQUENCE, _FLAGS = 1, 10, 13
CONTEXT = 1
"""The id of the one graphics context of all device activities."""


def packet(body: bytes, flags: int = NEEDS) -> bytes:
    """Build a packet; all packets are of one sequence."""
    return field(_PACKET, field(_SEQUENCE, 1) + field(_FLAGS, flags) + body)


def timed(ts_ns: NDArray[np.int64], *parts: EncodedPart, interned: bool = True) -> EncodedPart:
    """Build a packet per row with its time; ``interned``: it uses interned names."""
    head = field(_SEQUENCE, 1) + (field(_FLAGS, NEEDS) if interned else b"")
    return message(_PACKET, varint(8, ts_ns), constant(head), *parts)


def event(kind: int, ts_ns: NDArray[np.int64], *parts: EncodedPart) -> EncodedPart:
    """Build packets of track events of one type."""
    body = message(11, constant(field(9, kind)), *parts)
    return timed(ts_ns, body, interned=kind not in (SLICE_END, COUNTER))


def argument(names: NDArray[np.integer] | str, value: EncodedPart) -> EncodedPart:
    """Build a debug annotation; ``names`` are indices into ``ARGUMENTS``, one or per row."""
    if isinstance(names, str):
        name = constant(field(1, ARGUMENTS.index(names) + 1))
    else:
        name = varint(1, names + 1)
    return message(4, name, value)


def category(name: str) -> EncodedPart:
    """Build the category that all events share."""
    return constant(field(3, CATEGORIES.index(name) + 1))


class Names:
    """The interned names of a trace. The id of a string is its index + 1."""

    def __init__(self, strings: Sequence[str]) -> None:
        self._strings = strings
        self._queues: Sequence[str] = ()
        self._events: set[int] = set()
        self._texts: set[int] = set()
        self._stages: dict[int, bool] = {}

    def events(self, *columns: NDArray[np.int32]) -> None:
        """Intern names of slices."""
        self._events.update(*(_distinct(column) for column in columns))

    def texts(self, *columns: NDArray[np.int32]) -> None:
        """Intern values of arguments."""
        self._texts.update(*(_distinct(column) for column in columns))

    def stages(self, kernels: NDArray[np.int32], copies: NDArray[np.int32]) -> None:
        """Intern names of device activities: of kernels, and of copies and fills."""
        self._stages = dict.fromkeys(_distinct(copies), False)
        self._stages.update(dict.fromkeys(_distinct(kernels), True))

    def queues(self, names: Sequence[str]) -> None:
        """Intern names of streams, one for each lane."""
        self._queues = names

    def stage_ids(self, names: NDArray[np.int32]) -> I64:
        """Return the ids of stages with these names."""
        return names.astype(np.int64) + 1 + len(self._queues)

    def encoded(self) -> bytes:
        """Return the names as ``InternedData``."""
        out = [_interned(1, i, name) for i, name in enumerate(CATEGORIES, 1)]
        out += [_interned(3, i, name) for i, name in enumerate(ARGUMENTS, 1)]
        out += [_interned(2, i + 1, self._strings[i]) for i in sorted(self._events)]
        out += [_interned(29, i + 1, self._strings[i]) for i in sorted(self._texts)]
        for number, name in enumerate(self._queues, 1):
            out.append(_interned(24, number, name, field(4, OTHER)))
        for i, compute in sorted(self._stages.items()):
            kind = field(4, COMPUTE if compute else OTHER)
            number = i + 1 + len(self._queues)
            full = self._strings[i] if i >= 0 else "unnamed"
            shown = display_name(full)
            described = field(3, full) if shown != full else b""
            out.append(_interned(24, number, shown, described + kind))
        return b"".join(out)


def head(trace: Trace, names: Names, pid: int | None) -> bytes:
    """Return the packets before all events: clocks, names of devices, interned names."""
    context = field(1, CONTEXT) + (b"" if pid is None else field(2, pid))
    context += field(3, trace.vendor.perfetto_gpu_api)
    interned = names.encoded() + field(23, context)
    start = packet(field(12, interned) + field(87, 1), CLEARED)
    if trace.base_ns > 0:
        clocks = field(1, field(1, BOOTTIME) + field(2, 0))
        clocks += field(1, field(1, REALTIME) + field(2, trace.base_ns))
        start += packet(field(6, clocks), 0)
    devices = [str(d.get("name") or "") for d in trace.meta.devices]
    if any(devices):
        gpus = b"".join(field(1, field(1, name)) for name in devices)
        start += packet(field(128, gpus), 0)
    return start


def _interned(number: int, iid: int, text: str, fields: bytes = b"") -> bytes:
    return field(number, field(1, iid) + field(2, text) + fields)


def _distinct(column: NDArray[np.int32]) -> list[int]:
    ids = np.unique(column)
    distinct: list[int] = ids[ids >= 0].tolist()
    return distinct
