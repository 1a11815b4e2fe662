"""The Trace: the read-only numpy columns of all analyses, which ``inference`` fills.

Times are int64 nanoseconds since the trace's start (``Trace.base_ns`` has the absolute one). A row
of another table is an int32 index, ``NONE`` (-1) if there is none. Names are indices into
``Trace.strings``. ``event`` is an event's number in its file, see ``Checkpoints``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from msgspec import Struct, field

from tb_privateuse1.trace import recorded_metadata as recorded
from tb_privateuse1.trace.accuracy import Accuracy
from tb_privateuse1.trace.captures import CapturedOps, Captures
from tb_privateuse1.trace.collective_calls import Collectives
from tb_privateuse1.trace.collective_entries import CollectiveEntries
from tb_privateuse1.trace.event_waits import EventWaits
from tb_privateuse1.trace.file_checkpoints import Checkpoints
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.inference_basis import InferenceBasis
from tb_privateuse1.trace.launch_configs import Configs
from tb_privateuse1.trace.process_groups import ProcessGroup
from tb_privateuse1.trace.recorded_counters import CounterSamples, CounterSeries
from tb_privateuse1.trace.table import (
    Bools,
    Code,
    LaneRow,
    MaybeCapturedOpRow,
    MaybeCaptureRow,
    MaybeConfigRow,
    MaybeFrameRow,
    MaybeLaunchRow,
    MaybeOpRow,
    MaybeStepRow,
    MaybeText,
    Name,
    Nanoseconds,
    Number,
    OpRow,
    SmallNumber,
    Table,
    ThreadRow,
)
from tb_privateuse1.trace.vendor import GENERIC, Vendor

NONE = -1
"""No such row, no such string, no such id."""

MISSING = np.int64(np.iinfo(np.int64).min)
"""An unknown quantity (bytes, count, bound) of the trace. Shown as null, never as 0."""

KERNEL, MEMCPY, MEMSET, UNKNOWN = 0, 1, 2, 3
"""``Kernels.kind``. ``UNKNOWN``: the device worked, and nothing tells on what or for whom."""

OPERATOR, ANNOTATION, FRAME = 0, 1, 2
"""``Ops.kind``: an operator (category ``cpu_op``) or a ``record_function`` range.
``Captures.kind`` is also ``FRAME``, a Python frame."""

READ, WRITTEN, RETURNED = range(3)
"""``Tensors.access``: an input, an input that the operator writes to, and a result."""

Evidence = Literal["measured", "events", "end_pinned", "catalogue", "sync", "bound"]
EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)
"""``Kernels.evidence`` is an index into this: how a kernel's start and duration are known.

