"""Traces of Perfetto as its SDK writes them, made with the published schema, and what is in them.

``Program`` has two threads with clocks and names of their own, tracks below a process, counters,
stages of a GPU and their calls. ``ranges`` is what a reader must find.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

BOOT, UNIX = 5_000_000_000, 1_700_000_000_000_000_000
PID, MAIN, WORKER, GPU = 4711, 4711, 4712, 0
PROCESS_TRACK, MAIN_TRACK, WORKER_TRACK, ASYNC_TRACK, COUNTER_TRACK = (
    0xFEDC_BA98_7654_3210, 11, 12, 13, 14,
)  # fmt: skip
_CLEARED, _NEEDS = 1, 2

Range = tuple[str, str, int, int]
"""Category, name, start and end in Unix time."""


@dataclass
class Sequence:
    """A writer of packets with names of its own. ``unit_ns`` above 0: its clock is incremental."""

    program: Program
    number: int
    track: int
    unit_ns: int = 0
    _names: dict[tuple[str, str], int] = field(default_factory=dict)
    _last: int = 0

    def begin(self, at_ns: int) -> None:
        """Clear names and set defaults: the track, and the clock with a snapshot."""
        self._names.clear()
        packet = self._packet()
        packet.sequence_flags = _CLEARED
        packet.trace_packet_defaults.track_event_defaults.track_uuid = self.track
        if self.unit_ns:
            packet.trace_packet_defaults.timestamp_clock_id = 64
            packet.clock_snapshot.clocks.add(clock_id=6, timestamp=BOOT + at_ns)
            packet.clock_snapshot.clocks.add(
                clock_id=64, timestamp=(BOOT + at_ns) // self.unit_ns, is_incremental=True,
                unit_multiplier_ns=self.unit_ns,
            )  # fmt: skip
            self._last = (BOOT + at_ns) // self.unit_ns

    def packet(self, at_ns: int) -> Any:
        """Return a new packet with a time."""
        packet = self._packet()
        packet.sequence_flags = _NEEDS
        if self.unit_ns:
            now = (BOOT + at_ns) // self.unit_ns
            packet.timestamp = now - self._last
            self._last = now
        else:
            packet.timestamp = BOOT + at_ns
        return packet

    def _packet(self) -> Any:
        packet = self.program.trace.packet.add()
        packet.trusted_packet_sequence_id = self.number
        return packet

    def name(self, packet: Any, kind: str, text: str) -> int:
        """Return the id of a name, which the packet defines if it is new."""
        known = self._names.get((kind, text))
        if known is None:
            known = self._names[kind, text] = len(self._names) + 1
            added = getattr(packet.interned_data, kind).add(iid=known)
            if kind == "debug_annotation_string_values":
                added.str = text.encode()
            else:
                added.name = text
        return known

    def start(self, name: str, category: str, at_ns: int, track: int = 0, **arguments: Any) -> Any:
        """Begin a slice."""
        packet = self.packet(at_ns)
        event = packet.track_event
        event.type = event.TYPE_SLICE_BEGIN
        event.name_iid = self.name(packet, "event_names", name)
        event.category_iids.append(self.name(packet, "event_categories", category))
        if track:
            event.track_uuid = track
        for key, value in arguments.items():
            annotation = event.debug_annotations.add()
            annotation.name_iid = self.name(packet, "debug_annotation_names", key.replace("_", " "))
            self._value(packet, annotation, value)
        return event

    def _value(self, packet: Any, annotation: Any, value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                self._value(packet, annotation.array_values.add(), item)
        elif isinstance(value, int):
            annotation.int_value = value
        else:
            annotation.string_value_iid = self.name(
                packet, "debug_annotation_string_values", str(value)
            )

    def stop(self, at_ns: int, track: int = 0) -> None:
        """End a slice."""
        event = self.packet(at_ns).track_event
        event.type = event.TYPE_SLICE_END
        if track:
            event.track_uuid = track


@dataclass
class Program:
    """Some steps on a host with a GPU."""

    steps: int = 3
    trace: Any = field(default_factory=schema.Trace)
    ranges: list[Range] = field(default_factory=list)
    launches: dict[int, int] = field(default_factory=dict)
    """The start of the call by the start of its kernel."""
    counters: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._head()
        main = Sequence(self, 1, MAIN_TRACK)
        worker = Sequence(self, 2, WORKER_TRACK, unit_ns=1000)
        gpu = Sequence(self, 3, 0)
        for step in range(self.steps):
            at = step * 1_000_000
            for sequence in (main, worker, gpu):
                if step % 2 == 0:
                    sequence.begin(at)
            self._main(main, at, step)
            self._worker(worker, at)
            self._gpu(gpu, at, step)
        bundle = self.trace.packet.add()
        bundle.ftrace_events.cpu = 1

    def _range(self, category: str, name: str, start: int, end: int) -> None:
        self.ranges.append((category, name, UNIX + start, UNIX + end))

    def _head(self) -> None:
        clocks = self.trace.packet.add().clock_snapshot
        clocks.clocks.add(clock_id=6, timestamp=BOOT)
        clocks.clocks.add(clock_id=1, timestamp=UNIX)
        clocks.clocks.add(clock_id=3, timestamp=77)
        process = self.trace.packet.add().track_descriptor
        process.uuid = PROCESS_TRACK
        process.process.pid, process.process.process_name = PID, "trainer"
        for uuid, tid, name in ((MAIN_TRACK, MAIN, "main"), (WORKER_TRACK, WORKER, "worker")):
            track = self.trace.packet.add().track_descriptor
            track.uuid, track.parent_uuid = uuid, PROCESS_TRACK
            track.thread.pid, track.thread.tid, track.thread.thread_name = PID, tid, name
        track = self.trace.packet.add().track_descriptor
        track.uuid, track.parent_uuid, track.name = ASYNC_TRACK, PROCESS_TRACK, "requests"
        track = self.trace.packet.add().track_descriptor
        track.uuid, track.parent_uuid, track.name = COUNTER_TRACK, PROCESS_TRACK, "queue length"
        track.counter.unit_multiplier = 2
        self.trace.packet.add().gpu_info.gpus.add(name="Test GPU")

    def _main(self, main: Sequence, at: int, step: int) -> None:
        main.start(f"ProfilerStep#{step}", "user_annotation", at)
        main.start(
            "aten::mm", "cpu_op", at + 1_000, External_id=step + 1, Input_Dims=[[2, 3], [3, 4]],
            Input_type="[\"float\", \"float\"]",
        ).flow_ids.append(100 + step)  # fmt: skip
        main.start("launchKernel", "cuda_runtime", at + 2_000, correlation=1000 + step)
        main.stop(at + 5_000)
        main.stop(at + 20_000)
        main.stop(at + 900_000)
        self._range("user_annotation", f"ProfilerStep#{step}", at, at + 900_000)
        self._range("cpu_op", "aten::mm", at + 1_000, at + 20_000)
        self._range("cuda_runtime", "launchKernel", at + 2_000, at + 5_000)
        packet = main.packet(at + 30_000)
        packet.track_event.type = packet.track_event.TYPE_COUNTER
        packet.track_event.track_uuid = COUNTER_TRACK
        packet.track_event.counter_value = step - 1
        self.counters.setdefault("queue length", []).append((UNIX + at + 30_000, 2.0 * (step - 1)))

    def _worker(self, worker: Sequence, at: int) -> None:
        worker.start("load", "user_annotation", at + 3_000)
        event = worker.start("request", "user_annotation", at + 4_000, ASYNC_TRACK)
        event.flow_ids.append(100 + at // 1_000_000)
        worker.stop(at + 9_000)
        worker.stop(at + 950_000, ASYNC_TRACK)
        self._range("user_annotation", "load", at + 3_000, at + 9_000)
        self._range("user_annotation", "request", at + 4_000, at + 950_000)

    def _gpu(self, gpu: Sequence, at: int, step: int) -> None:
        packet = gpu.packet(at + 40_000)
        if step % 2 == 0:
            for iid, name, category in (
                (1, "queue 7", 0), (2, "gemm", 2), (3, "Memcpy HtoD", 0),
            ):  # fmt: skip
                packet.interned_data.gpu_specifications.add(iid=iid, name=name, category=category)
        self._stage(packet, 2, 2 * step + 1, 300_000)
        self._range("kernel", "gemm", at + 40_000, at + 340_000)
        packet = gpu.packet(at + 400_000)
        self._stage(packet, 3, 2 * step + 2, 7)
        self._range("gpu_memcpy", "Memcpy HtoD", at + 400_000, at + 400_007)
        event = gpu.packet(at + 500_000).gpu_counter_event
        if step == 0:
            event.counter_descriptor.specs.add(counter_id=5, name="clock")
        event.counters.add(counter_id=5, double_value=1.5 * step)
        self.counters.setdefault("clock", []).append((UNIX + at + 500_000, 1.5 * step))

    @staticmethod
    def _stage(packet: Any, stage: int, number: int, duration: int) -> None:
        event = packet.gpu_render_stage_event
        event.event_id, event.duration, event.gpu_id = number, duration, GPU
        event.hw_queue_iid, event.stage_iid = 1, stage

    def data(self, *, packed: int = 0) -> bytes:
        """Return the file; ``packed`` packets at a time are in one packed packet."""
        if not packed:
            return bytes(self.trace.SerializeToString())
        outer = schema.Trace()
        for first in range(0, len(self.trace.packet), packed):
            inner = schema.Trace(packet=self.trace.packet[first : first + packed])
            outer.packet.add().compressed_packets = zlib.compress(inner.SerializeToString())
        return bytes(outer.SerializeToString())

    def write(self, path: Path, *, packed: int = 0) -> Path:
        """Write the file."""
        path.write_bytes(self.data(packed=packed))
        return path
