"""Table of the launch configurations of kernels: grid, block, registers, shared memory."""

from __future__ import annotations

from tb_privateuse1.trace.table import (
    MaybeText,
    Number,
    Table,
)


class Configs(Table, frozen=True):
    """The distinct launch configurations, as far as the file has them.

    ``grid``, ``block``, ``blocks_per_sm`` and ``occupancy`` are JSON (``[4,106,1]``, ``5.3``):
    indices into ``Trace.strings``, ``NONE`` if missing. ``occupancy`` is CUPTI's estimate in
    percent. ``registers`` are per thread, ``shared_bytes`` per block; ``MISSING`` if missing.
    ``unit`` is the device's unit that runs it, as its tool names it (``AI_CPU``).
    """

    grid: MaybeText
    block: MaybeText
    registers: Number
    shared_bytes: Number
    blocks_per_sm: MaybeText
    occupancy: MaybeText
    unit: MaybeText
