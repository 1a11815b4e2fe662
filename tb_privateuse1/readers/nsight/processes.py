"""Processes of a report: who they are, which devices they see, and what makes their ids unique."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.readers.nsight import schema
from tb_privateuse1.readers.sqlite.columns import Names, Places, ids_of
from tb_privateuse1.readers.sqlite.database import ABSENT, Database
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64

_BITS = 24
_NUMBER = (1 << _BITS) - 1
_STREAMS_OF_A_PROCESS = 1000


class Processes:
    """The processes with device work or calls of the runtime, in the order of their ids.

    A report may have several, and each of them numbers its correlations, devices and streams from
    the start. With several, a device has the number that the machine gives it, and the second
    process on it streams from 1000 on.
    """

    def __init__(self, database: Database, places: Places, names: Names) -> None:
        self._places = places
        listed = [database.numbers(schema.CALLS, ["globalTid"])["globalTid"]]
        work = (schema.KERNELS, schema.COPIES, schema.FILLS, schema.GRAPHS)
        listed += [database.numbers(table, ["globalPid"])["globalPid"] for table in work]
        found = [np.unique(pids_of(column)) for column in listed]
        self._pids = np.unique(np.concatenate(found))
        self.on_device = np.unique(np.concatenate(found[1:]))
        devices = database.numbers(schema.DEVICES, ["gpuId", "cudaId", "pid"])
        known = (devices["gpuId"] >= 0) & (devices["cudaId"] >= 0) & (devices["pid"] >= 0)
        self._devices = {k: column[known] for k, column in devices.items()}
        _read_names(database, places, names)

    def correlations(self, process: I64, correlation: I64) -> I64:
        """Return ids that are unique among all processes; those of the first are as recorded."""
        own = ids_of(correlation)
        return np.where(own >= 0, own + (self._index(process) << 32), NONE)

    def streams(self, process: I64, device: I64, stream: I64) -> tuple[I64, I64]:
        """Return the device and the stream of each row, unique among all processes."""
        device, stream = ids_of(device), ids_of(stream)
        if len(self.on_device) < 2:
            return device, stream
        number = np.full(len(device), NONE)
        for gpu, seen, pid in zip(*(self._devices[k].tolist() for k in self._devices), strict=True):
            number[(device == seen) & (process == pid)] = gpu
        device = np.where(number >= 0, number, device)
        shared = self._shared(process, device)
        moved = stream + self._index(process) * _STREAMS_OF_A_PROCESS
        return device, np.where(shared & (stream >= 0), moved, stream)

    def lanes(self, device: I64, stream: I64) -> I32:
        """Return the thread of each device and stream."""
        pairs, code = np.unique(np.stack((device, stream)), axis=1, return_inverse=True)
        rows = [
            self._places.add(f"device {d}", str(s), f"stream {s}", f"device {d}")
            for d, s in pairs.T.tolist()
        ]
        return np.array(rows, np.int32)[code.reshape(-1)]

    def _index(self, process: I64) -> I64:
        return np.searchsorted(self._pids, process).astype(np.int64)

    @staticmethod
    def _shared(process: I64, device: I64) -> NDArray[np.bool_]:
        pairs = np.unique(np.stack((device, process)), axis=1)
        devices, count = np.unique(pairs[0], return_counts=True)
        return np.isin(device, devices[count > 1])


def pids_of(identifier: I64) -> I64:
    """Return the system's number of the process of each id of a process or thread."""
    return np.where(identifier == ABSENT, 0, (identifier >> _BITS) & _NUMBER)


def tids_of(identifier: I64) -> I64:
    """Return the system's number of the thread of each id of a thread."""
    return np.where(identifier == ABSENT, 0, identifier & _NUMBER)


def _read_names(database: Database, places: Places, names: Names) -> None:
    """Give the host's processes and threads the names that the report has of them."""
    texts = database.texts(schema.PROCESSES, ["pid", "name"])
    places.host_names.update(
        {int(pid): name for pid, name in texts if name and pid.isdecimal() and len(pid) < 10}
    )
    threads = database.numbers(schema.THREADS, ["globalTid", "nameId"])
    title = names.find(threads["nameId"])
    rows = np.flatnonzero((title >= 0) & (threads["globalTid"] != ABSENT))
    ids = threads["globalTid"][rows]
    for pid, tid, row in zip(
        pids_of(ids).tolist(), tids_of(ids).tolist(), title[rows].tolist(), strict=True
    ):
        if text := names.all[row]:
            places.thread_names.setdefault((pid, tid), text)
