"""The tables of one process of a database: rows with times, places and what launched them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from tb_privateuse1.readers.range_names import RangeNames
from tb_privateuse1.readers.raw import Group
from tb_privateuse1.readers.rocprof import columns, schema
from tb_privateuse1.readers.sqlite.columns import (
    Names,
    Places,
    Times,
    group,
    ids_of,
    look_up,
    rows_of,
    valid_times,
)
from tb_privateuse1.readers.sqlite.database import ABSENT, Database
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64

_GRID = ("grid_size_x", "grid_size_y", "grid_size_z")
_BLOCK = ("workgroup_size_x", "workgroup_size_y", "workgroup_size_z")


class ProcessTables:
    """One process: ``number`` keeps its ids apart from those of others in the file.

    ``ending`` is that of its tables' names.
    """

    def __init__(
        self, database: Database, names: Names, places: Places, ending: str, number: int
    ) -> None:
        self._database = database
        self._names = names
        self._places = places
        self._ending = ending
        self._number = number
        self._events = self._table(schema.EVENTS, ["id", "stack_id", "category_id"])
        self._times = self._table(schema.TIMESTAMPS, ["id", "value"])
        self._tracks = self._table(schema.TRACKS, ["id", *schema.PLACES])
        self._devices = self._gpus()

    def kernels(self, first: int) -> tuple[Group, Times, int]:
        """Return the dispatches with their launch configurations."""
        own = ["kernel_id", "group_segment_size", *_GRID, *_BLOCK]
        times, row, rows = self._rows(schema.DISPATCHES, own)
        symbols = self._table(schema.SYMBOLS, ["id", "arch_vgpr_count", "accum_vgpr_count"])
        registers = symbols["arch_vgpr_count"] + np.maximum(symbols["accum_vgpr_count"], 0)
        block = [row[key] for key in _BLOCK]
        grid = columns.grid_of([row[key] for key in _GRID], block)
        return self._on_device(
            times, row, self._kernel_names(row["kernel_id"]), row["agent_id"], first,
            grid=columns.extents(self._names, grid),
            block=columns.extents(self._names, block),
            registers=look_up(symbols["id"], registers, ids_of(row["kernel_id"]), ABSENT),
            shared_bytes=columns.shared_bytes(row["group_segment_size"]),
        ), times, rows  # fmt: skip

    def copies(self, first: int) -> tuple[Group, Times, int]:
        """Return the copies, named by direction as in Kineto's traces, on their device."""
        own = ["name_id", "dst_agent_id", "src_agent_id", "size"]
        times, row, rows = self._rows(schema.COPIES, own)
        name = columns.copy_names(self._names, self._names.names(row["name_id"]))
        target = np.isin(row["dst_agent_id"], self._devices["id"])
        agent = np.where(target, row["dst_agent_id"], row["src_agent_id"])
        return self._on_device(times, row, name, agent, first, bytes=row["size"]), times, rows

    def regions(self, first: int) -> tuple[dict[str, Group], Times, int]:
        """Return calls, operators and annotations by category; others are left out."""
        times, row, rows = self._rows(schema.REGIONS, ["name_id"])
        event = ids_of(row["event_id"])
        category = self._categories(event)
        marker = columns.is_marker(self._names, category)
        texts = RangeNames(self._names)
        messages = self._database.codes(
            schema.EVENTS + self._ending, "extdata", lambda text: _message(texts, text)
        )
        ids = self._events["id"][: len(messages)]
        message = look_up(ids, messages[: len(ids)], event, NONE)
        name = self._names.names(row["name_id"])
        written, sequence, shapes, operator = texts.columns(message)
        name = np.where(marker & (message >= 0), written, name).astype(np.int32)
        operator &= marker
        regions = group(
            times, name, self._threads(row), first,
            correlation=np.where(marker, NONE, self._correlations(event)),
            sequence=sequence,
            shapes=shapes,
        )  # fmt: skip
        found = columns.by_kind(self._names, category, regions, operator)
        return found, times, rows

    def _rows(self, base: str, own: Sequence[str]) -> tuple[Times, dict[str, I64], int]:
        wanted = [
            *own,
            *schema.PLACES,
            "event_id",
            "track_id",
            "start",
            "end",
            "start_id",
            "end_id",
        ]
        table = self._table(base, wanted)
        for key in ("start", "end"):
            at = look_up(
                self._times["id"], self._times["value"], ids_of(table[f"{key}_id"]), ABSENT
            )
            table[key] = np.where(table[key] == ABSENT, at, table[key])
        track = ids_of(table["track_id"])
        for key in schema.PLACES:
            of_track = look_up(self._tracks["id"], self._tracks[key], track, ABSENT)
            table[key] = np.where(table[key] == ABSENT, of_track, table[key])
        times = valid_times(table["start"], table["end"])
        return times, rows_of(table, times), len(table["start"])

    def _on_device(
        self, times: Times, row: dict[str, I64], name: I32, agent: I64, first: int,
        **arguments: I64 | I32,
    ) -> Group:  # fmt: skip
        device = look_up(self._devices["id"], self._devices["type_index"], ids_of(agent), 0)
        stream, lane = columns.lanes(self._places, device, row["stream_id"], row["queue_id"])
        return group(
            times, name, lane, first,
            device=device,
            stream=stream,
            correlation=self._correlations(ids_of(row["event_id"])),
            **arguments,
        )  # fmt: skip

    def _correlations(self, event: I64) -> I64:
        """Return the number of the call of each event, which the work it launched has, too."""
        stack = look_up(self._events["id"], self._events["stack_id"], event, NONE)
        return columns.call_numbers(stack, self._number)

    def _categories(self, event: I64) -> I32:
        number = look_up(self._events["id"], self._events["category_id"], event, NONE)
        table = schema.CATEGORIES + self._ending
        if not self._database.has(table):
            return self._names.find(number)
        return Names(self._database, table, "name", self._names).find(number)

    def _kernel_names(self, kernel: I64) -> I32:
        table = schema.SYMBOLS + self._ending
        names = Names(self._database, table, "display_name", self._names).names(ids_of(kernel))
        plain = Names(self._database, table, "kernel_name", self._names).names(ids_of(kernel))
        return np.where(names == self._names.index(""), plain, names).astype(np.int32)

    def _threads(self, row: dict[str, I64]) -> I32:
        """Return the thread of each row, whose columns name rows of processes and threads."""
        processes = self._table(schema.PROCESSES, ["id", "pid"])
        threads = self._table(schema.THREADS, ["id", "tid"])
        pid, tid = ids_of(row["pid"]), ids_of(row["tid"])
        known = look_up(processes["id"], processes["pid"], pid, NONE)
        thread = look_up(threads["id"], threads["tid"], tid, NONE)
        return self._places.host(
            np.where(known >= 0, known, pid), np.where(thread >= 0, thread, tid)
        )

    def _gpus(self) -> dict[str, I64]:
        table = schema.AGENTS + self._ending
        agents = self._database.numbers(table, ["id", "type_index"])
        kinds = [kind == "GPU" for (kind,) in self._database.texts(table, ["type"])]
        rows = np.flatnonzero(np.array(kinds, np.bool_)[: len(agents["id"])])
        rows = rows[agents["type_index"][rows] >= 0]
        return {key: column[rows] for key, column in agents.items()}

    def _table(self, base: str, wanted: Sequence[str]) -> dict[str, I64]:
        return self._database.numbers(base + self._ending, wanted)


def read_metadata(database: Database, endings: Sequence[str]) -> dict[str, Any]:
    """Return the metadata of a trace: the devices and the host."""
    metadata: dict[str, Any] = {}
    devices: dict[int, dict[str, Any]] = {}
    for ending in endings:
        wanted = ["type", "type_index", "product_name", "name"]
        for kind, number, product, name in database.texts(schema.AGENTS + ending, wanted):
            if kind == "GPU" and number.isdecimal() and len(number) < 10:
                devices.setdefault(int(number), {"id": int(number), "name": product or name})
        for (name,) in database.texts(schema.NODES + ending, ["hostname"]):
            metadata.setdefault("host_name", name)
    if devices:
        metadata["deviceProperties"] = [devices[number] for number in sorted(devices)]
    return metadata


def _message(texts: RangeNames, extra: str) -> int:
    """Return the number of the text that a marker has, ``NONE`` without one."""
    if '"message"' not in extra:
        return NONE
    try:
        message = json.loads(extra).get("message")
    except (ValueError, RecursionError, AttributeError):
        return NONE
    return texts.number(message) if isinstance(message, str) and message else NONE
