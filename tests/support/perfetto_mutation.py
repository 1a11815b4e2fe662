"""Mutate traces of Perfetto: nothing may crash or hang, and sums are those of plain loops.

    python -m tests.support.perfetto_mutation --count 20000 --seed 1

Half of the mutations change bytes of the file, the others fields of its packets. Where the
published schema can decode the whole file, and no clock is another, the time of ranges and of
stages must be those that plain loops over its packets give.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import warnings
from argparse import ArgumentParser
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

from tb_privateuse1 import inference, readers
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.errors import TraceError
from tests.support.database_mutation import mutated
from tests.support.perfetto_program import Program

SLOWEST_S = 10.0
"""No file of some kilobytes takes as long."""
_BEGIN, _END, _INSTANT = 1, 2, 3
_LOSSES = frozenset({"truncated", "damaged", "too_damaged", "malformed_events"})
_NUMBERS = (0, 1, 2, 3, 5, 77, 1 << 20, (1 << 31) - 1)

Sums = dict[str, int]


def with_odd_values(data: bytes, rng: random.Random) -> bytes:
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


def outcome(path: Path, data: bytes, clocks: set[bytes]) -> str:
    """What becomes of a file.

    ``same``: sums are those of plain loops. ``partial``: findings say that events are lost.
    ``unchecked``: the schema alone cannot decode it, or its clocks are others. ``error``: refused.
    """
    path.write_bytes(data)
    started = time.process_time()
    try:
        raw = readers.read(str(path))
        trace = inference.build_trace(raw, None)
    except TraceError:
        return "error"
    finally:
        assert time.process_time() - started < SLOWEST_S
    if raw.reader != "perfetto":
        return "another"
    mine = read_sums(readers.read(str(path)))
    assert (trace.kernels.end_ns >= trace.kernels.start_ns).all()
    if {finding.code for finding in raw.findings} & _LOSSES:
        return "partial"
    try:
        content = schema.Trace.FromString(data)
    except DecodeError:
        return "unchecked"
    if clocks_of(content) != clocks:
        return "unchecked"
    assert mine == plain_sums(content)
    return "same"


def clocks_of(trace: Any) -> set[bytes]:
    """What decides about the clocks of a file."""
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


def read_sums(raw: Raw) -> Sums:
    """The time of slices and that of stages."""
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


def plain_sums(trace: Any) -> Sums:
    """The same by plain loops over packets."""
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


def mutations(rng: random.Random, count: int, path: Path) -> Counter[str]:
    """Return the number of mutations by outcome."""
    program = Program()
    plain, packed = program.data(), program.data(packed=5)
    clocks = clocks_of(schema.Trace.FromString(plain))
    kinds: Counter[str] = Counter()
    for i in range(count):
        if i % 2:
            kinds[outcome(path, with_odd_values(plain, rng), clocks)] += 1
        else:
            kinds[outcome(path, mutated(packed if i % 8 == 0 else plain, rng), clocks)] += 1
    return kinds


def main() -> int:
    """Print how many mutations had which outcome."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.pftrace")
        print(mutations(random.Random(arguments.seed), arguments.count, path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
