"""Order the nodes of a dependency graph: each behind what it depends on, and the way back."""

from __future__ import annotations

import heapq

import numpy as np

from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64, Bools


def settled(time: I64, before: I64, source: I64, target: I64) -> tuple[I64, Bools]:
    """Order the nodes by time, each behind its dependencies; return the valid edges, too.

    On coarse clocks nodes of one instant can form a cycle. An example: a call that returns, the
    activity of length 0 that it waited for, and that activity's launch behind the return. Then the
    node with the lowest number goes first, and its edges from later nodes are invalid. Within a
    chain, numbers and times rise.
    """
    order = np.argsort(time, kind="stable")
    valid = time[source] <= time[target]
    tied = np.flatnonzero(time[source] == time[target])
    # Only these instants are not yet ordered by time and number.
    instants = np.unique(time[source[tied[source[tied] >= target[tied]]]])
    low = np.searchsorted(time[order], instants, side="left")
    high = np.searchsorted(time[order], instants, side="right")
    edges = tied[np.argsort(time[source[tied]], kind="stable")]
    first = np.searchsorted(time[source[edges]], instants, side="left")
    last = np.searchsorted(time[source[edges]], instants, side="right")
    for i in range(len(instants)):
        nodes, here = order[low[i] : high[i]], edges[first[i] : last[i]]
        chained = nodes[before[nodes] >= 0]
        chained = chained[time[before[chained]] == instants[i]]
        # A chain's edges come first: they always count.
        sources = np.concatenate((before[chained], source[here]))
        targets = np.concatenate((chained, target[here]))
        found, counts = _sorted_nodes(nodes, sources, targets)
        order[low[i] : high[i]] = found
        valid[here] = counts[len(chained) :]
    return order, valid


def _sorted_nodes(nodes: I64, source: I64, target: I64) -> tuple[I64, Bools]:
    """Order nodes so that edges lead forward, lowest number first; return the valid edges, too."""
    of = np.searchsorted(nodes, source), np.searchsorted(nodes, target)  # nodes rise
    by_source = np.argsort(of[0], kind="stable")
    cuts = np.searchsorted(of[0][by_source], np.arange(len(nodes) + 1)).tolist()
    follows = of[1][by_source].tolist()
    open_ = np.bincount(of[1], minlength=len(nodes)).tolist()
    rank = np.full(len(nodes), NONE)
    ready = [i for i, count in enumerate(open_) if not count]  # sorted, so it is a heap
    lowest = 0
    for turn in range(len(nodes)):
        if ready:
            node = heapq.heappop(ready)
        else:  # a cycle
            while rank[lowest] != NONE:
                lowest += 1
            node = lowest
        rank[node] = turn
        for other in follows[cuts[node] : cuts[node + 1]]:
            open_[other] -= 1
            if not open_[other] and rank[other] == NONE:
                heapq.heappush(ready, other)
    return nodes[np.argsort(rank)], rank[of[0]] < rank[of[1]]


def ancestors(binding: I64, ends: I64, longest: int | None = None) -> I64:
    """Return the nodes on the way back from each of ``ends``.

    ``binding`` is the previous node of each, ``NONE`` for the last one. No way has more than
    ``longest`` nodes, by default all of them.
    """
    n = len(binding)
    jump = np.append(np.where(binding >= 0, binding, n), n)
    reached = np.zeros(n + 1, np.bool_)
    reached[ends] = True
    # Pointer doubling: in steps of 1, 2, 4, …; no way is longer than n.
    for _ in range((n if longest is None else longest).bit_length()):
        reached[jump[reached]] = True
        jump = jump[jump]
    return np.flatnonzero(reached[:n])
