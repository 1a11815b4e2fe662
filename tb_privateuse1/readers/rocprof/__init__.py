"""Read databases of rocprofv3 (``rocpd``): ``<host>/<pid>_results.db``.

They have kernels, copies, calls of the runtime, and ranges that programs named (roctx). Torch's
operators are among the ranges if the program ran under ``torch.autograd.profiler.emit_nvtx``.
"""

from __future__ import annotations

from tb_privateuse1.discovery.formats import Signs
from tb_privateuse1.readers.base import Reader
from tb_privateuse1.readers.rocprof import schema
from tb_privateuse1.readers.rocprof.reading import read, read_row
from tb_privateuse1.readers.sqlite import sniff_tables

__all__ = [
    "ROCPROF",
]


def sniff(text: bytes) -> Signs:
    """Return the signs of such a database: sqlite's first bytes, and the names of its tables."""
    return sniff_tables(text, (schema.DISPATCHES, schema.PROCESSES))


ROCPROF = Reader(
    name="rocprof",
    suffixes=(".db",),
    sniff=sniff,
    read=read,
    record=read_row,
    has_memory=False,
)
