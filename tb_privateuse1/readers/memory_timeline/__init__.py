"""Read torch's raw memory timelines: ``export_memory_timeline("….raw.json.gz")`` of a profiler.

They are a list of ``[time, action, bytes, category]``, in ns (torch/profiler/_memory_profiler.py,
``export_memory_timeline_raw``). No event has an address: there are no blocks, only changes of what
is allocated. Sums by category are counters. ``completion`` adds these to the recording of the same
profiler.
"""

from __future__ import annotations

import re

from tb_privateuse1.discovery.formats import DistributedInfo, OtherKind, Signs
from tb_privateuse1.i18n import say
from tb_privateuse1.readers.reader import Reader
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


_UNUSED = OtherKind(
    message=say("{path} is a memory timeline of torch, and no recording beside it is of its rank."),
    hint=say("Put the recording of the same process beside it, or open it by itself."),
    head=_HEAD.match,
    name=re.compile(""),
    is_listed=True,
)
MEMORY_TIMELINE = Reader(
    name="memory_timeline",
    suffixes=(".json",),
    sniff=sniff,
    is_partial=True,
    joins_any=True,
    others=(_UNUSED,),
    read=OnCall("tb_privateuse1.readers.memory_timeline.timeline_reading", "read"),
    record=OnCall("tb_privateuse1.readers.memory_timeline.timeline_reading", "read_event"),
    add=OnCall("tb_privateuse1.readers.memory_timeline.completion", "add"),
    affects=("memory",),
)
