"""Read recordings of Ascend's torch_npu: its databases, and the folder into which it writes.

``ascend_pytorch_profiler_<rank>.db`` and ``msprof_<time>.db`` are sqlite databases of the same
tables (``schema``). A folder ``<worker>_<time>_ascend_pt`` may have such a database, the same
recording as Chrome trace JSON (``trace_view.json``), and tables of what it sums or adds. One of the
two has the events, the database if both are there: it is exact to the nanosecond, and has the sizes
of collectives and of inputs. The others add what it lacks (``folder``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tb_privateuse1.discovery.compressed_files import SUFFIX_PATTERN
from tb_privateuse1.discovery.formats import Folder, Signs
from tb_privateuse1.i18n import say
from tb_privateuse1.readers.ascend import schema
from tb_privateuse1.readers.reader import Reader
from tb_privateuse1.readers.sqlite import sniff_tables
from tb_privateuse1.trace.findings import ALL
from tb_privateuse1.trace.registry import OnCall

if TYPE_CHECKING:
    from tb_privateuse1.readers.raw import Raw

__all__ = [
    "ASCEND",
]

_MARKS = (schema.OPS, schema.CALLS, schema.COLLECTIVES, schema.COMPUTE)
_OWN = r"^ascend_pytorch_profiler(?:_([0-9]{1,9}))?\.db"

_FOLDER = Folder(
    names=re.compile(
        r"^(?P<worker>.+?)(?:_(?P<stamp>[0-9]{14}|[0-9]{17}))?_ascend_pt$|^ASCEND_PROFILER_OUTPUT$"
        r"|^PROF_[0-9]+_[0-9]{14,17}_[0-9A-Za-z]+$"
    ),
    traces=(
        re.compile(_OWN + SUFFIX_PATTERN, re.IGNORECASE),
        re.compile(r"^trace_view\.json" + SUFFIX_PATTERN),
        re.compile(r"^msprof_[0-9]+\.db$"),
        re.compile(r"^msprof_[0-9]+\.json$"),
    ),
    parts=re.compile(
        r"^(kernel_details|operator_memory)\.csv$"
        r"|^(profiler_info(_[0-9]{1,9})?|profiler_metadata)\.json$"
    ),
    rank=re.compile(r"^(?:profiler_info|ascend_pytorch_profiler)_([0-9]{1,9})\."),
    hint=say(
        "It has raw data only: torch_npu.profiler.profiler.analyse(folder) makes a database or "
        "trace_view.json of them, on the machine that recorded it."
    ),
)


def sniff(text: bytes) -> Signs:
    """Return the signs of such a database: sqlite's first bytes, and the names of its tables."""
    return sniff_tables(text, _MARKS)


def alter(raw: Raw) -> Raw:
    """Return a ``trace_view.json`` with inputs and collectives as torch would have written them."""
    if raw.reader == ASCEND.name or schema.HARDWARE not in raw.process_names.values():
        return raw
    from tb_privateuse1.readers.ascend.collectives import with_collectives
    from tb_privateuse1.readers.ascend.inputs import with_json_inputs

    return with_collectives(with_json_inputs(raw))


ASCEND = Reader(
    name="ascend",
    suffixes=(".db",),
    sniff=sniff,
    own_names=re.compile(_OWN + "$", re.IGNORECASE),
    folder=_FOLDER,
    read=OnCall("tb_privateuse1.readers.ascend.database_reading", "read"),
    record=OnCall("tb_privateuse1.readers.ascend.database_reading", "read_row"),
    add=OnCall("tb_privateuse1.readers.ascend.folder", "add"),
    affects=ALL,
    alter=alter,
)
