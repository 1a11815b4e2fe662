"""Checkpoints: offsets from which single events of a trace file can be read again."""

from __future__ import annotations

from tb_privateuse1.trace.table import (
    Bools,
    Number,
    Table,
)


class Checkpoints(Table, frozen=True):
    """Offsets in the trace file, some megabytes apart, where a reader can start.

    ``offset_bytes`` counts in the unpacked text. ``event`` is the number of the first event there,
    counted from 0 over all events of the file. The other columns are the reader's state: the size
    of its window, damaged places and long events so far, and whether the file is a bare list.
    """

    offset_bytes: Number
    event: Number
    window_bytes: Number
    damages: Number
    long: Number
    bare: Bools
