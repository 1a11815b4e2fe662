"""The calls of collectives and messages of one rank."""

from __future__ import annotations

from dataclasses import dataclass

from tb_privateuse1.trace.table import I32, I64, Table


@dataclass(frozen=True)
class Collectives(Table):
    """Communication with other ranks, by start: a kernel, or a range (``op``) on the host.

    ``kind`` is ``all_reduce``, …, ``other``; ``bytes`` are counted as the NCCL tests do.
    """

    kernel: I32
    op: I32
    kind: I32
    group: I32
    purpose: I32
    group_size: I64
    bytes: I64
    peer: I32
    """The rank that a message goes to or comes from; ``NONE`` if it is none or not recorded."""
    sent_bytes: I64
    received_bytes: I64
    """Of this rank, by its arguments alone; ``MISSING`` without them."""