``measured``: recorded by a device profiler. The others are inferred from elapsed device times.
``events``: the device was behind, so the time between the operator's events is device time.
``end_pinned``: the device caught up inside the operator; only the end is known well.
``catalogue``: the duration of other instances of the operator. ``sync``: the end of a blocking
call. ``bound``: only limits are known.
"""
MEASURED, EVENTS, END_PINNED, CATALOGUE, SYNC, BOUND = range(len(EVIDENCE))

Timeline = Literal["measured", "inferred", "none"]


class Threads(Table, frozen=True):
    """Host threads. ``pid`` and ``tid`` are strings: torch writes numbers and words there."""

    pid: MaybeText
    tid: MaybeText
    name: MaybeText


class Ops(Table, frozen=True):
    """Host ranges with an External id: operators and annotations, by thread and start.

    ``parent`` is the innermost enclosing row of this table, ``frame`` the innermost enclosing
    Python frame. ``self_ns`` is the duration less the durations of all ranges (operators,
    annotations, frames, launches) directly inside. ``elapsed_ns`` is the sidecar's device time
    between the operator's two events, ``MISSING`` without one.
    """

    ORDER = ("thread", "start_ns")

    name: Name
    kind: Code
    start_ns: Nanoseconds
    end_ns: Nanoseconds
    self_ns: Nanoseconds
    elapsed_ns: Nanoseconds
    thread: ThreadRow
    external_id: Number
    parent: MaybeOpRow
    frame: MaybeFrameRow
    step: MaybeStepRow
    shapes: MaybeText
    dtypes: MaybeText
    strides: MaybeText
    concrete: MaybeText
    """The values of the inputs that are no tensors (``Concrete Inputs``), a JSON list of texts."""
    kernel_flops: Number
    kernel_bytes: Number
    """What Inductor says of its kernel (``kernel_flop``, ``kernel_num_gb``), or ``MISSING``."""
    stack: MaybeText
    sequence: Number
    forward_thread: Number
    single: Bools
    """The only range directly inside one of its kind and name: torch counts both as one call."""
    event: SmallNumber


class Frames(Table, frozen=True):
    """Python frames (category ``python_function``), by thread and start.

    ``parent`` is the innermost enclosing frame, ``op`` the innermost enclosing row of ``Ops``.
    """

    ORDER = ("thread", "start_ns")

    name: Name
    start_ns: Nanoseconds
    end_ns: Nanoseconds
    self_ns: Nanoseconds
    thread: ThreadRow
    parent: MaybeFrameRow
    op: MaybeOpRow
    python_id: Number
    module_id: Number
    event: SmallNumber


class Launches(Table, frozen=True):
    """Calls of the device's runtime or driver on the host; ``op`` is the calling operator.

    ``around`` is ``op``, or without one the innermost annotation around the call; ``frame`` is the
    innermost Python frame around it. ``kernel_name`` is that of the launched kernel, if the call
    has it.
    """

    name: Name
    start_ns: Nanoseconds
    end_ns: Nanoseconds
    thread: ThreadRow
    correlation: Number
    op: MaybeOpRow
    around: MaybeOpRow
    frame: MaybeFrameRow
    kernel_name: MaybeText
    event: SmallNumber


class Lanes(Table, frozen=True):
    """Streams of devices: each runs its device activities one after another."""

    device: Number
    stream: Number
    name: MaybeText


class Kernels(Table, frozen=True):
    """Device activities (kernels, copies, fills), by start.

    ``launch`` and ``op`` are the runtime call and the operator it came from, ``capture`` the row of
    ``Captures`` from which a graph's replay has it, ``captured_op`` that of ``CapturedOps``. The
    bounds are the largest errors of start and duration; 0 if measured. ``shift_bound_ns`` is the
    part of the start's that all starts share: an error of the launch latency shifts them together.
    ``error_group`` numbers equal work, whose durations have the same error; ``NONE`` if measured,
    ``GUESSED`` and below where no equal work shows them. ``event`` is ``NONE`` if inferred.
    """

    ORDER = ("start_ns",)

    name: Name
    kind: Code
    communication: Bools
    start_ns: Nanoseconds
    end_ns: Nanoseconds
    lane: LaneRow
    launch: MaybeLaunchRow
    op: MaybeOpRow
    capture: MaybeCaptureRow
    captured_op: MaybeCapturedOpRow
    step: MaybeStepRow
    config: MaybeConfigRow
    correlation: Number
    bytes: Number
    evidence: Code
    start_bound_ns: Nanoseconds
    shift_bound_ns: Nanoseconds
    duration_bound_ns: Nanoseconds
    error_group: SmallNumber
    event: SmallNumber


class DeviceAnnotations(Table, frozen=True):
    """Annotations as the device profiler saw them (``gpu_user_annotation``), by start.

    Each spans the device activities of its range on one lane; it is no activity itself.
    """

    ORDER = ("start_ns",)

    name: Name
    start_ns: Nanoseconds
    end_ns: Nanoseconds
    lane: LaneRow
    event: SmallNumber


class Memory(Table, frozen=True):
    """``[memory]`` instants, by time. ``bytes`` is negative for a release."""

    ORDER = ("ts_ns",)

    ts_ns: Nanoseconds
    thread: ThreadRow
    op: MaybeOpRow
    device_type: Number
    device: Number
    address: Number
    bytes: Number
    allocated_bytes: Number
    reserved_bytes: Number
    event: SmallNumber
    stack: MaybeText
    """Python frames of an allocation, innermost first, joined by ``;``, of a memory snapshot."""


class Tensors(Table, frozen=True):
    """Tensors that operators take and return, by operator, from an execution trace.

    ``argument`` is the position among the inputs, or the results. Tensors of one ``storage`` share
    its memory: it is a number of the block from its allocation on, ``NONE`` without memory.
    ``offset`` and ``elements`` count elements of ``item_bytes``; ``device_name`` is torch's.
    """

    ORDER = ("op",)

    op: OpRow
    access: Code
    argument: SmallNumber
    storage: SmallNumber
    offset: Number
    elements: Number
    item_bytes: Number
    device_name: MaybeText


class Steps(Table, frozen=True):
    """``ProfilerStep#N`` ranges in order of time; without any, one row over everything.

    ``host_start_ns`` and ``host_end_ns`` are the range on the host, ``start_ns`` and ``end_ns`` the
    window (docs/reference/definitions.md). In a ``primed`` step our capture kept the device busy. A
    ``partial`` step lacks activities: beside whole steps it is ``incomplete``, too.
    """

    ORDER = ("host_start_ns",)

    name: Name
    host_start_ns: Nanoseconds
    host_end_ns: Nanoseconds
    start_ns: Nanoseconds
    end_ns: Nanoseconds
    incomplete: Bools
    primed: Bools
    partial: Bools


class Meta(Struct, frozen=True):
    """Metadata of the trace as a whole."""

    worker: str = ""
    files: tuple[str, ...] = ()
    size_bytes: int | None = None  # of the trace file on disk
    reader: str = "chrome"
    """The reader that made it: it can read single events again."""
    events: Mapping[str, int] = field(default_factory=dict)
    """Read events per category, in the file's spelling, most frequent first."""
    rank: int | None = None
    world_size: int | None = None
    hostname: str | None = None
    backend: str | None = None
    """torch's name of the device (``cuda``, ``npu``, ``refdev``), if recorded."""
    vendor: str = "generic"
    torch_version: str | None = None
    accuracy: Accuracy | None = None
    """The class of the backend, if the conformance kit was run before the recording."""
    distributed_backend: str | None = None
    devices: tuple[Mapping[str, Any], ...] = ()
    """The trace's ``deviceProperties``."""
    profiler: Mapping[str, Any] = field(default_factory=dict)
    """Options of the profiler: with_stack, record_shapes, profile_memory, profiler_state, …"""
    grounds: InferenceBasis | None = None
    timeline: Timeline = "none"
    missing_lanes: tuple[int, ...] = ()
    """Streams (rows of ``Lanes``) whose work has no times, while that of others has."""
    lost_launches: int = 0
    """Calls that launch kernels whose activities are not recorded."""
    unseen_work: bool = False
    """Work that no recorded operator launched is missing: sums of device times are lower limits."""
    profiler_end_ns: int | None = None
    """When the profiler's own range ends: nothing behind it is recorded. Null if it has none."""
    groups: tuple[ProcessGroup, ...] = ()
    """The process groups that the rank belongs to, as far as they are recorded."""
    functions: tuple[recorded.SourceFunction, ...] = ()
    """The user's functions, if the capture read their source."""
    refusals: tuple[recorded.Refusal, ...] = ()
    findings: tuple[Finding, ...] = ()


