"""Sum ranks by node: their mean step, and the communication within and between nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.ranks import steps as ranks_steps
from tb_privateuse1.analysis.ranks.group_sums import RunFigures
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import MISSING


class NodeRow(Struct, frozen=True):
    """The ranks of one host: means over them of each rank's mean step."""

    host: str
    ranks: int
    step_ns: int | None
    computation_ns: int | None
    exposed_ns: int | None
    exposed_within_ns: int | None
    """In process groups whose ranks are all on one node; ..."""
    exposed_across_ns: int | None
    """... and with ranks on several. What is left is in groups whose nodes are not known."""
    copy_ns: int | None
    idle_ns: int | None
    synchronizing_ns: int | None
    longest_rank: int
    """The rank whose mean step is longest."""
    longest_ns: int | None


def node_rows(run: RunFigures, numbers: Sequence[int]) -> tuple[NodeRow, ...]:
    """Return the nodes by their lowest rank; none if no host name is recorded.

    ``numbers`` are the ranks of the parts.
    """
    means = ranks_steps.step_means(run.steps, run.counted, len(run.parts))
    placed = {name: _exposed(run, name) for name in ("node", "across")}
    hosts: dict[str, list[int]] = {}
    for i, part in enumerate(run.parts):
        if part.hostname:
            hosts.setdefault(part.hostname, []).append(i)

    def mean(values: Sequence[int | None], own: Sequence[int]) -> int | None:
        known = [value for i in own if (value := values[i]) is not None]
        return round(sum(known) / len(known)) if known else None

    rows = []
    for host, own in hosts.items():
        longest = max(own, key=lambda i: means["duration_ns"][i] or -1)
        names = ("computation_ns", "exposed_ns", "copy_ns", "idle_ns", "synchronizing_ns")
        rows.append(
            NodeRow(
                host=host,
                ranks=len(own),
                step_ns=mean(means["duration_ns"], own),
                **{name: mean(means[name], own) for name in names},
                exposed_within_ns=mean(placed["node"], own),
                exposed_across_ns=mean(placed["across"], own),
                longest_rank=numbers[longest],
                longest_ns=means["duration_ns"][longest],
            )
        )
    return tuple(rows)


def _exposed(run: RunFigures, placement: str) -> list[int | None]:
    """Return by rank the mean exposed time per step in groups of this placement."""
    chosen = np.array([g.placement == placement for g in run.groups.groups] + [False], np.bool_)
    known = run.counted & (run.steps.exposed_ns != MISSING)
    steps = np.bincount(run.steps.rank[known], minlength=len(run.parts))
    if not chosen.any():
        return [0 if count else None for count in steps.tolist()]
    own = run.exposed
    fine = known[own.row] & chosen[own.group]
    total = sums(own.part[fine], own.time_ns[fine], len(run.parts))
    return [
        round(ns / count) if count else None
        for ns, count in zip(total.tolist(), steps.tolist(), strict=True)
    ]
