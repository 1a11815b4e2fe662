"""Read databases (``rocpd``) and JSON of rocprofv3: ``<host>/<pid>_results.db`` and ``.json``.

They have kernels, copies, calls of the runtime, and ranges that programs named (roctx). Torch's
operators are among the ranges if the program ran under ``torch.autograd.profiler.emit_nvtx``.
"""

from __future__ import annotations

import re

from tb_privateuse1.discovery.formats import DistributedInfo, Signs
from tb_privateuse1.readers.reader import Reader
from tb_privateuse1.readers.rocprof import schema
from tb_privateuse1.readers.sqlite import sniff_tables
from tb_privateuse1.trace.registry import OnCall

__all__ = [
    "ROCPROF",
    "ROCPROF_JSON",
]

_HEAD = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"' + schema.TOOL.encode() + rb'"\s*:\s*\[')
_ENOUGH = 4096


def sniff(text: bytes) -> Signs:
    """Return the signs of such a database: sqlite's first bytes, and the names of its tables."""
    return sniff_tables(text, (schema.DISPATCHES, schema.PROCESSES))


def sniff_json(text: bytes) -> Signs:
    """Return the signs of such JSON: its only key."""
    found = _HEAD.match(text) is not None
    return Signs(found, DistributedInfo(), sure=found or len(text) >= _ENOUGH)


ROCPROF = Reader(
    name="rocprof",
    suffixes=(".db",),
    sniff=sniff,
    read=OnCall("tb_privateuse1.readers.rocprof.database_reading", "read"),
    record=OnCall("tb_privateuse1.readers.rocprof.database_reading", "read_row"),
    has_memory=False,
)

ROCPROF_JSON = Reader(
    name="rocprof_json",
    suffixes=(".json",),
    sniff=sniff_json,
    read=OnCall("tb_privateuse1.readers.rocprof.json_reading", "read"),
    record=OnCall("tb_privateuse1.readers.rocprof.json_reading", "read_record"),
    has_memory=False,
)
