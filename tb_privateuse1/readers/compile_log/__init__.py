"""Read torch's structured log of compilation (``TORCH_TRACE``) beside a trace of its process.

The file is a line for each record, as glog writes them, with JSON; the lines of its payload follow,
each behind a tab (torch/_logging/_internal.py, ``TorchLogsFormatter``). ``lines`` splits it,
``records`` says what the records mean, ``tables`` makes the tables of the trace. A log without
doubt of the trace's process is joined; another one is named by a finding, and adds nothing.
Order: lines < records < tables < join.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tb_privateuse1.readers.raw import Raw

__all__ = [
    "add",
]


def add(raw: Raw, path: str) -> Raw:
    """Return a trace's columns with what a log adds; if that is not sure, a finding.

    Raises TraceError ``unreadable`` or ``too_large``.
    """
    from tb_privateuse1.readers.compile_log import join

    return join.add(raw, path)
