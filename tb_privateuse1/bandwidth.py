"""Collectives of all ranks in sums, and how fast they were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_privateuse1.ranks import Together
from tb_privateuse1.trace import I64, MISSING, Bools


@dataclass(frozen=True)
class CollectiveRow:
    """The calls of one kind and size in one process group, of all ranks."""

    kind: str
    group: str | None
    """The process group's name; null if the trace does not tell."""
    purpose: str | None
    group_size: int | None
    on_host: bool
    bytes: int | None
    """Of one call on one rank."""
    calls: int
    ranks: int
    total_ns: int
    mean_ns: int
    transfer_ns: int | None
    """Mean over the matched calls of the least duration among the ranks."""
    synchronising_ns: int | None
    """Mean over the matched calls of what they take longer."""
    matched: int
    """Calls that other ranks have, too; of the others nothing can be said about waiting."""
    algorithm_bytes_per_s: float | None
    """Of the transfer; without a match of the whole duration, and then too little."""
    bus_bytes_per_s: float | None


def collectives(calls: Together, in_step: Bools) -> tuple[CollectiveRow, ...]:
    """A row per kind, process group and bytes, the most time first."""
    rows = np.flatnonzero(in_step)
    key = np.stack((calls.label, calls.group_size, calls.bytes))[:, rows]
    found, member = np.unique(key, axis=1, return_inverse=True)
    member = member.reshape(-1)
    made = [_collective(calls, rows[member == i]) for i in range(found.shape[1])]
    return tuple(sorted(made, key=lambda row: -row.total_ns))


def _collective(calls: Together, rows: I64) -> CollectiveRow:
    label = calls.labels[calls.label[rows[0]]]
    size, count = int(calls.group_size[rows[0]]), int(calls.bytes[rows[0]])
    total, transfer = int(calls.duration_ns[rows].sum()), int(calls.transfer_ns[rows].sum())
    matched = rows[calls.match[rows] >= 0]
    known_size = None if size == MISSING else size
    known_bytes = None if count == MISSING else count
    algorithm = None
    if known_bytes and transfer > 0:
        algorithm = known_bytes * len(rows) / transfer * 1e9
    factor = _bus_factor(label.kind, known_size)
    return CollectiveRow(
        kind=label.kind,
        group=label.group or None,
        purpose=label.purpose or None,
        group_size=known_size,
        on_host=label.on_host,
        bytes=known_bytes,
        calls=len(rows),
        ranks=len(np.unique(calls.rank[rows])),
        total_ns=total,
        mean_ns=round(total / len(rows)),
        transfer_ns=_mean(calls.transfer_ns[matched]),
        synchronising_ns=_mean((calls.duration_ns - calls.transfer_ns)[matched]),
        matched=len(matched),
        algorithm_bytes_per_s=algorithm,
        bus_bytes_per_s=None if algorithm is None or factor is None else algorithm * factor,
    )


def _mean(times_ns: I64) -> int | None:
    return round(int(times_ns.sum()) / len(times_ns)) if len(times_ns) else None


def _bus_factor(kind: str, size: int | None) -> float | None:
    """What goes over each link per byte (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md)."""
    if kind in ("broadcast", "reduce", "send", "recv", "send_recv"):
        return 1.0
    if size is None:
        return None
    if kind == "all_reduce":
        return 2 * (size - 1) / size
    return (size - 1) / size if kind in ("all_gather", "reduce_scatter", "all_to_all") else None
