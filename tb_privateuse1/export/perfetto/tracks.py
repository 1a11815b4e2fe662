"""Perfetto's tracks of a trace (processes, threads, streams, counters) and their ids."""

from __future__ import annotations

import itertools

from tb_privateuse1.analysis.counters.curves import Curve
from tb_privateuse1.export.perfetto.packets import packet
from tb_privateuse1.export.perfetto.protobuf import field
from tb_privateuse1.trace import labels
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.recorded_counters import COMPUTED

_MADE_UP = 1 << 30
"""Ids from here on replace unusable ids of processes and threads."""
_UNITS = {
    "bytes": (3, ""),
    "kernels": (2, ""),
    "kernels/ms": (0, "1/ms"),
    "bytes/s": (0, "B/s"),
    "share": (0, "%"),
    "": (0, ""),
}
"""``CounterDescriptor.unit`` if it has the unit, else ``unit_name``."""


class Tracks:
    """The identifiers of a trace's tracks."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._uuids = itertools.count(1)
        self._made_up = itertools.count(_MADE_UP)
        threads = trace.threads
        pids = dict.fromkeys(trace.text(pid) for pid in threads.pid)
        used: set[int] = set()
        self._pids = {text: self._id(text, used) for text in pids}
        # Perfetto distinguishes threads by tid alone. A main thread has its process's id.
        tids: set[int] = set(self._pids.values())
        self._tids = [
            self._tid(trace.text(pid), trace.text(tid), tids)
            for pid, tid in zip(threads.pid, threads.tid, strict=True)
        ]
        self._processes = {text: next(self._uuids) for text in self._pids}
        self._threads = [next(self._uuids) for _ in self._tids]

    @property
    def pid(self) -> int | None:
        """Return the process of the device activities: the first one."""
        return next(iter(self._pids.values()), None)

    def queues(self) -> list[str]:
        """Return the names of the streams, by lane."""
        inferred = " (inferred)" if self._trace.meta.timeline == "inferred" else ""
        lanes = [labels.lane(self._trace, row) for row in range(len(self._trace.lanes))]
        return [
            f"{own if device.lower() in own.lower() else f'{device} {own}'}{inferred}"
            for device, own in lanes
        ]

    def processes(self) -> bytes:
        """Return the packets that name all processes."""
        rank = self._trace.meta.rank
        suffix = "" if rank is None else f" (rank {rank})"
        out = []
        for text, pid in self._pids.items():
            process = field(1, pid) + field(6, f"Process {text}{suffix}")
            track = field(1, self._processes[text]) + field(3, process)
            out.append(packet(field(60, track)))
        return b"".join(out)

    def stack(self, thread: int, number: int) -> tuple[int, bytes]:
        """Return a track of a thread and its packet; further tracks are for crossing ranges."""
        trace = self._trace
        own = self._threads[thread]
        if number:
            uuid = next(self._uuids)
            name = f"{labels.thread(trace, thread)[1]}: overlapping {number}"
            return uuid, packet(field(60, field(1, uuid) + field(5, own) + field(2, name)))
        process = trace.text(trace.threads.pid[thread])
        description = field(1, self._pids[process]) + field(2, self._tids[thread])
        description += field(5, labels.thread(trace, thread)[1])
        track = field(1, own) + field(5, self._processes[process]) + field(4, description)
        return own, packet(field(60, track))

    def named(self, name: str) -> tuple[int, bytes]:
        """Return a new track with a name, and its packet."""
        uuid = next(self._uuids)
        return uuid, packet(field(60, field(1, uuid) + field(2, name)))

    def counter(self, curve: Curve) -> tuple[int, bytes]:
        """Return a counter's track and its packet."""
        uuid = next(self._uuids)
        number, name = _UNITS[curve.unit]
        unit = field(3, number) if number else field(6, name)
        mark = b"" if curve.what == "recorded" else field(2, COMPUTED)
        track = field(1, uuid) + field(2, curve.label) + field(8, mark + unit)
        return uuid, packet(field(60, track))

    def _id(self, text: str, used: set[int]) -> int:
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 11 else 0
        if not 0 < number < _MADE_UP or number in used:  # 0 is the id of the idle process
            number = next(self._made_up)
        used.add(number)
        return number

    def _tid(self, pid: str, tid: str, used: set[int]) -> int:
        if tid == pid:
            return self._pids[pid]
        return self._id(tid, used)
