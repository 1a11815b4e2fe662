"""Read torch's structured log of compilation (``TORCH_TRACE``) beside a trace of its process.

The file is a line for each record, as glog writes them, with JSON; the lines of its payload follow,
each behind a tab (torch/_logging/_internal.py, ``TorchLogsFormatter``). ``lines`` splits it,
``records`` says what the records mean, ``tables`` makes the tables of the trace. A log without
doubt of the trace's process is joined; another one is named by a finding, and adds nothing.
Order: lines < records < tables.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tb_privateuse1.readers.raw import Raw

__all__ = [
    "add",
    "process_of",
]

_HEAD = re.compile(
    rb"(?:\xef\xbb\xbf)?[VDIWEC][01]\d[0-3]\d [0-2]\d:[0-5]\d:\d\d\.\d{3,6} (\d{1,18}) "
    rb"[^\n\]]{1,999}:\d+\] \{\""
)


def process_of(text: bytes) -> int | None:
    """Return the process that a log is of, by its first bytes; None if they begin no such log."""
    match = _HEAD.match(text)
    return int(match[1]) if match else None


def add(raw: Raw, path: str) -> Raw:
    """Return a trace's columns with what a log adds; if that is not sure, a finding.

    Raises TraceError ``unreadable`` or ``too_large``.
    """
    from tb_privateuse1.readers.compile_log import join

    return join.add(raw, path)
