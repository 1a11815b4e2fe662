"""Mutants of Perfetto's traces: the time of ranges and stages is that of plain loops.

The loops go over packets that the published schema decodes.
"""

from __future__ import annotations

import functools
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

from tb_privateuse1.readers.raw import Raw
from tests.support.mutants.changes import other_bytes
from tests.support.mutants.harness import Format, Mutate, Reading
from tests.support.perfetto_program import Program

_BEGIN, _END, _INSTANT = 1, 2, 3
_LOSSES = frozenset({"truncated", "damaged", "too_damaged", "malformed_events"})
_NUMBERS = (0, 1, 2, 3, 5, 77, 1 << 20, (1 << 31) - 1)

Sums = dict[str, int]


def make(folder: Path) -> Sequence[Mutate]:
    """Return changes of bytes and of fields; one change of bytes in four is of packed packets."""
    program, path = Program(), folder / "a.pftrace"
    plain, packed = program.data(), program.data(packed=5)

    def with_other_fields(rng: random.Random) -> tuple[Path, bytes]:
        return path, other_fields(plain, rng)

    def with_other_bytes(whole: bytes, rng: random.Random) -> tuple[Path, bytes]:
        return path, other_bytes(whole, rng)

    of_bytes = [functools.partial(with_other_bytes, one) for one in (packed, plain, plain, plain)]
    return [way for own in of_bytes for way in (own, with_other_fields)]


@functools.cache
def _clocks() -> set[bytes]:
    return clocks_of(schema.Trace.FromString(Program().data()))


def other_fields(data: bytes, rng: random.Random) -> bytes:
    """Return the file in which some fields of packets are others, or gone, or twice."""
    trace = schema.Trace.FromString(data)
    for _ in range(rng.randint(1, 4)):
        place: Any = trace.packet[rng.randrange(len(trace.packet))]
        while True:
            fields = [field for field, _ in place.ListFields() if field.name != "clock_snapshot"]
            if not fields:
                break
            field = rng.choice(fields)
            value = getattr(place, field.name)
            if rng.random() < 0.15:
                place.ClearField(field.name)
                break
            if not field.is_repeated and field.message_type is None:
                if isinstance(value, int) and field.enum_type is None:
                    setattr(place, field.name, type(value)(rng.choice(_NUMBERS)))
                break
            if field.is_repeated:
                if field.message_type is None or not len(value):
                    break
                value = value[rng.randrange(len(value))]
            place = value
    packets = list(trace.packet)
    if rng.random() < 0.3:
        at = rng.randrange(len(packets))
        packets.insert(rng.randrange(len(packets)), packets[at])
    return bytes(schema.Trace(packet=packets).SerializeToString())


def clocks_of(trace: Any) -> set[bytes]:
    """Return what decides about the clocks of a file."""
    found = {packet.clock_snapshot.SerializeToString() for packet in trace.packet}
    for packet in trace.packet:
        if packet.HasField("timestamp_clock_id"):
            found.add(b"clock %d" % packet.timestamp_clock_id)
        if packet.HasField("compressed_packets"):
            found.add(b"packed")
        default = packet.trace_packet_defaults.timestamp_clock_id
        if default:
            found.add(b"clock %d of %d" % (default, packet.trusted_packet_sequence_id))
    return found


def read_sums(found: Reading) -> Sums:
    """Return the time of slices and that of stages."""
    raw = found.raw
    is_lane = [raw.strings[pid].startswith("GPU ") for pid in raw.threads.pid.tolist()]
    device = host = 0
    for group in [*raw.groups.values(), raw.memory]:
        for start, end, thread in zip(
            group.start_ns.tolist(), group.end_ns.tolist(), group.thread.tolist(), strict=True
        ):
            if is_lane[thread]:
                device += end - start
            else:
                host += end - start
    return {"device": device, "host": host}


def plain_sums(path: Path, raw: Raw) -> Sums | None:
    """Return the same by plain loops over packets; None for other clocks."""
    trace = schema.Trace.FromString(path.read_bytes())
    return sums_of(trace) if clocks_of(trace) == _clocks() else None


def sums_of(trace: Any) -> Sums:
    """Return the time of slices and that of stages of packets."""
    valid: dict[int, bool] = {}
    defaults: dict[int, tuple[int, int]] = {}
    last: dict[int, int] = {}
    events: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    device = 0
    latest = None
    for number, packet in enumerate(trace.packet):
        sequence = packet.trusted_packet_sequence_id
        cleared = packet.incremental_state_cleared or packet.sequence_flags & 1
        if cleared:
            valid[sequence], defaults[sequence] = True, (0, 0)
        elif packet.previous_packet_dropped:
            valid[sequence] = False
        if packet.HasField("trace_packet_defaults"):
            own = packet.trace_packet_defaults
            track = own.track_event_defaults.track_uuid
            defaults[sequence] = (own.timestamp_clock_id, track)
        clock, track = defaults.get(sequence, (0, 0))
        for one in packet.clock_snapshot.clocks:
            if one.clock_id == 64:
                last[sequence] = one.timestamp * one.unit_multiplier_ns
        ts = packet.timestamp
        if clock == 64 and sequence in last:
            last[sequence] += ts * 1000
            ts = last[sequence]
        usable = valid.get(sequence, False) or not packet.sequence_flags & 2
        if not usable or not packet.HasField("timestamp"):
            continue
        if packet.HasField("gpu_render_stage_event"):
            device += packet.gpu_render_stage_event.duration
        elif packet.HasField("track_event"):
            event = packet.track_event
            uuid = event.track_uuid or track or -sequence - 1
            if event.type in (_BEGIN, _END):
                events[uuid].append((ts, number, event.type))
            if event.type in (_BEGIN, _END, _INSTANT):
                latest = ts if latest is None else max(latest, ts)
    return {"device": device, "host": _lengths(events, latest or 0)}


def _lengths(events: dict[int, list[tuple[int, int, int]]], latest: int) -> int:
    total = 0
    for own in events.values():
        stack: list[int] = []
        for ts, _, kind in sorted(own):
            if kind == _BEGIN:
                stack.append(ts)
            elif stack:
                total += ts - stack.pop()
        total += sum(latest - ts for ts in stack)
    return total


FORMAT = Format(
    make,
    read_sums,
    plain_sums,
    reader="perfetto",
    losses=_LOSSES,
    unreadable=(DecodeError,),
    least={"same": 0.25},
    count=160,
)
