"""Names of calls, functions and annotations that return when the device is done."""

from __future__ import annotations

import re

_WAITS = re.compile(
    r"synchroni[sz]e(?!_|(?-i:[a-z]))|waitfor|(stream|device|event)_?sync", re.IGNORECASE
)
_NO_WAIT = re.compile(r"wait_?event|event_?(query|record)|enqueue", re.IGNORECASE)
"""Waits on the device, and calls that return at once."""


def blocks(name: str) -> bool:
    """Return whether what has this name waits on the host for the device."""
    return bool(_WAITS.search(name)) and not _NO_WAIT.search(name)
