"""Read torch's memory snapshots: ``torch.<device>.memory._dump_snapshot`` writes them as a pickle.

``readers.containers`` reads the pickle and runs nothing of it, ``document`` has its lists as
columns, ``columns`` makes memory events of them, ``completion`` adds these to a trace.
"""

from __future__ import annotations

import re

from tb_privateuse1.discovery.formats import DistributedInfo, Signs
from tb_privateuse1.readers.reader import Reader
from tb_privateuse1.trace.registry import OnCall

__all__ = [
    "SNAPSHOT",
]

_SUFFIX = ".memory_snapshot.pickle"
_OWN = re.compile(r"^(.+)\.memory_snapshot\.pickle$", re.IGNORECASE)
_HEAD = re.compile(
    rb"\x80[\x02-\x05](?:\x95.{8})?\}(?:\x94|q.|r.{4})?\(?(?:\x8c.|X.{4})"
    rb"(?:segments|device_traces|allocator_settings|external_annotations)",
    re.DOTALL,
)
_HEAD_BYTES = 64


def sniff(text: bytes) -> Signs:
    """Return the signs of a snapshot: a pickled dictionary whose first key is one of its."""
    found = _HEAD.match(text) is not None
    return Signs(found, DistributedInfo(), sure=found or len(text) >= _HEAD_BYTES)


SNAPSHOT = Reader(
    name="snapshot",
    suffixes=(_SUFFIX, ".pickle"),
    sniff=sniff,
    own_names=_OWN,
    is_partial=True,
    named_after=_OWN,
    read=OnCall("tb_privateuse1.readers.snapshot.snapshot_reading", "read"),
    record=OnCall("tb_privateuse1.readers.snapshot.snapshot_reading", "read_entry"),
    add=OnCall("tb_privateuse1.readers.snapshot.snapshot_reading", "add"),
    affects=("memory", "stacks"),
)
