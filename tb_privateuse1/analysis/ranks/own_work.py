"""Measure each rank's own work, without waits for others, and group ranks of equal work.

Outside of exposed communication a rank works for itself: it computes, copies, or its device waits
for its own host. It does not wait for other ranks. A rank that comes late only because it waited
elsewhere, in a collective of another group or for a message, has no longer own work than its peers.
This tells culprits from victims at any length of the chain.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from tb_privateuse1.analysis.ranks.collectives import MatchedCalls, RankPart, Shape
from tb_privateuse1.analysis.ranks.steps import RankSteps
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import F64, I64

_SIZED = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")
"""Kinds whose sizes are those of parameters. All-to-all and messages carry data of each rank."""


_MOST_TOKENS = 2.0
"""Work on fewer tokens counts at most so often: a part of it does not depend on their number."""


def own_work(steps: RankSteps, parts: Sequence[RankPart], calls: MatchedCalls) -> I64:
    """Return each step less its exposed communication, in ns; ``MISSING`` where it is unknown.

    Computation beside a communication is own work: the rank does not wait in the meantime. Of
    experts it is what they would take with as many tokens as the mean of their group: who gets
    more is no slower rank.
    """
    known = steps.exposed_ns != MISSING
    own = steps.duration_ns - steps.exposed_ns + np.rint(_even_work(steps, parts, calls))
    return np.where(known, own, MISSING).astype(np.int64)


def _even_work(steps: RankSteps, parts: Sequence[RankPart], calls: MatchedCalls) -> F64:
    """Return what each step's own work would take longer if all ranks got as many tokens."""
    call, received, work = ([np.empty(0, np.int64)] for _ in range(3))
    first = 0
    for part in parts:
        if len(part.by_group.exchange_call):
            call.append(part.by_group.exchange_call.astype(np.int64) + first)
            received.append(part.by_group.received_bytes)
            work.append(part.by_group.exchange_work_ns)
        first += len(part.calls.step)
    rows, tokens, took = np.concatenate(call), np.concatenate(received), np.concatenate(work)
    used = (took != MISSING) & (calls.match[rows] >= 0) & (calls.row[rows] >= 0)
    match = calls.match[rows]
    lost = np.bincount(match[used & (tokens <= 0)], minlength=int(match.max(initial=0)) + 1) > 0
    used &= ~lost[match]
    match, tokens, took = match[used], tokens[used], took[used]
    mean = np.bincount(match, tokens) / np.maximum(np.bincount(match), 1)
    more = took * (np.minimum(mean[match] / tokens, _MOST_TOKENS) - 1)
    found = np.zeros(len(steps.step))
    np.add.at(found, calls.row[rows[used]], more)
    return found


def peer_groups(parts: Sequence[RankPart]) -> list[I64]:
    """Return the groups of ranks that make the same kinds and sizes of calls, of two and more.

    Pipeline stages differ in the sizes of their gradients. Where most ranks differ in sizes, only
    kinds count.
    """
    groups: list[I64] = []
    for sized in (True, False):
        keys: dict[Hashable, list[int]] = {}
        for i, part in enumerate(parts):
            if part.shapes:
                keys.setdefault(_signature(part.shapes, sized), []).append(i)
        groups = [np.array(one, np.int64) for one in keys.values() if len(one) > 1]
        if 2 * sum(map(len, groups)) >= len(parts):
            break
    return groups


def _signature(shapes: tuple[Shape, ...], sized: bool) -> Hashable:
    return frozenset(
        (
            one.label.kind, one.label.purpose, one.label.on_host, one.group_size,
            one.bytes if sized and one.label.kind in _SIZED else None,
        )
        for one in shapes
    )  # fmt: skip
