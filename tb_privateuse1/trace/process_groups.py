"""Process groups: the ranks that communicate with each other, in a compact form.

A group's ranks are runs of equal strides, so that a job of ten thousand ranks stays small, and a
hostile size is never expanded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace.table import I64, Bools

Run = tuple[int, int, int]
"""First rank, number of ranks, stride."""

RANK_LIMIT = 1 << 31
"""All ranks are below: columns of ranks are int32."""
MOST_RANKS = 1 << 20
"""The most ranks of a group; a group of more has no known ranks."""
MOST_GROUPS = 4096
"""The most groups of one rank."""


class ProcessGroup(Struct, frozen=True):
    """A group that a rank belongs to."""

    name: str
    """Unique in the job, but for libraries that number the groups of each rank."""
    purpose: str = ""
    """The framework's description (``mesh_tp``, ``default_pg``); empty if not recorded."""
    size: int | None = None
    runs: tuple[Run, ...] | None = None
    """The ranks in order; None if they are not known."""
    backend: str = ""


def runs_of(ranks: Sequence[int]) -> tuple[Run, ...]:
    """Return the runs of distinct ranks, each as long as possible from the lowest rank on."""
    ordered = np.array(sorted(set(ranks)), np.int64)
    if not len(ordered):
        return ()
    steps = np.diff(ordered)
    if not len(steps) or (steps == steps[0]).all():
        return ((int(ordered[0]), len(ordered), int(steps[0]) if len(steps) else 1),)
    runs: list[Run] = []
    at, last = 0, len(ordered) - 1
    changes = [*(np.flatnonzero(np.diff(steps)) + 1).tolist(), last]
    for end in changes:
        if end > at:
            runs.append((int(ordered[at]), end - at + 1, int(steps[at])))
            at = end + 1
    if at == last:
        runs.append((int(ordered[last]), 1, 1))
    return tuple(runs)


def count_ranks(runs: Sequence[Run]) -> int:
    """Return the number of ranks."""
    return sum(count for _, count, _ in runs)


def stride_of(runs: Sequence[Run]) -> int | None:
    """Return the stride between neighbors of a group; None if it is not constant."""
    return runs[0][2] if len(runs) == 1 and runs[0][1] > 1 else None


def members(runs: Sequence[Run], ranks: I64) -> Bools:
    """Return which of the ranks belong to the group."""
    found = np.zeros(len(ranks), np.bool_)
    for first, count, stride in runs:
        place = ranks - first
        found |= (place >= 0) & (place % stride == 0) & (place < count * stride)
    return found


def text_of(runs: Sequence[Run]) -> str:
    """Return the ranks in short: ``0-7``, ``0-24:8`` (every eighth), ``3, 5, 6``."""
    shown = [_run_text(*run) for run in runs[:8]]
    return ", ".join([*shown, "…"] if len(runs) > len(shown) else shown)


def _run_text(first: int, count: int, stride: int) -> str:
    last = first + (count - 1) * stride
    if count == 1:
        return str(first)
    if count == 2:
        return f"{first}, {last}"
    return f"{first}-{last}" if stride == 1 else f"{first}-{last}:{stride}"
