"""The column encoder against protobuf's own library."""

from __future__ import annotations

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

from tb_privateuse1.export.perfetto import protobuf
from tb_privateuse1.export.perfetto.protobuf import (
    constant,
    decimal,
    fixed64,
    message,
    only,
    text,
    varint,
)

EDGES = [0, 1, 127, 128, 16383, 16384, 2**31, 2**32 - 1, 2**56, 2**63 - 1]


def packets(part: protobuf.EncodedPart, rows: int) -> list[schema.TracePacket]:
    return list(schema.Trace.FromString(protobuf.encode(message(1, part), rows)).packet)


def test_numbers() -> None:
    values = np.array(EDGES)
    assert [p.timestamp for p in packets(varint(8, values), len(values))] == EDGES
    events = packets(message(11, fixed64(47, values)), len(values))
    assert [list(p.track_event.flow_ids) for p in events] == [[v] for v in EDGES]
    negative = np.array([-1, 5, -(2**62)])
    counters = packets(message(11, varint(30, negative)), 3)
    assert [p.track_event.counter_value for p in counters] == negative.tolist()


def test_texts() -> None:
    values = np.array(EDGES)
    found = packets(message(11, message(23, decimal(values))), len(values))
    assert [p.track_event.name for p in found] == list(map(str, EDGES))
    texts = [b"", b"a", b"x" * 300, "é".encode()]
    chosen = np.array([3, 2, 1, 0, 2])
    found = packets(message(11, message(23, text(chosen, texts))), 5)
    assert [p.track_event.name.encode() for p in found] == [texts[i] for i in chosen]


def test_fields_of_some_messages_only() -> None:
    values = np.arange(5) * 1000
    some = np.array([True, False, True, False, False])
    inner = message(11, only(varint(11, values), some), constant(protobuf.field(23, "name")))
    found = packets(only(inner, values != 4000), 5)
    assert [p.track_event.HasField("track_uuid") for p in found] == some.tolist()
    assert [p.HasField("track_event") for p in found] == [True, True, True, True, False]
    assert found[2].track_event.track_uuid == 2000


@pytest.mark.long
def test_more_messages_than_a_matrix_has_rows() -> None:
    values = np.arange(20_000)
    assert [p.timestamp for p in packets(varint(8, values), 20_000)] == values.tolist()


def test_single_fields() -> None:
    body = protobuf.field(8, 300) + protobuf.field(11, protobuf.field(23, "n") + b"")
    packet = schema.TracePacket.FromString(body)
    assert (packet.timestamp, packet.track_event.name) == (300, "n")
    negative = schema.TrackEvent.FromString(protobuf.field(30, -7))
    assert negative.counter_value == -7


def test_columns_must_fit() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        protobuf.encode(varint(8, np.arange(3)), 4)
