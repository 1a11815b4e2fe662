"""Table of the collectives and messages of one rank, with group and bytes."""

from __future__ import annotations

from tb_privateuse1.trace.table import (
    MaybeKernelRow,
    MaybeOpRow,
    MaybeText,
    Name,
    Number,
    SmallNumber,
    Table,
)


class Collectives(Table, frozen=True):
    """Communication with other ranks, by start: a kernel, or a range (``op``) on the host.

    ``kind`` is ``all_reduce``, …, ``other``; ``bytes`` are counted as the NCCL tests do.
    """

    kernel: MaybeKernelRow
    op: MaybeOpRow
    kind: Name
    group: MaybeText
    purpose: MaybeText
    group_size: Number
    bytes: Number
    peer: SmallNumber
    """The rank that a message goes to or comes from; ``NONE`` if it is none or not recorded."""
    sent_bytes: Number
    received_bytes: Number
    """Of this rank, by its arguments alone; ``MISSING`` without them."""
