"""Where a trace file can be read again from: a table of the trace."""

from __future__ import annotations

from dataclasses import dataclass

from tb_privateuse1.trace.table import I64, Bools, Table


@dataclass(frozen=True)
class Checkpoints(Table):
    """Places in the trace file, some megabytes apart, from which single events can be read again.

    ``offset_bytes`` counts in the unpacked text; ``event`` is the number of the first event there,
    counted from 0 over all that stand in the file's lists of events. The rest is what the reader
    knew there: the size of its window, damaged places and long events so far, and whether the file
    is a bare list.
    """

    offset_bytes: I64
    event: I64
    window_bytes: I64
    damages: I64
    long: I64
    bare: Bools
