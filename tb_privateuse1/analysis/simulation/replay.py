"""Replay a dependency graph with changed durations: each node once its dependencies allow.

Nodes stand in chains (the events of a thread or a stream, in order). A node starts after its
predecessor's own time and a gap, and then after its own delay. An edge adds a node of another chain
and a gap. All of these are 0 or more, so the order of the recording is a valid order of
computation, and no reduction makes a node later.

Inside a chain the times are a running maximum. Edges between chains need iteration: a sweep
computes all chains from the current times of their dependencies. A program that runs ahead of its
device needs a few sweeps; one that waits at every second call needs as many as it has waits. So a
block of nodes that does not converge after some sweeps is computed once, node by node.

Several replays of a graph with such blocks (``replay_each``) go node by node together: numpy
computes all of them at each node, so that many cost little more than one.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tb_privateuse1.trace.columns import previous
from tb_privateuse1.trace.interruption import checkpoint
from tb_privateuse1.trace.intervals import running_max
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64, Bools

NEVER = -(1 << 60)
"""The gap of an edge that delays nothing, and the time of a node that may happen at any time."""

_BLOCK = 1 << 11
"""Nodes per block: few, so that a block has few waits."""

_SWEEPS = 48
"""This many sweeps cost as much as one pass node by node."""

_TOGETHER = 1 << 21
"""Nodes times replays that are computed together: six columns of them are 100 MB."""


class Weights(Struct, frozen=True):
    """Durations per node and per edge, ns, 0 or more.

    ``length`` is a node's own time, ``gap`` the time since the end of its predecessor in the chain,
    ``delay`` the time after all dependencies, ``edge_gap`` the time since the end of an edge's
    source. A node happens at ``at`` or later, or at any time if that is ``NEVER``; each node
    without dependencies has one. ``events`` are the profiler's in each gap, a number.
    """

    length: I64
    gap: I64
    delay: I64
    edge_gap: I64
    at: I64
    events: NDArray[np.float64]

    def without_delays(self, nodes: Bools) -> Weights:
        """Return the weights without the delays of some nodes (a flag each)."""
        return replace(self, delay=np.where(nodes, 0, self.delay))


class _Block(Struct, frozen=True):
    """Nodes that are computed together, and the edges into them."""

    nodes: slice
    edges: slice
    source: I64
    """Of each edge."""
    into: I64
    """The nodes of the block that have edges, and at which edge those of each begin."""
    cuts: I64
    known: I64
    """The first nodes of its parts that have a predecessor, and where that is."""
    came: I64


class Network:
    """Dependencies of nodes: chains, and edges between chains.

    ``before`` is the predecessor of each node in its chain or ``NONE``, ``source`` and ``target``
    are the ends of the edges. ``order`` are the nodes by ``time``, each behind its dependencies
    (see ``settled``).
    """

    def __init__(
        self, chain: I64, before: I64, source: I64, target: I64, time: I64, order: I64
    ) -> None:
        n = len(time)
        rank = np.empty(n, np.int64)
        rank[order] = np.arange(n)
        cuts = _cuts(time[order])
        block = np.searchsorted(cuts, rank, side="right")
        # A block's nodes lie together, chain by chain: its chains are slices.
        self._order = np.lexsort((rank, chain, block))
        self._place = np.empty(n, np.int64)
        self._place[self._order] = np.arange(n)
        self._rank = rank[self._order]
        self._before = _at(self._place, before[self._order])
        to = self._place[target]
        self._edges = np.argsort(to, kind="stable")
        self._from, self._to = self._place[source][self._edges], to[self._edges]
        inside = self._before == np.arange(-1, n - 1)
        inside[cuts] = False
        inside &= self._before >= 0
        self._part = np.cumsum(~inside)
        self._inside = inside
        self._is_slow = False
        """Whether a block of a replay did not converge."""
        self._blocks = [self._block(*ends) for ends in itertools.pairwise([*cuts.tolist(), n])]

    def _block(self, start: int, stop: int) -> _Block:
        """Return the nodes of these places as a block."""
        low, high = np.searchsorted(self._to, (start, stop)).tolist()
        into, cuts = _runs(self._to[low:high] - start)
        before = self._before[start:stop]
        known = np.flatnonzero(~self._inside[start:stop] & (before >= 0))
        nodes, edges = slice(start, stop), slice(low, high)
        return _Block(nodes, edges, self._from[edges], into, cuts, known, before[known])

    def replay(self, weights: Weights) -> I64:
        """Return when each node happens."""
        return self._replay(weights)[0]

    def replay_each(self, weights: Sequence[Weights]) -> Iterator[I64]:
        """Yield when each node happens with each of the weights; equal ones are replayed once."""
        distinct: list[Weights] = []
        which = [_place_of(one, distinct) for one in weights]
        replays, times = self._replays(distinct), list[I64]()
        for i in which:
            if i == len(times):
                times.append(next(replays))
            yield times[i]

    def _replays(self, weights: Sequence[Weights]) -> Iterator[I64]:
        done = 0
        while done < len(weights) and not self._is_slow:
            time, self._is_slow = self._replay(weights[done])
            done += 1
            yield time
        most = max(_TOGETHER // max(len(self._order), 1), 1)
        for first in range(done, len(weights), most):
            yield from self._walk_together(weights[first : first + most])

    def _replay(self, weights: Weights) -> tuple[I64, bool]:
        """Return when each node happens, and whether a block did not converge."""
        order = self._order
        length, delay, gap = weights.length[order], weights.delay[order], weights.gap[order]
        waits = weights.edge_gap[self._edges] + length[self._from]
        at = weights.at[order]
        # No node precedes the first one without dependencies, as all times are 0 or more.
        is_given = at > NEVER
        floor = int(at[is_given].min()) if is_given.any() else 0
        time = np.full(len(order), floor)
        first = np.where(is_given, at - delay, floor)
        # What a node is behind the first of its part, if nothing else delays it.
        along = np.cumsum(np.where(self._inside, previous(length, 0) + gap + delay, 0))
        late = delay - along
        is_slow = False
        for block in self._blocks:
            checkpoint()
            part, wait = block.nodes, waits[block.edges]
            known, came = block.known, block.came
            least = first[part]
            least[known] = np.maximum(least[known], time[came] + length[came] + gap[part][known])
            last, turns = None, 0
            while True:
                checkpoint()
                lowest = least.copy()
                found = np.maximum.reduceat(time[block.source] + wait, block.cuts)
                lowest[block.into] = np.maximum(lowest[block.into], found)
                if last is not None and np.array_equal(found, last):
                    break
                last, turns = found, turns + 1
                time[part] = running_max(lowest + late[part], self._part[part]) + along[part]
                if turns == _SWEEPS:
                    is_slow, last = True, None
                    self._walk(time, block, least, length, gap, delay, waits)
        result = np.empty(len(order), np.int64)
        result[order] = time
        return result, is_slow

    def _walk_together(self, weights: Sequence[Weights]) -> I64:
        """Return the times by replay and node: one pass over the nodes, each behind its sources."""
        rows = self._order[np.argsort(self._rank)]
        place = np.empty(len(rows), np.int64)
        place[rows] = np.arange(len(rows))
        length, gap, delay, at = (
            np.stack([getattr(one, name)[rows] for one in weights], axis=1)
            for name in ("length", "gap", "delay", "at")
        )
        is_given = at > NEVER
        late = np.iinfo(np.int64).max
        floor = at.min(axis=0, initial=late, where=is_given)
        earliest = np.where(is_given, at - delay, np.where(floor < late, floor, 0))
        given: list[bool] = np.any(is_given, axis=1).tolist()
        to, source = place[self._order[self._to]], place[self._order[self._from]]
        by_target = np.argsort(to, kind="stable")
        wait = np.stack([one.edge_gap[self._edges] for one in weights], axis=1)[by_target]
        cuts = np.searchsorted(to[by_target], np.arange(len(rows) + 1)).tolist()
        sources = source[by_target].tolist()
        before = place[self._order[self._before]]
        before = np.where(self._before >= 0, before, NONE)[np.argsort(self._rank)].tolist()
        end = np.empty_like(length)
        last = delay + length
        for i, up in enumerate(before):
            if not i % _BLOCK:
                checkpoint(i, len(rows))
            now = end[i]
            if up < 0:
                now[:] = earliest[i]
            else:
                np.add(end[up], gap[i], out=now)
                if given[i]:
                    np.maximum(now, earliest[i], out=now)
            for e in range(cuts[i], cuts[i + 1]):
                np.maximum(now, end[sources[e]] + wait[e], out=now)
            now += last[i]
        times = np.empty((len(weights), len(rows)), np.int64)
        times[:, rows] = (end - length).T
        return times

    def _walk(
        self, time: I64, block: _Block, least: I64, length: I64, gap: I64, delay: I64, waits: I64
    ) -> None:
        """Compute a block's nodes one by one, in the order of the recording."""
        part, start = block.nodes, block.nodes.start
        to, sources = self._to[block.edges] - start, block.source
        edges = np.searchsorted(to, np.arange(len(least) + 1)).tolist()
        came_after, sources = waits[block.edges].tolist(), sources.tolist()
        inside = self._inside[part].tolist()
        gaps, delays, leasts = gap[part].tolist(), delay[part].tolist(), least.tolist()
        own = length[part].tolist()
        now = time[part].tolist()
        outer = {at: int(time[at]) for at in sources if at < start}
        for i in np.argsort(self._rank[part], kind="stable").tolist():
            best = leasts[i]
            if inside[i]:
                best = max(best, now[i - 1] + own[i - 1] + gaps[i])
            for e in range(edges[i], edges[i + 1]):
                at = sources[e]
                came = now[at - start] if at >= start else outer[at]
                best = max(best, came + came_after[e])
            now[i] = best + delays[i]
        time[part] = now


def _place_of(one: Weights, distinct: list[Weights]) -> int:
    """Return the place of equal times among distinct ones, where it is put if there are none."""
    for i, other in enumerate(distinct):
        if all(
            np.array_equal(getattr(one, name), getattr(other, name))
            for name in ("gap", "length", "delay", "edge_gap", "at")
        ):
            return i
    distinct.append(one)
    return len(distinct) - 1


def _cuts(sorted_: I64) -> I64:
    """Return where blocks begin; nodes of one instant share a block."""
    later = np.append(0, np.flatnonzero(np.diff(sorted_)) + 1)[: len(sorted_)]
    wanted = np.searchsorted(later, np.arange(0, len(sorted_), _BLOCK))
    return np.unique(later[wanted[wanted < len(later)]])


def _at(column: I64, rows: I64) -> I64:
    return np.where(rows >= 0, column[rows], NONE)


def _runs(sorted_: I64) -> tuple[I64, I64]:
    """Return the distinct values of a sorted column and where each begins."""
    cuts = np.flatnonzero(np.diff(sorted_, prepend=-1))
    return sorted_[cuts], cuts


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
