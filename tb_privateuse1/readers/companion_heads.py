"""Recognize execution traces and logs of compilation by their first bytes."""

from __future__ import annotations

import re

_START = re.compile(rb"\s*[{\[]")
_SCHEMA = re.compile(rb'"schema"\s*:\s*"[0-9]+\.[0-9]+')
_NODES = re.compile(rb'"nodes"\s*:\s*\[')
_PROCESS = re.compile(rb'"pid"\s*:\s*"?([0-9]{1,18})\b')
_BARE = re.compile(
    rb'\s*\[\s*\{\s*"(?:id"\s*:\s*[0-9]+\s*,\s*"name|name"\s*:\s*"[^"]{0,999}"\s*,\s*"id)"'
)
_REACH = 1 << 12
_LOG = re.compile(
    rb"(?:\xef\xbb\xbf)?[VDIWEC][01]\d[0-3]\d [0-2]\d:[0-5]\d:\d\d\.\d{3,6} (\d{1,18}) "
    rb"[^\n\]]{1,999}:\d+\] \{\""
)
"""The line of a record, as glog writes it, with JSON (torch/_logging/_internal.py)."""


def process_of(text: bytes) -> int | None:
    """Return the process that a file beside a trace is of, 0 if it does not say it.

    None for files of other kinds.
    """
    process = execution_trace_process(text)
    return log_process(text) if process is None else process


def log_process(text: bytes) -> int | None:
    """Return the process that a log of compilation is of; None if the text begins no such file."""
    match = _LOG.match(text)
    return int(match[1]) if match else None


def execution_trace_process(text: bytes) -> int | None:
    """Return the process that an execution trace is of; None if the text begins no such file.

    torch writes ``schema`` and ``pid`` in front of the list of ``nodes``. A bare list of nodes
    does not say its process: 0.
    """
    head = text[:_REACH].removeprefix(b"\xef\xbb\xbf")
    if not _START.match(head):
        return None
    if _BARE.match(head):
        return 0
    nodes = _NODES.search(head)
    if nodes is None or not _SCHEMA.search(head, 0, nodes.start()):
        return None
    process = _PROCESS.search(head, 0, nodes.start())
    return int(process[1]) if process else 0
