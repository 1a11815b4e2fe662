"""The critical path in an interval, for the timeline to draw."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.account.classes import NAMES, ClassName
from tb_privateuse1.analysis.account.host_activity import TABLES
from tb_privateuse1.analysis.kernel_names import display_names
from tb_privateuse1.analysis.simulation import critical_path
from tb_privateuse1.analysis.simulation.path_classes import Path
from tb_privateuse1.analysis.timeline.level_of_detail import Pyramid
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64
from tb_privateuse1.views.lookups.event_items import item
from tb_privateuse1.views.signature import heavy


class Piece(Struct, frozen=True):
    """A part of the critical path: a range of the timeline, and its class of time."""

    time_class: ClassName
    name: str
    """Of a kernel: the name that people read."""
    start_ns: int
    end_ns: int
    track: int
    """Where the timeline draws the range; -1 if it does not, or if there is none."""
    row: int


class Critical(Struct, frozen=True):
    """The result of the lookup."""

    pieces: tuple[Piece, ...]
    """By time. Of more than ``limit``, the longest ones."""
    found: int
    """How many pieces lie in the window."""


@heavy
def critical(
    trace: Trace,
    pyramid: Pyramid,
    critical: Path,
    *,
    start_ns: Annotated[int, "start of the window"] = 0,
    stop_ns: Annotated[int | None, "end of the window; by default that of the recording"] = None,
    limit: Annotated[int, "at most this many pieces, 5000 or fewer"] = 1000,
) -> Critical:
    """The pieces of all steps' paths in [start_ns, stop_ns), at most ``limit`` (5000) of them."""
    stop = trace.end_ns if stop_ns is None else stop_ns
    rows = np.flatnonzero((critical.end_ns > start_ns) & (critical.start_ns < stop))
    some = _longest(critical, rows, min(max(limit, 0), 5000))
    names = critical_path.piece_names(trace, critical)
    return Critical(
        pieces=tuple(_piece(trace, pyramid, critical, names, row) for row in some.tolist()),
        found=len(rows),
    )


def _longest(path: Path, rows: I64, limit: int) -> I64:
    length = path.end_ns[rows] - path.start_ns[rows]
    return np.sort(rows[np.argsort(-length, kind="stable")[:limit]])


def _piece(trace: Trace, pyramid: Pyramid, path: Path, names: NDArray[np.int64], row: int) -> Piece:
    track, line = -1, 0
    if path.row[row] >= 0:
        place = item(trace, pyramid, TABLES[path.table[row]], int(path.row[row]))
        track, line = place.track, place.row
    return Piece(
        time_class=NAMES[path.time_class[row]],
        name=display_names(trace).get(int(names[row])) or trace.text(names[row]),
        start_ns=int(path.start_ns[row]),
        end_ns=int(path.end_ns[row]),
        track=track,
        row=line,
    )
