"""Sum collectives over all ranks, and compute their bandwidth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.ranks.collectives import MatchedCalls, Shape
from tb_privateuse1.analysis.work.collectives import bus_factor
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64, Bools


class CollectiveRow(Struct, frozen=True):
    """The calls of one kind and size in one process group, over all ranks."""

    kind: str
    group: str | None
    """The process group's name; null if the trace does not have it."""
    purpose: str | None
    group_size: int | None
    on_host: bool
    bytes: int | None
    """Per call and rank."""
    calls: int
    ranks: int
    total_ns: int
    mean_ns: int
    transfer_ns: int | None
    """Mean over the matched calls of the least duration among the ranks."""
    synchronizing_ns: int | None
    """Mean over the matched calls of the time beyond the transfer."""
    matched: int
    """Calls that other ranks have, too; waits of the others are not known."""
    algorithm_bytes_per_s: float | None
    """By the transfer time; without a match by the whole duration, which gives too little."""
    bus_bytes_per_s: float | None
    longest_rank: int
    """Rank of the call with the greatest duration."""
    longest_ns: int
    longest_start_ns: int
    """Since the start of that rank's trace."""


def collective_rows(
    calls: MatchedCalls, in_step: Bools, numbers: Sequence[int], most: int
) -> tuple[int, list[CollectiveRow]]:
    """Return the number of rows, and the ``most`` rows with most time.

    A row has the calls of one kind, process group and bytes. ``numbers`` are the ranks of the
    parts.
    """
    n = len(calls.shapes)
    shape = np.where(in_step, calls.shape, NONE)
    one = np.ones(len(shape), np.int64)
    waited = np.where(calls.match >= 0, calls.duration_ns - calls.transfer_ns, 0)
    matched = np.where(calls.match >= 0, shape, NONE)
    count, total = sums(shape, one, n), sums(shape, calls.duration_ns, n)
    transfer, known = sums(shape, calls.transfer_ns, n), sums(matched, one, n)
    known_transfer, waiting = sums(matched, calls.transfer_ns, n), sums(matched, waited, n)
    pairs = np.unique(shape[shape >= 0].astype(np.int64) << 32 | calls.rank[shape >= 0])
    ranks = np.bincount(pairs >> 32, minlength=n)
    longest = _longest(shape, calls.duration_ns, n)
    order = np.argsort(-total, kind="stable")
    order = order[count[order] > 0]
    return len(order), [
        _collective(
            calls.shapes[i],
            calls=int(count[i]),
            ranks=int(ranks[i]),
            total_ns=int(total[i]),
            transfer_ns=int(transfer[i]),
            matched=int(known[i]),
            matched_ns=int(known_transfer[i]),
            waiting_ns=int(waiting[i]),
            longest_rank=numbers[calls.rank[longest[i]]],
            longest_ns=int(calls.duration_ns[longest[i]]),
            longest_end_ns=int(calls.end_ns[longest[i]]),
        )
        for i in order[:most].tolist()
    ]


def _collective(
    shape: Shape,
    *,
    calls: int,
    ranks: int,
    total_ns: int,
    transfer_ns: int,
    matched: int,
    matched_ns: int,
    waiting_ns: int,
    longest_rank: int,
    longest_ns: int,
    longest_end_ns: int,
) -> CollectiveRow:
    """Return a row from the sums over all calls and over the matched ones."""
    label = shape.label
    algorithm = shape.bytes * calls / transfer_ns * 1e9 if shape.bytes and transfer_ns > 0 else None
    factor = bus_factor(label.kind, shape.group_size)
    return CollectiveRow(
        kind=label.kind,
        group=label.group or None,
        purpose=label.purpose or None,
        group_size=shape.group_size,
        on_host=label.on_host,
        bytes=shape.bytes,
        calls=calls,
        ranks=ranks,
        total_ns=total_ns,
        mean_ns=round(total_ns / calls),
        transfer_ns=round(matched_ns / matched) if matched else None,
        synchronizing_ns=round(waiting_ns / matched) if matched else None,
        matched=matched,
        algorithm_bytes_per_s=algorithm,
        bus_bytes_per_s=None if algorithm is None or factor is None else algorithm * factor,
        longest_rank=longest_rank,
        longest_ns=longest_ns,
        longest_start_ns=longest_end_ns - longest_ns,
    )


def _longest(shape: I32, duration: I64, shapes: int) -> I64:
    """Return the longest call of each shape, the first of equal ones."""
    found = np.zeros(shapes, np.int64)
    own = np.flatnonzero(shape >= 0)
    by_duration = own[np.argsort(-duration[own], kind="stable")]
    some, first = np.unique(shape[by_duration], return_index=True)
    found[some] = by_duration[first]
    return found
