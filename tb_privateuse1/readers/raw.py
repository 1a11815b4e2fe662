"""Raw columns: what every reader returns, before kernels and steps are recognized."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from tb_privateuse1.trace.collective_entries import CollectiveEntries
from tb_privateuse1.trace.file_checkpoints import Checkpoints
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import MISSING, NONE, Threads
from tb_privateuse1.trace.recorded_counters import CounterSamples, CounterSeries
from tb_privateuse1.trace.recorded_metadata import Compilations, CompileNotes, MemoryBlocks, Refusal
from tb_privateuse1.trace.table import (
    I32,
    I64,
    Code,
    MaybeText,
    Name,
    SmallNumber,
    Table,
    ThreadRow,
)

_IDS = (
    "external_id",
    "external_id_2021",
    "correlation",
    "device",
    "stream",
    "awaited_stream",
    "record_correlation",
    "sequence",
    "forward_thread",
    "python_id",
    "python_parent",
    "module_id",
    "record_function",
    "rank_start",
    "rank_stride",
    "source_rank",
    "target_rank",
    "graph_node",
)
_QUANTITIES = (
    "bytes",
    "start_bound_ns",
    "shift_bound_ns",
    "duration_bound_ns",
    "address",
    "device_type",
    "device_id",
    "memory_bytes",
    "allocated_bytes",
    "reserved_bytes",
    "in_elements",
    "out_elements",
    "group_size",
    "rank_elements",
    "registers",
    "shared_bytes",
)
MISSING_OF = dict.fromkeys(_IDS, NONE) | dict.fromkeys(_QUANTITIES, int(MISSING))
"""The value for a missing number, by argument."""

Progress = Callable[[str, int, int, int], None]
"""Called now and then: phase, bytes done, bytes in all, events so far. May raise to cancel."""


class Group(Struct, frozen=True):
    """The complete events of one category: ranges with a start and an end.

    ``event`` is the event's number in the file (for a pair of events, the number of the first).
    ``ids`` holds numeric arguments, ``texts`` strings (indices into ``Raw.strings``); a column is
    absent if no event of the category has that argument.
    """

    name: I32
    start_ns: I64
    end_ns: I64
    thread: I32
    event: I32
    ids: Mapping[str, I64] = field(default_factory=dict)
    texts: Mapping[str, I32] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.name)

    def take(self, rows: NDArray[Any] | slice) -> Group:
        """Return the rows of an index array, a mask, or (without a copy) a slice."""
        return Group(
            self.name[rows],
            self.start_ns[rows],
            self.end_ns[rows],
            self.thread[rows],
            self.event[rows],
            {key: column[rows] for key, column in self.ids.items()},
            {key: column[rows] for key, column in self.texts.items()},
        )

    def id(self, key: str, missing: int = NONE) -> I64:
        """Return an argument's column; all ``missing`` if no event has it."""
        column = self.ids.get(key)
        return np.full(len(self), missing, np.int64) if column is None else column

    def text(self, key: str) -> I32:
        """Return a string argument's column; all ``NONE`` if no event has it."""
        column = self.texts.get(key)
        return np.full(len(self), NONE, np.int32) if column is None else column

    @classmethod
    def join(cls, groups: Sequence[Group], missing: Mapping[str, int] | None = None) -> Group:
        """Concatenate groups; ``missing`` fills columns of numbers that some groups lack."""
        if len(groups) == 1:
            return groups[0]
        missing = missing or {}
        ids = {key for g in groups for key in g.ids}
        texts = {key for g in groups for key in g.texts}

        def concatenate(columns: list[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
            return np.concatenate([np.empty(0, dtype), *columns])

        return cls(
            concatenate([g.name for g in groups], np.int32),
            concatenate([g.start_ns for g in groups], np.int64),
            concatenate([g.end_ns for g in groups], np.int64),
            concatenate([g.thread for g in groups], np.int32),
            concatenate([g.event for g in groups], np.int32),
            {
                k: concatenate([g.id(k, missing.get(k, NONE)) for g in groups], np.int64)
                for k in ids
            },
            {k: concatenate([g.text(k) for g in groups], np.int32) for k in texts},
        )


class Flows(Table, frozen=True):
    """The ends of flow arrows between events, one per row; ``finish`` is 1 at the arrow's head."""

    category: Name
    id: I64
    ts_ns: I64
    thread: ThreadRow
    finish: SmallNumber


class TensorUses(Table, frozen=True):
    """Tensors that operators take and return, in the order of an execution trace.

    ``event`` is the number of the operator's event, ``access`` and the others are as in
    ``trace.model.Tensors``; ``storage`` is the number that torch gave to an address, which a later
    tensor may have again, ``NONE`` without memory.
    """

    event: SmallNumber
    access: Code
    argument: SmallNumber
    storage: I64
    offset: I64
    elements: I64
    item_bytes: I64
    device_name: MaybeText


class Counters(Struct, frozen=True):
    """Recorded counters: ``samples`` are in the file's order, processes as ``threads`` spells."""

    series: CounterSeries = field(default_factory=CounterSeries.empty)
    samples: CounterSamples = field(default_factory=CounterSamples.empty)


class KernelSource(Struct, frozen=True):
    """A kernel in a file that its compiler has generated."""

    name: str
    file: str
    text: str


class CompileLog(Struct, frozen=True):
    """A log of compilation that is of the trace's process; its times are absolute."""

    name: str
    compilations: Compilations
    notes: CompileNotes
    sources: tuple[KernelSource, ...]


class Raw(Struct, frozen=True):
    """A trace file as columns. Times are ns since ``base_ns`` (absolute, int64)."""

    base_ns: int
    strings: tuple[str, ...]
    threads: Threads
    groups: dict[str, Group]
    """Complete events by category, as the file spells it."""
    memory: Group
    flows: Flows
    metadata: Mapping[str, Any]
    """The file's top-level keys except the events."""
    findings: tuple[Finding, ...] = ()
    checkpoints: Checkpoints = field(default_factory=Checkpoints.empty)
    counters: Counters = field(default_factory=Counters)
    tensors: TensorUses = field(default_factory=TensorUses.empty)
    entries: CollectiveEntries = field(default_factory=CollectiveEntries.empty)
    """Of the rank's flight recorder; their times are absolute."""
    process_names: Mapping[str, str] = field(default_factory=dict)
    """By pid, as ``threads`` spells it."""
    kernel_sources: tuple[KernelSource, ...] = ()
    compile_logs: tuple[CompileLog, ...] = ()
    """All that may be of this process: of several, nobody knows which is."""
    memory_blocks: MemoryBlocks = field(default_factory=MemoryBlocks.empty)
    refusals: tuple[Refusal, ...] = ()
    reader: str = "chrome"
    """The name of the reader that made it; ``readers.read`` sets it."""

    def of_processes(self, label: str) -> Raw:
        """Return what a merged file has of one rank: of the processes whose number has a label.

        The ranks' correlations and External ids are the same numbers. The metadata's rank is that
        of another rank; counters have no rank.
        """
        start = f"{label} "
        pids = [text.startswith(start) for text in (*self.strings, "")]
        own = np.append(np.array(pids, np.bool_)[self.threads.pid], False)
        plain = tuple(text.removeprefix(start) for text in self.strings)
        groups = {c: group.take(own[group.thread]) for c, group in self.groups.items()}
        return replace(
            self,
            strings=plain,
            groups={c: group for c, group in groups.items() if len(group)},
            memory=self.memory.take(own[self.memory.thread]),
            flows=self.flows.take(own[self.flows.thread]),
            metadata=self.metadata_without_rank(),
            counters=Counters(),
            process_names={
                pid.removeprefix(start): name
                for pid, name in self.process_names.items()
                if pid.startswith(start)
            },
        )

    def metadata_without_rank(self) -> dict[str, Any]:
        """Return the metadata of a merged file, whose rank is that of one of its ranks."""
        metadata = dict(self.metadata)
        if isinstance(info := metadata.get("distributedInfo"), dict):
            metadata["distributedInfo"] = {k: v for k, v in info.items() if k != "rank"}
        return metadata


class HostLaunches(Table, frozen=True):
    """When the host launched device work, where the backend recorded it: a row per launch.

    ``host_ns`` is absolute, as ``Raw.base_ns``; ``thread`` is the system's number.
    """

    host_ns: I64
    thread: I64
    device: I64
    stream: I64


class StepMarkers(Table, frozen=True):
    """Events that the capture recorded at the ends of steps: a row per stream and step.

    ``host_ns`` is the absolute time of the record. ``done_ns`` is when the device executed it, less
    the launch latency: on an idle device both are equal. ``bound_ns`` is how far that may be off.
    """

    host_ns: I64
    device: I64
    stream: I64
    done_ns: I64
    bound_ns: I64


class HostThread(Struct, frozen=True):
    """A Python thread that lived when the window ended, and its processor time in the window.

    ``thread`` is the system's number.
    """

    thread: int
    name: str
    cpu_ns: int


class Sidecar(Struct, frozen=True):
    """The device time of each operator between its two events, by External id.

    ``elapsed_ns`` is ``MISSING`` where it could not be read. ``facts`` holds the other keys.
    ``device`` and ``stream`` are those of both events, ``NONE`` if the two differ. Both columns are
    None if the backend does not record them. ``first_ns`` and ``second_ns`` are when the device
    executed the two events, by its own clock: ``MISSING`` or ns after an event that is the same for
    the recording. ``host_threads`` are none if the capture did not tell.
    """

    external_id: I64
    elapsed_ns: I64
    facts: Mapping[str, Any]
    findings: tuple[Finding, ...] = ()
    device: I64 | None = None
    stream: I64 | None = None
    launches: HostLaunches | None = None
    markers: StepMarkers | None = None
    first_ns: I64 | None = None
    second_ns: I64 | None = None
    host_threads: tuple[HostThread, ...] = ()

    def warned(self, code: str) -> bool:
        """Return whether the capture warned of something while it recorded."""
        warnings = self.facts.get("warnings")
        rows = warnings if isinstance(warnings, list) else []
        return any(isinstance(row, dict) and row.get("code") == code for row in rows)
