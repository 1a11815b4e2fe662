"""The tables of one process of a database: rows with times, places and what launched them."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from tb_privateuse1.readers.range_names import RangeNames
from tb_privateuse1.readers.raw import Group
from tb_privateuse1.readers.rocprof import schema
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
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64

_GRID = ("grid_size_x", "grid_size_y", "grid_size_z")
_BLOCK = ("workgroup_size_x", "workgroup_size_y", "workgroup_size_z")
_NUMBER_BITS = 40


class Process:
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
        shared = row["group_segment_size"]
        blocks = [
            np.where(row[block] > 0, -(-row[grid] // np.maximum(row[block], 1)), ABSENT)
            for grid, block in zip(_GRID, _BLOCK, strict=True)
        ]
        return self._on_device(
            times, row, self._kernel_names(row["kernel_id"]), row["agent_id"], first,
            grid=self._extents(blocks),
            block=self._extents([row[block] for block in _BLOCK]),
            registers=look_up(symbols["id"], registers, ids_of(row["kernel_id"]), ABSENT),
            shared_bytes=np.where((shared >= 0) & (shared < 1 << 40), shared, ABSENT),
        ), times, rows  # fmt: skip

    def copies(self, first: int) -> tuple[Group, Times, int]:
        """Return the copies, named by direction as in Kineto's traces, on their device."""
        own = ["name_id", "dst_agent_id", "src_agent_id", "size"]
        times, row, rows = self._rows(schema.COPIES, own)
        name = self._names.convert(self._names.names(row["name_id"]), _copy_title)
        target = np.isin(row["dst_agent_id"], self._devices["id"])
        agent = np.where(target, row["dst_agent_id"], row["src_agent_id"])
        name = np.where(name >= 0, name, self._names.index("")).astype(np.int32)
        return self._on_device(times, row, name, agent, first, bytes=row["size"]), times, rows

    def regions(self, first: int) -> tuple[dict[str, Group], Times, int]:
        """Return calls, operators and annotations by category; others are left out."""
        times, row, rows = self._rows(schema.REGIONS, ["name_id"])
        event = ids_of(row["event_id"])
        category = self._categories(event)
        marker = self._names.matching(category, lambda text: text.startswith(schema.MARKERS))
        library = self._names.matching(category, lambda text: text.startswith(schema.LIBRARIES))
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
        lasting = times.end_ns > times.start_ns
        kinds = {"cpu_op": operator, "user_annotation": (marker & lasting & ~operator) | library}
        for beginning, kind in schema.CALLS.items():
            starts = functools.partial(_starts_with, beginning)
            kinds[kind] = self._names.matching(category, starts)
        found = {kind: regions.take(mask) for kind, mask in kinds.items() if mask.any()}
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
        columns = self._table(base, wanted)
        for key in ("start", "end"):
            at = look_up(
                self._times["id"], self._times["value"], ids_of(columns[f"{key}_id"]), ABSENT
            )
            columns[key] = np.where(columns[key] == ABSENT, at, columns[key])
        track = ids_of(columns["track_id"])
        for key in schema.PLACES:
            of_track = look_up(self._tracks["id"], self._tracks[key], track, ABSENT)
            columns[key] = np.where(columns[key] == ABSENT, of_track, columns[key])
        times = valid_times(columns["start"], columns["end"])
        return times, rows_of(columns, times), len(columns["start"])

    def _on_device(
        self, times: Times, row: dict[str, I64], name: I32, agent: I64, first: int,
        **arguments: I64 | I32,
    ) -> Group:  # fmt: skip
        device = look_up(self._devices["id"], self._devices["type_index"], ids_of(agent), 0)
        stream = np.maximum(ids_of(row["stream_id"]), 0)
        if len(np.unique(stream)) < 2:  # streams are not recorded unless it is asked for
            stream = np.maximum(ids_of(row["queue_id"]), 0)
        pairs, code = np.unique(np.stack((device, stream)), axis=1, return_inverse=True)
        lanes = [
            self._places.add(f"device {d}", str(s), f"stream {s}", f"device {d}")
            for d, s in pairs.T.tolist()
        ]
        return group(
            times, name, np.array(lanes, np.int32)[code.reshape(-1)], first,
            device=device,
            stream=stream,
            correlation=self._correlations(ids_of(row["event_id"])),
            **arguments,
        )  # fmt: skip

    def _correlations(self, event: I64) -> I64:
        """Return the number of the call of each event, which the work it launched has, too."""
        stack = look_up(self._events["id"], self._events["stack_id"], event, NONE)
        valid = (stack > 0) & (stack < 1 << _NUMBER_BITS)
        return np.where(valid, stack + (self._number << _NUMBER_BITS), NONE)

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

    def _extents(self, columns: Sequence[I64]) -> I32:
        """Return the sizes of a grid or block as JSON; ``NONE`` if one is not known."""
        firsts, code = group_rows(*columns)
        sizes = zip(*(column[firsts].tolist() for column in columns), strict=True)
        texts = [
            self._names.index(f"[{x},{y},{z}]") if min(x, y, z) > 0 and max(x, y, z) < 1 << 32
            else NONE for x, y, z in sizes
        ]  # fmt: skip
        return np.array(texts, np.int32)[code]

    def _table(self, base: str, columns: Sequence[str]) -> dict[str, I64]:
        return self._database.numbers(base + self._ending, columns)


def read_metadata(database: Database, endings: Sequence[str]) -> dict[str, Any]:
    """Return the metadata of a trace: the devices and the host."""
    metadata: dict[str, Any] = {}
    devices: dict[int, dict[str, Any]] = {}
    for ending in endings:
        columns = ["type", "type_index", "product_name", "name"]
        for kind, number, product, name in database.texts(schema.AGENTS + ending, columns):
            if kind == "GPU" and number.isdecimal() and len(number) < 10:
                devices.setdefault(int(number), {"id": int(number), "name": product or name})
        for (name,) in database.texts(schema.NODES + ending, ["hostname"]):
            metadata.setdefault("host_name", name)
    if devices:
        metadata["deviceProperties"] = [devices[number] for number in sorted(devices)]
    return metadata


def _starts_with(beginning: str, text: str) -> bool:
    return text.startswith(beginning)


def _copy_title(name: str) -> str:
    known = (title for end, title in schema.DIRECTIONS.items() if name.upper().endswith(end))
    return next(known, name)


def _message(texts: RangeNames, extra: str) -> int:
    """Return the number of the text that a marker has, ``NONE`` without one."""
    if '"message"' not in extra:
        return NONE
    try:
        message = json.loads(extra).get("message")
    except (ValueError, RecursionError, AttributeError):
        return NONE
    return texts.number(message) if isinstance(message, str) and message else NONE
