"""Recognize a file as an execution trace by its first bytes, for discovery and readers."""

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


def process_of(text: bytes) -> int | None:
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
