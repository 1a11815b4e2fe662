"""What lookups share: one range of a trace, wherever it is, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tb_privateuse1 import pyramid as pyramids
from tb_privateuse1.pyramid import Pyramid
from tb_privateuse1.trace import MISSING, Trace, TraceError

TableName = Literal["ops", "launches", "frames", "kernels", "steps"]
TABLES: tuple[TableName, ...] = ("ops", "launches", "frames", "kernels", "steps")

_KIND = {
    "ops": pyramids.OPERATORS,
    "launches": pyramids.OPERATORS,
    "frames": pyramids.FRAMES,
    "kernels": pyramids.DEVICE,
    "steps": pyramids.STEPS,
}


@dataclass(frozen=True)
class Item:
    """One range: a row of a table of the trace."""

    table: TableName
    index: int
    name: str
    start_ns: int
    end_ns: int
    bound_ns: int | None
    """How far off an inferred start may be; 0 for what was recorded, null if unknown."""
    track: int
    """Where the timeline draws it; -1 if it does not."""
    row: int


def item(trace: Trace, pyramid: Pyramid, table: TableName, index: int | np.integer[Any]) -> Item:
    """The range in a row of a table."""
    rows = getattr(trace, table)
    bound = int(rows.start_bound_ns[index]) if table == "kernels" else 0
    return Item(
        table,
        int(index),
        trace.text(rows.name[index]),
        int(rows.start_ns[index]),
        int(rows.end_ns[index]),
        None if bound == MISSING else bound,
        *_place(trace, pyramid, table, int(index)),
    )


def _place(trace: Trace, pyramid: Pyramid, table: TableName, index: int) -> tuple[int, int]:
    rows = getattr(trace, table)
    owner = 0
    if table != "steps":
        owner = int((rows.lane if table == "kernels" else rows.thread)[index])
    ref = index + (len(trace.ops) if table == "launches" else 0)
    return pyramid.place(_KIND[table], owner, int(rows.start_ns[index]), ref)


def check(trace: Trace, table: TableName, index: int) -> None:
    """Raises TraceError ``unknown_row`` if the table has no such row."""
    rows = len(getattr(trace, table))
    if not 0 <= index < rows:
        message = f"There is no row {index} in the trace's {table}."
        raise TraceError("unknown_row", message, f"It has {rows:,}, counted from 0.")
