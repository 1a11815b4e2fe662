"""Read the device's side of an export: kernels, copies, fills, graphs and waits."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.readers.nsight import schema
from tb_privateuse1.readers.nsight.processes import Processes, pids_of
from tb_privateuse1.readers.nsight.session import Session
from tb_privateuse1.readers.raw import Group
from tb_privateuse1.readers.sqlite.columns import (
    Names,
    Times,
    group,
    ids_of,
    rows_of,
)
from tb_privateuse1.readers.sqlite.database import ABSENT, Database
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64

_WHERE = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid")
_GRID = ("gridX", "gridY", "gridZ")
_BLOCK = ("blockX", "blockY", "blockZ")


class Device:
    """The device's tables, read one by one; each result is with its times and its rows."""

    def __init__(
        self, database: Database, names: Names, session: Session, processes: Processes
    ) -> None:
        self._database = database
        self._names = names
        self._session = session
        self._processes = processes

    def kernels(self, first: int) -> tuple[Group, Times, int]:
        """Return the kernels with their launch configurations."""
        own = ["demangledName", "shortName", "mangledName", "registersPerThread",
               "staticSharedMemory", "dynamicSharedMemory", *_GRID, *_BLOCK]  # fmt: skip
        times, row, rows = self._rows(schema.KERNELS, own)
        name = self._names.find(row["demangledName"])
        for other in ("shortName", "mangledName"):
            name = np.where(name >= 0, name, self._names.find(row[other])).astype(np.int32)
        fixed, asked = row["staticSharedMemory"], row["dynamicSharedMemory"]
        shared = np.where((fixed >= 0) & (asked >= 0), fixed + asked, ABSENT)
        name = np.where(name >= 0, name, self._names.index("")).astype(np.int32)
        return self._group(
            times, row, name, first,
            grid=self._extents(row, _GRID),
            block=self._extents(row, _BLOCK),
            registers=row["registersPerThread"],
            shared_bytes=np.where(shared < 1 << 40, shared, ABSENT),
        ), times, rows  # fmt: skip

    def copies(self, first: int) -> tuple[Group, Times, int]:
        """Return the copies, named by direction and kinds of memory as in Kineto's traces."""
        own = ["bytes", "copyKind", "srcKind", "dstKind"]
        times, row, rows = self._rows(schema.COPIES, own)
        kinds = self._memory_kinds()
        firsts, code = group_rows(*(row[key] for key in own[1:]))
        titles = []
        distinct = (row[key][firsts].tolist() for key in own[1:])
        for kind, source, target in zip(*distinct, strict=True):
            title = f"Memcpy {schema.DIRECTIONS.get(kind, 'Unknown')}"
            if source in kinds and target in kinds:
                title += f" ({kinds[source]} -> {kinds[target]})"
            titles.append(self._names.index(title))
        name = np.array(titles, np.int32)[code]
        return self._group(times, row, name, first, bytes=row["bytes"]), times, rows

    def fills(self, first: int) -> tuple[Group, Times, int]:
        """Return the fills of memory with a value."""
        times, row, rows = self._rows(schema.FILLS, ["bytes", "memKind"])
        kinds = self._memory_kinds()
        distinct, code = np.unique(row["memKind"], return_inverse=True)
        titles = [f"Memset ({kinds[k]})" if k in kinds else "Memset" for k in distinct.tolist()]
        index = np.array([self._names.index(title) for title in titles], np.int32)
        name = index[code.reshape(-1)]
        return self._group(times, row, name, first, bytes=row["bytes"]), times, rows

    def graphs(self, first: int) -> tuple[Group, Times, int]:
        """Return the runs of graphs whose kernels the report does not have one by one."""
        times, row, rows = self._rows(schema.GRAPHS, ["graphId"])
        distinct, code = np.unique(row["graphId"], return_inverse=True)
        titles = [f"Graph {number}" if number >= 0 else "Graph" for number in distinct.tolist()]
        index = np.array([self._names.index(title) for title in titles], np.int32)
        return self._group(times, row, index[code.reshape(-1)], first), times, rows

    def waits(self, first: int) -> tuple[Group, Times, int]:
        """Return the waits of the host and of streams, with the stream they wait for."""
        times, row, rows = self._rows(schema.WAITS, ["syncType", "eventId"])
        kind = row["syncType"]
        distinct, code = np.unique(kind, return_inverse=True)
        titles = [schema.WAIT_NAMES.get(number, "Synchronization") for number in distinct.tolist()]
        index = np.array([self._names.index(title) for title in titles], np.int32)
        record, awaited = self._records(row)
        of_event = (kind == schema.EVENT_SYNC) | (kind == schema.STREAM_WAIT)
        has_stream = (kind == schema.STREAM_WAIT) | (kind == schema.STREAM_SYNC)
        waits = self._group(
            times, row, index[code.reshape(-1)], first,
            awaited_stream=np.where(of_event, awaited, NONE),
            record_correlation=np.where(of_event, record, NONE),
        )  # fmt: skip
        waits.ids["stream"][~has_stream] = NONE
        return waits, times, rows

    def _records(self, row: dict[str, I64]) -> tuple[I64, I64]:
        """Return the correlation and the stream of the last record of each wait's event before it.

        Correlations grow with time within a process.
        """
        table = self._database.numbers(
            schema.RECORDS, ["deviceId", "streamId", "correlationId", "globalPid", "eventId"]
        )
        process = pids_of(table["globalPid"])
        stream = self._processes.streams(process, table["deviceId"], table["streamId"])[1]
        recorded = self._processes.correlations(process, table["correlationId"])
        event = ids_of(table["eventId"])
        wanted = self._processes.correlations(pids_of(row["globalPid"]), row["correlationId"])
        none = np.full(len(wanted), NONE)
        if not len(event) or not len(wanted):
            return none, none
        both = np.concatenate((event, ids_of(row["eventId"])))
        number = np.unique(both, return_inverse=True)[1].reshape(-1)
        order_of, at = np.unique(np.concatenate((recorded, wanted)), return_inverse=True)
        key = number * len(order_of) + at.reshape(-1)
        order = np.argsort(key[: len(event)], kind="stable")
        place = np.searchsorted(key[: len(event)], key[len(event) :], side="right", sorter=order)
        last = order[np.maximum(place - 1, 0)]
        same = (place > 0) & (number[last] == number[len(event) :])
        same &= (ids_of(row["eventId"]) >= 0) & (wanted >= 0) & (recorded[last] >= 0)
        same &= process[last] == pids_of(row["globalPid"])
        return np.where(same, recorded[last], NONE), np.where(same, stream[last], NONE)

    def _rows(self, table: str, own: list[str]) -> tuple[Times, dict[str, I64], int]:
        columns = self._database.numbers(table, [*_WHERE, *own])
        times = self._session.times(columns["start"], columns["end"])
        return times, rows_of(columns, times), len(columns["start"])

    def _group(
        self, times: Times, row: dict[str, I64], name: I32, first: int, **arguments: I64 | I32
    ) -> Group:
        process = pids_of(row["globalPid"])
        device, stream = self._processes.streams(process, row["deviceId"], row["streamId"])
        return group(
            times, name, self._processes.lanes(device, stream), first,
            device=device,
            stream=stream,
            correlation=self._processes.correlations(process, row["correlationId"]),
            **arguments,
        )  # fmt: skip

    def _extents(self, row: dict[str, I64], axes: tuple[str, ...]) -> I32:
        """Return the sizes of a grid or block as JSON; ``NONE`` if one is not known."""
        columns = [row[axis] for axis in axes]
        firsts, code = group_rows(*columns)
        sizes = zip(*(column[firsts].tolist() for column in columns), strict=True)
        texts = [
            self._names.index(f"[{x},{y},{z}]") if min(x, y, z) > 0 and max(x, y, z) < 1 << 32
            else NONE for x, y, z in sizes
        ]  # fmt: skip
        return np.array(texts, np.int32)[code]

    def _memory_kinds(self) -> dict[int, str]:
        texts = self._database.texts(schema.MEMORY_KINDS, ["id", "label"])
        return {int(i): label for i, label in texts if label and i.isdecimal() and len(i) < 10}
