"""Read Perfetto's binary traces: slices, counters and stages of devices, by the published schema.

``stream`` cuts the file into packets, ``wire`` decodes many at once, ``state`` keeps what a
sequence left out, ``clocks`` and ``tracks`` say when and where, ``slices`` and ``device`` what, and
``joins`` makes ranges of it.
"""

from __future__ import annotations

from tb_privateuse1.discovery.formats import DistributedInfo, Signs
from tb_privateuse1.readers.reader import Reader
from tb_privateuse1.trace.registry import OnCall

__all__ = [
    "PERFETTO",
]

_FIRST = b"\n"
"""The tag of a packet: field 1, with a length."""
_ENOUGH = 4
_LEAST_BYTES = 64


def sniff(text: bytes) -> Signs:
    """Return the signs of a trace: packets that follow each other, as far as the text goes."""
    if text and text[:1] != _FIRST:
        return Signs(False, DistributedInfo(), sure=True)
    from tb_privateuse1.readers.perfetto.stream import packet_end

    at = packets = 0
    while at < len(text) and packets < _ENOUGH:
        stop = packet_end(text, at)
        if stop is None:
            return Signs(False, DistributedInfo(), sure=True)
        at, packets = stop, packets + 1
    sure = packets == _ENOUGH or len(text) >= _LEAST_BYTES
    return Signs(packets > 0 and len(text) > 2, DistributedInfo(), sure=sure)


PERFETTO = Reader(
    name="perfetto",
    suffixes=(".pftrace", ".perfetto-trace", ".perfetto"),
    sniff=sniff,
    read=OnCall("tb_privateuse1.readers.perfetto.trace_reading", "read"),
    record=OnCall("tb_privateuse1.readers.perfetto.record", "read_packet"),
)