TABLES: dict[str, type[Table]] = {
    "threads": Threads,
    "ops": Ops,
    "frames": Frames,
    "launches": Launches,
    "lanes": Lanes,
    "kernels": Kernels,
    "captures": Captures,
    "captured_ops": CapturedOps,
    "device_annotations": DeviceAnnotations,
    "event_waits": EventWaits,
    "memory": Memory,
    "tensors": Tensors,
    "steps": Steps,
    "checkpoints": Checkpoints,
    "configs": Configs,
    "collectives": Collectives,
    "collective_entries": CollectiveEntries,
    "counter_series": CounterSeries,
    "counter_samples": CounterSamples,
    "metadata": recorded.RecordedMetadata,
    "kernel_sources": recorded.KernelSources,
    "compilations": recorded.Compilations,
    "compile_notes": recorded.CompileNotes,
    "memory_blocks": recorded.MemoryBlocks,
}


class Trace(Struct, frozen=True, eq=False, weakref=True):
    """One rank's recording of one span: tables, names and metadata."""

    base_ns: int = 0
    """Absolute time of the trace's 0; Unix time if the file has it."""
    start_ns: int = 0
    """The trace's 0 on the clock of the file's ``ts``."""
    end_ns: int = 0
    """The end of the last operator, device activity or step; the recording starts at 0."""
    strings: tuple[str, ...] = ()
    meta: Meta = field(default_factory=Meta)
    vendor: Vendor = GENERIC
    """The data of ``meta.vendor`` at the time the trace was opened."""
    threads: Threads = field(default_factory=Threads.empty)
    ops: Ops = field(default_factory=Ops.empty)
    frames: Frames = field(default_factory=Frames.empty)
    launches: Launches = field(default_factory=Launches.empty)
    lanes: Lanes = field(default_factory=Lanes.empty)
    kernels: Kernels = field(default_factory=Kernels.empty)
    captures: Captures = field(default_factory=Captures.empty)
    captured_ops: CapturedOps = field(default_factory=CapturedOps.empty)
    device_annotations: DeviceAnnotations = field(default_factory=DeviceAnnotations.empty)
    event_waits: EventWaits = field(default_factory=EventWaits.empty)
    memory: Memory = field(default_factory=Memory.empty)
    tensors: Tensors = field(default_factory=Tensors.empty)
    steps: Steps = field(default_factory=Steps.empty)
    checkpoints: Checkpoints = field(default_factory=Checkpoints.empty)
    configs: Configs = field(default_factory=Configs.empty)
    collectives: Collectives = field(default_factory=Collectives.empty)
    collective_entries: CollectiveEntries = field(default_factory=CollectiveEntries.empty)
    counter_series: CounterSeries = field(default_factory=CounterSeries.empty)
    counter_samples: CounterSamples = field(default_factory=CounterSamples.empty)
    metadata: recorded.RecordedMetadata = field(default_factory=recorded.RecordedMetadata.empty)
    kernel_sources: recorded.KernelSources = field(default_factory=recorded.KernelSources.empty)
    compilations: recorded.Compilations = field(default_factory=recorded.Compilations.empty)
    compile_notes: recorded.CompileNotes = field(default_factory=recorded.CompileNotes.empty)
    memory_blocks: recorded.MemoryBlocks = field(default_factory=recorded.MemoryBlocks.empty)

    def text(self, string: int | np.integer[Any]) -> str:
        """Return the string of an index; empty for ``NONE``."""
        return self.strings[string] if string >= 0 else ""
