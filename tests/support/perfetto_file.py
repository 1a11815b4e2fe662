"""Reads a Perfetto trace with the published schema, as its trace processor does."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

from tb_privateuse1.export import perfetto
from tb_privateuse1.export.time_window import EVERYTHING, Window
from tb_privateuse1.trace.model import Trace

Slice = tuple[str, str, int, int]
"""Track, name, start, duration."""


@dataclass
class Content:
    slices: list[Slice] = field(default_factory=list)
    args: list[dict[str, Any]] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    flows: list[set[int]] = field(default_factory=list)
    submitted: list[list[int]] = field(default_factory=list)
    device: list[dict[str, Any]] = field(default_factory=list)
    counters: dict[str, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    tracks: dict[int, Any] = field(default_factory=dict)
    packets: int = 0
    gpus: list[str] = field(default_factory=list)
    clocks: dict[int, int] = field(default_factory=dict)


def exported(trace: Trace, window: Window = EVERYTHING) -> Content:
    """What is in the export of a trace."""
    return parse(b"".join(perfetto.write(trace, window)))


def of(content: Content, name: str) -> int:
    """The one slice of a name."""
    (at,) = [i for i, s in enumerate(content.slices) if s[1] == name]
    return at


def parse(data: bytes) -> Content:
    """Slices in order of their start; ``args``, ``flows`` and others belong to them."""
    trace = schema.Trace.FromString(data)
    content = Content(packets=len(trace.packet))
    interned: dict[str, dict[int, Any]] = defaultdict(dict)
    for packet in trace.packet:
        assert not UnknownFieldSet(packet), "a field that the schema does not know"
        for descriptor, entries in packet.interned_data.ListFields():
            for entry in entries:
                assert entry.iid not in interned[descriptor.name]
                interned[descriptor.name][entry.iid] = entry
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.uuid not in content.tracks
            content.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        content.gpus += [gpu.name for gpu in packet.gpu_info.gpus]
        content.clocks |= {c.clock_id: c.timestamp for c in packet.clock_snapshot.clocks}
    open_slices: dict[int, list[int]] = defaultdict(list)
    for packet in sorted(trace.packet, key=lambda p: p.timestamp):
        if packet.HasField("track_event"):
            _event(content, packet, interned, open_slices)
        elif packet.HasField("gpu_render_stage_event"):
            _device(content, packet, interned)
    assert not any(open_slices.values()), "a slice that never ends"
    return content


def label(content: Content, uuid: int) -> str:
    track = content.tracks[uuid]
    return track.thread.thread_name or track.process.process_name or track.name


def _event(content: Content, packet: Any, interned: Any, open_slices: Any) -> None:
    event, ts = packet.track_event, packet.timestamp
    stack, track = open_slices[event.track_uuid], label(content, event.track_uuid)
    if event.type == event.TYPE_COUNTER:
        double = event.HasField("double_counter_value")
        value = event.double_counter_value if double else event.counter_value
        content.counters[track].append((ts, value))
    elif event.type == event.TYPE_SLICE_END:
        at = stack.pop()
        name, start = content.slices[at][1:3]
        content.slices[at] = (track, name, start, ts - start)
    else:
        name = interned["event_names"][event.name_iid].name if event.name_iid else ""
        if event.type == event.TYPE_SLICE_BEGIN:
            stack.append(len(content.slices))
        content.slices.append((track, name, ts, 0))
        names = interned["debug_annotation_names"]
        texts = interned["debug_annotation_string_values"]
        content.args.append({
            names[a.name_iid].name: texts[a.string_value_iid].str.decode()
            if a.string_value_iid else a.uint_value
            for a in event.debug_annotations
        })  # fmt: skip
        (category,) = event.category_iids
        content.categories.append(interned["event_categories"][category].name)
        content.flows.append(set(event.flow_ids))
        content.submitted.append(_submitted(event))


def _submitted(event: Any) -> list[int]:
    """``GpuTrackEvent.gpu_correlation``, an extension: its numbers as the protocol has them."""
    fields = list(UnknownFieldSet(event))
    assert all(f.field_number == 3000 for f in fields)
    return [inner.data for f in fields for inner in _inner(f.data) if inner.field_number == 1]


def _inner(data: Any) -> Any:
    if isinstance(data, bytes):
        return UnknownFieldSet(schema.Utsname.FromString(data)) if data else []
    return data


def _device(content: Content, packet: Any, interned: Any) -> None:
    event = packet.gpu_render_stage_event
    specifications = interned["gpu_specifications"]
    assert event.context in interned["graphics_contexts"]
    content.device.append({
        "id": event.event_id,
        "name": specifications[event.stage_iid].name,
        "compute": specifications[event.stage_iid].category == 2,
        "queue": specifications[event.hw_queue_iid].name,
        "gpu": event.gpu_id,
        "start": packet.timestamp,
        "duration": event.duration,
        "args": {extra.name: extra.value for extra in event.extra_data},
    })  # fmt: skip
