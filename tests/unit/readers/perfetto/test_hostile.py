"""Traces that are cut, damaged or made to hurt: what can be read is shown."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

from tb_privateuse1 import readers
from tb_privateuse1.readers.perfetto import sniff, wire
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.errors import TraceError
from tests.support.mutants import harness, perfetto
from tests.support.perfetto_program import Program


def read(tmp_path: Path, data: bytes) -> Raw:
    path = tmp_path / "a.pftrace"
    path.write_bytes(data)
    return readers.read(str(path))


def codes(raw: Raw) -> set[str]:
    return {finding.code for finding in raw.findings}


def count(raw: Raw) -> int:
    return sum(map(len, raw.groups.values()))


def test_a_cut_file_shows_what_is_whole(tmp_path: Path) -> None:
    data = Program(steps=20).data()
    whole = count(read(tmp_path, data))
    raw = read(tmp_path, data[: len(data) // 2])
    assert "truncated" in codes(raw)
    assert 0.4 * whole < count(raw) < 0.6 * whole


@pytest.mark.parametrize(
    "garbage", [b"\xff" * 40, b"\x0a\x7f", b"\n\n\n", b"\x0a\xff\xff\x7f", b""]
)
def test_events_around_a_damage_are_shown(tmp_path: Path, garbage: bytes) -> None:
    program = Program(steps=20)
    data = program.data()
    trace = schema.Trace(packet=program.trace.packet[:100])
    at = len(trace.SerializeToString())
    raw = read(tmp_path, data[:at] + garbage + data[at + (not garbage) * 3 :])
    assert "damaged" in codes(raw)
    assert count(raw) >= len(program.ranges) - 4


def test_of_two_contents_of_a_packet_the_last_one_counts(tmp_path: Path) -> None:
    """``TracePacket.data`` is a oneof: its parser keeps the last one."""
    program = Program(steps=20)
    packets = [packet.SerializeToString() for packet in program.trace.packet]
    events = [i for i, packet in enumerate(program.trace.packet) if packet.HasField("track_event")]
    track = schema.TracePacket(track_descriptor=schema.TrackDescriptor(uuid=99, name="another"))
    packets[events[-1]] += track.SerializeToString()
    data = b"".join(b"\x0a" + _varint(len(packet)) + packet for packet in packets)
    raw = read(tmp_path, data)
    assert "damaged" in codes(raw)
    assert schema.Trace.FromString(data).packet[events[-1]].HasField("track_descriptor")
    program.trace.packet[events[-1]].ClearField("track_event")
    (tmp_path / "other").mkdir()
    assert count(raw) == count(read(tmp_path / "other", program.data()))


def _varint(number: int) -> bytes:
    low = bytes([number & 127 | (number > 127) << 7])
    return low + _varint(number >> 7) if number > 127 else low


def test_a_file_without_a_packet_is_no_trace(tmp_path: Path) -> None:
    for data in (b"", b"\x0a\x10packet", bytes(100)):
        with pytest.raises(TraceError) as caught:
            read(tmp_path, data)
        assert caught.value.code == "not_a_trace"


@pytest.mark.long
def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    trace = schema.Trace(packet=Program().trace.packet)
    trace.packet.add().compressed_packets = zlib.compress(bytes(50 << 20), 9)
    assert "damaged" in codes(read(tmp_path, trace.SerializeToString()))


@pytest.mark.long
def test_many_fields_in_one_packet_end_soon(tmp_path: Path) -> None:
    trace = Program().trace
    trace.packet[-1].track_event.flow_ids.extend(range(200_000))
    assert count(read(tmp_path, trace.SerializeToString())) > 0


def test_only_traces_are_recognized() -> None:
    for data in (b'\n{"traceEvents": []}', b"\n[1, 2]\n", b"\n<!doctype html>", b"\n\n\n\n", b"\n"):
        assert not sniff(data + bytes(100)).is_trace
    data = Program().data()
    assert sniff(data).is_trace
    assert sniff(data[:70]).is_trace


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=50))
def test_numbers_of_any_size_are_read(values: list[int]) -> None:
    messages = [schema.TracePacket(timestamp=v).SerializeToString() for v in values]
    stops = np.cumsum([len(message) for message in messages])
    starts = stops - [len(message) for message in messages]
    buffer = wire.Buffer(b"".join(messages))
    fields = wire.scan(buffer, wire.Spans(starts.astype(np.int64), stops.astype(np.int64)))
    assert fields.numbers(8, -1).view(np.uint64).tolist() == values
    assert not fields.broken.any()


@given(st.binary(max_size=200), st.integers(1, 60))
def test_columns_and_single_fields_agree(data: bytes, copies: int) -> None:
    """Many messages at once, and few one by one, have the same fields."""
    one = wire.Spans(np.array([0]), np.array([len(data)]))
    single = wire.scan(wire.Buffer(data), one)
    starts = np.arange(copies) * len(data)
    many = wire.scan(wire.Buffer(data * copies), wire.Spans(starts, starts + len(data)))
    assert many.broken.tolist() == single.broken.tolist() * copies
    for row in range(copies):
        mine = many.message == row
        assert many.number[mine].tolist() == single.number.tolist()
        assert many.value[mine].tolist() == single.value.tolist()


def test_a_whole_trace_has_the_sums_of_plain_loops(tmp_path: Path) -> None:
    path = tmp_path / "a.pftrace"
    assert harness.outcome(perfetto.FORMAT, path, Program().data()) == "same"
