"""Read exports of Nsight Systems: ``nsys export --type sqlite report.nsys-rep``.

The database has the device's work, the calls of its runtime, ranges that programs named (NVTX) and
samples of the GPU's metrics. Torch's operators are in it if the program ran under
``torch.autograd.profiler.emit_nvtx``. Reports themselves (``.nsys-rep``, ``.qdrep``) can be read by
NVIDIA's tools only: they are listed, and say what to do.
"""

from __future__ import annotations

import re

from tb_privateuse1.discovery.formats import Signs
from tb_privateuse1.readers.nsight import schema
from tb_privateuse1.readers.nsight.schema import REPORTS
from tb_privateuse1.readers.reader import Reader
from tb_privateuse1.readers.sqlite import sniff_tables
from tb_privateuse1.trace.registry import OnCall

__all__ = [
    "NSIGHT",
]

_MARKS = (schema.KERNELS, schema.CALLS, schema.RANGES, schema.START, "ENUM_NSYS_EVENT_TYPE")


def sniff(text: bytes) -> Signs:
    """Return the signs of such a database: sqlite's first bytes, and the names of its tables."""
    return sniff_tables(text, _MARKS)


NSIGHT = Reader(
    name="nsight",
    suffixes=(".sqlite", *REPORTS),
    sniff=sniff,
    own_names=re.compile(r"\.(nsys-rep|qdrep)$", re.IGNORECASE),
    sources=REPORTS,
    read=OnCall("tb_privateuse1.readers.nsight.export_reading", "read"),
    record=OnCall("tb_privateuse1.readers.nsight.export_reading", "read_row"),
    has_memory=False,
)
