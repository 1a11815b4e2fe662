"""Read the JSON of rocprofv3 as raw columns, and single records of it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.range_names import RangeNames
from tb_privateuse1.readers.raw import MISSING_OF, Flows, Group, Progress, Raw
from tb_privateuse1.readers.rocprof import columns, json_document, schema
from tb_privateuse1.readers.rocprof.json_document import Call, Copy, Dispatch, Record
from tb_privateuse1.readers.sqlite.columns import (
    Places,
    Strings,
    Times,
    group,
    look_up,
    valid_times,
)
from tb_privateuse1.readers.sqlite.database import ABSENT
from tb_privateuse1.trace.errors import no_event
from tb_privateuse1.trace.file_checkpoints import Checkpoints
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64

_LIMIT = 1 << 63
_MOST_DEVICES = 1 << 30
_R = TypeVar("_R", bound=Record)


def read(path: str, progress: Progress | None = None) -> Raw:
    """Return the columns of a file; ``findings`` list its problems.

    Raises TraceError ``unreadable``, ``too_large``, ``not_json`` or ``not_a_trace``.
    """
    tally = Tally()
    strings = Strings()
    places = Places(strings, "Process")
    groups: dict[str, list[Group]] = {}
    devices: dict[int, dict[str, Any]] = {}
    metadata: dict[str, Any] = {}
    first = working = 0
    for number, content in enumerate(json_document.load(path, tally, progress)):
        process = _Process(content, number, strings, places, tally)
        devices |= process.devices | devices
        if process.host_name:
            metadata.setdefault("host_name", process.host_name)
        found, rows = process.read(first)
        for category, events in found:
            groups.setdefault(category, []).append(events)
        working += any(category in ("kernel", "gpu_memcpy") for category, _ in found)
        first += rows
    if devices:
        metadata["deviceProperties"] = [devices[number] for number in sorted(devices)]
    tally.add("several_processes", working if working > 1 else 0)
    return Raw(
        base_ns=0,
        strings=tuple(strings.all),
        threads=places.threads(),
        groups={c: Group.join(parts, MISSING_OF) for c, parts in groups.items()},
        memory=Group.join([]),
        flows=Flows.empty(),
        metadata=metadata,
        findings=tally.findings(),
        process_names=places.process_names,
    )


def read_record(path: str, _checkpoints: Checkpoints, event: int) -> Mapping[str, Any]:
    """Return the record of an event's number with all its fields. Raises TraceError ``no_event``.

    Also raises as ``read`` does.
    """
    left = event if event >= 0 else _LIMIT
    for process in json_document.load(path, Tally()):
        tables = json_document.tables(process, Tally())
        for table in schema.JSON_TABLES:
            rows = json_document.texts(tables[table]) if table in tables else []
            if left < len(rows):
                return {"table": table} | json_document.fields(rows[left])
            left -= len(rows)
    raise no_event(path)


class _Process:
    """One process: ``number`` keeps its ids apart from those of others in the file."""

    def __init__(
        self, content: json_document.ProcessRecord, number: int, strings: Strings, places: Places,
        tally: Tally,
    ) -> None:  # fmt: skip
        self._content = content
        self._number = number
        self._strings = strings
        self._places = places
        self._tally = tally
        metadata = json_document.one(content.metadata, json_document.Metadata, tally)
        self._pid = _number(metadata.pid)
        self.host_name = metadata.node.hostname
        self._texts = json_document.one(content.strings, json_document.Texts, tally)
        self._kinds = self._list(self._texts.buffer_records, json_document.Kind)
        self.devices: dict[int, dict[str, Any]] = {}
        self._agents: dict[int, int] = {}
        for agent in self._list(content.agents, json_document.Agent):
            if agent is not None and agent.type == schema.GPU:
                index = agent.logical_node_type_id
                index = index if 0 <= index < _MOST_DEVICES else len(self._agents)
                self._agents.setdefault(_number(agent.id.handle), index)
                name = agent.product_name or agent.name
                self.devices.setdefault(index, {"id": index, "name": name})

    def read(self, first: int) -> tuple[list[tuple[str, Group]], int]:
        """Return the events by category, and how many rows they had; ``first`` is their number."""
        found: list[tuple[str, Group]] = []
        tables = json_document.tables(self._content, self._tally)
        start = first
        for table in schema.JSON_TABLES:
            if table not in tables:
                continue
            if table in schema.JSON_CALLS:
                calls = self._list(tables[table], Call)
                found += self._calls(calls, start).items()
                start += len(calls)
            elif table == "kernel_dispatch":
                dispatches = self._list(tables[table], Dispatch)
                found.append(("kernel", self._kernels(dispatches, start)))
                start += len(dispatches)
            else:
                copies = self._list(tables[table], Copy)
                found.append(("gpu_memcpy", self._copies(copies, start)))
                start += len(copies)
        return [(category, events) for category, events in found if len(events)], start - first

    def _kernels(self, rows: Sequence[Dispatch | None], first: int) -> Group:
        times, valid = self._times(rows)
        infos = [row.dispatch_info for row in valid]
        sizes = [row.workgroup_size for row in infos]
        items = [row.grid_size for row in infos]
        block = [_column([getattr(size, key) for size in sizes]) for key in "xyz"]
        grid = [_column([getattr(size, key) for size in items]) for key in "xyz"]
        kernel = _column([row.kernel_id for row in infos])
        names, registers = self._symbols(kernel)
        device = self._device(_column([row.agent_id.handle for row in infos]))
        queue = _column([row.queue_id.handle for row in infos])
        stream, lane = columns.lanes(self._places, device, _streams(valid), queue)
        return group(
            times, names, lane, first,
            device=device,
            stream=stream,
            correlation=self._correlations(valid),
            grid=columns.extents(self._strings, columns.grid_of(grid, block)),
            block=columns.extents(self._strings, block),
            registers=registers,
            shared_bytes=columns.shared_bytes(_column([row.group_segment_size for row in infos])),
        )  # fmt: skip

    def _copies(self, rows: Sequence[Copy | None], first: int) -> Group:
        times, valid = self._times(rows)
        names = columns.copy_names(self._strings, self._operations(valid)[1])
        target = _column([row.dst_agent_id.handle for row in valid])
        origin = _column([row.src_agent_id.handle for row in valid])
        to_device = np.isin(target, list(self._agents))
        device = self._device(np.where(to_device, target, origin))
        stream, lane = columns.lanes(self._places, device, _streams(valid), _streams(valid))
        return group(
            times, names, lane, first,
            device=device,
            stream=stream,
            correlation=self._correlations(valid),
            bytes=_column([row.bytes for row in valid]),
        )  # fmt: skip

    def _calls(self, rows: Sequence[Call | None], first: int) -> dict[str, Group]:
        times, valid = self._times(rows)
        category, name = self._operations(valid)
        marker = columns.is_marker(self._strings, category)
        correlation = _column([row.correlation_id.internal for row in valid])
        texts = RangeNames(self._strings)
        message = self._messages(texts, correlation) if marker.any() else np.full(len(valid), NONE)
        written, sequence, shapes, operator = texts.columns(message)
        name = np.where(marker & (message >= 0), written, name).astype(np.int32)
        thread = _column([row.thread_id for row in valid])
        regions = group(
            times, name, self._places.host(np.full(len(valid), self._pid), thread), first,
            correlation=np.where(marker, NONE, columns.call_numbers(correlation, self._number)),
            sequence=sequence,
            shapes=shapes,
        )  # fmt: skip
        return columns.by_kind(self._strings, category, regions, operator)

    def _times(self, rows: Sequence[Any]) -> tuple[Times, list[Any]]:
        start = _column([ABSENT if row is None else row.start_timestamp for row in rows])
        end = _column([ABSENT if row is None else row.end_timestamp for row in rows])
        times = valid_times(start, end)
        damaged = sum(row is None for row in rows)
        self._tally.add("events_without_time", times.without - damaged)
        self._tally.add("negative_durations", times.negative)
        return times, [rows[row] for row in times.rows.tolist()]

    def _operations(self, rows: Sequence[Call | Copy]) -> tuple[I32, I32]:
        """Return the kind and the name of each record; a number that is not known has none."""
        pairs: dict[tuple[int, int], tuple[int, int]] = {}
        for pair in {(row.kind, row.operation) for row in rows}:
            kind, operation = pair
            known = self._kinds[kind] if 0 <= kind < len(self._kinds) else None
            names = known.operations if known is not None else ()
            name = names[operation] if 0 <= operation < len(names) else ""
            title = known.kind if known is not None else ""
            pairs[pair] = self._strings.index(title), self._strings.index(name)
        found = [pairs[row.kind, row.operation] for row in rows]
        category, name_of = np.array(found, np.int32).reshape(-1, 2).T
        return category, name_of

    def _messages(self, texts: RangeNames, correlation: I64) -> I64:
        """Return the number of each range's text, ``NONE`` without one."""
        found = [m for m in self._list(self._texts.marker_api, json_document.Message) if m]
        wanted = set(correlation.tolist())
        numbers = {m.key: texts.number(m.value) for m in found if m.key in wanted and m.value}
        return look_up(_column(list(numbers)), _column(list(numbers.values())), correlation, NONE)

    def _symbols(self, kernel: I64) -> tuple[I32, I64]:
        """Return the name and the registers of each kernel."""
        used = set(kernel.tolist())
        known = [s for s in self._list(self._content.kernel_symbols, json_document.Symbol) if s]
        known = [symbol for symbol in known if symbol.kernel_id in used]
        keys = _column([symbol.kernel_id for symbol in known])
        empty = self._strings.index("")
        index = [self._strings.index(s.formatted_kernel_name or s.kernel_name) for s in known]
        names = look_up(keys, _column(index), kernel, empty)
        vector = _column([symbol.arch_vgpr_count for symbol in known])
        more = _column([symbol.accum_vgpr_count for symbol in known])
        registers = look_up(keys, vector + np.maximum(more, 0), kernel, ABSENT)
        return names.astype(np.int32), registers

    def _device(self, agent: I64) -> I64:
        keys, values = list(self._agents), list(self._agents.values())
        return look_up(_column(keys), _column(values), agent, 0)

    def _correlations(self, rows: Sequence[Dispatch | Copy]) -> I64:
        numbers = _column([row.correlation_id.internal for row in rows])
        return columns.call_numbers(numbers, self._number)

    def _list(self, text: msgspec.Raw, kind: type[_R]) -> list[_R | None]:
        return json_document.rows(text, kind, self._tally)


def _streams(rows: Sequence[Dispatch | Copy]) -> I64:
    return _column([row.stream_id.handle for row in rows])


def _number(value: int) -> int:
    return value if 0 <= value < _LIMIT else int(ABSENT)


def _column(values: Sequence[int]) -> I64:
    """Return numbers as a column; ``ABSENT`` for those that are larger than it holds."""
    try:
        return np.array(values, np.int64)
    except OverflowError:
        return np.array([_number(value) for value in values], np.int64)
