"""Read the dumps of torch's flight recorder: which collectives a rank enqueued, and their state.

torch writes one for each rank when a collective times out (``TORCH_NCCL_DUMP_ON_TIMEOUT``), and
``torch._C._distributed_c10d._dump_nccl_trace`` and ``_dump_fr_trace`` at any time, as a pickle or
JSON. ``document`` has the entries as columns; they become ``Raw.entries`` of the rank's trace
beside the dump, or a recording of their own with a range for each (``ranges``).
"""

from __future__ import annotations

import re

from tb_privateuse1.discovery.formats import DistributedInfo, Signs
from tb_privateuse1.readers.reader import Reader
from tb_privateuse1.trace.registry import OnCall

__all__ = [
    "FLIGHT_RECORDER",
]

_OWN = re.compile(r"(?:^|[-_.])(?:trace|dump|recorder)[-_]rank[-_]?[0-9]{1,9}$", re.IGNORECASE)
_KEYS = rb"(?:version|entries|pg_config|pg_status|comm_lib_version|nccl_version|nccl_comm_state)"
_PICKLE = re.compile(
    rb"\x80[\x02-\x05](?:\x95.{8})?\}(?:\x94|q.|r.{4})?\(?(?:\x8c.|X.{4})" + _KEYS, re.DOTALL
)
_JSON = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"' + _KEYS + rb'"\s*:')
_SECOND = re.compile(rb"pg_config|profiling_name")
"""Other files have a ``version``, too: one of these must follow."""
_ENOUGH = 64 << 10


def sniff(text: bytes) -> Signs:
    """Return the signs of a dump: a dictionary whose first key is one of its, pickled or JSON."""
    begins = (_PICKLE.match(text) or _JSON.match(text)) is not None
    found = begins and _SECOND.search(text) is not None
    return Signs(found, DistributedInfo(), sure=found or not begins or len(text) >= _ENOUGH)


FLIGHT_RECORDER = Reader(
    name="flight_recorder",
    suffixes=(".pickle", ".json", ".pkl"),
    sniff=sniff,
    own_names=_OWN,
    is_partial=True,
    joins_rank=True,
    read=OnCall("tb_privateuse1.readers.flight_recorder.dump_reading", "read"),
    record=OnCall("tb_privateuse1.readers.flight_recorder.dump_reading", "read_entry"),
    add=OnCall("tb_privateuse1.readers.flight_recorder.dump_reading", "add"),
)
