"""Read torch's raw memory timelines: ``export_memory_timeline("….raw.json.gz")`` of a profiler.

They are a list of ``[time, action, bytes, category]``, in ns (torch/profiler/_memory_profiler.py,
``export_memory_timeline_raw``). No event has an address: there are no blocks, only changes of what
is allocated. Sums by category are counters.
"""

from __future__ import annotations

import re

from tb_privateuse1.discovery.formats import DistributedInfo, Signs
from tb_privateuse1.readers.base import Reader
from tb_privateuse1.trace.registry import OnCall

__all__ = [
    "MEMORY_TIMELINE",
]

_NUMBER = rb"\s*(-?\d{1,19})\s*"
EVENT = re.compile(rb"\[" + _NUMBER + rb",\s*([1-4])\s*," + _NUMBER + rb",\s*([0-7])\s*\]")
"""An entry: its time, action, size and category."""
_HEAD = re.compile(rb"\s*\[\s*" + EVENT.pattern)
_HEAD_BYTES = 128


def sniff(text: bytes) -> Signs:
    """Return the signs of a raw timeline: a list of lists of four numbers."""
    found = _HEAD.match(text) is not None
    return Signs(found, DistributedInfo(), sure=found or len(text) >= _HEAD_BYTES)


MEMORY_TIMELINE = Reader(
    name="memory_timeline",
    suffixes=(".json",),
    sniff=sniff,
    read=OnCall("tb_privateuse1.readers.memory_timeline.reading", "read"),
    record=OnCall("tb_privateuse1.readers.memory_timeline.reading", "read_event"),
)
