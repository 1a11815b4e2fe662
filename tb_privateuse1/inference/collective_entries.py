"""Put the entries of a flight recorder on the trace's clock."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.trace.collective_entries import CollectiveEntries
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import HALF_INT64


def known_base(base_ns: int) -> int:
    """Return an absolute time, 0 (unknown) for one that leaves int64 no room for times."""
    return base_ns if abs(base_ns) < HALF_INT64 else 0


def on_clock(entries: CollectiveEntries, base_ns: int) -> CollectiveEntries:
    """Return entries with times since ``base_ns``; ``MISSING`` if that is impossible."""
    possible = abs(base_ns) < HALF_INT64
    columns = {}
    for name in ("created_ns", "started_ns", "completed_ns"):
        column = getattr(entries, name)
        known = (column != MISSING) & possible
        columns[name] = np.where(known, column - (base_ns if possible else 0), MISSING)
    return replace(entries, **columns)
