"""Replay a dependency graph with changed durations: each node once its dependencies allow.

Nodes stand in chains (the events of a thread or a stream, in order). A node starts after its
predecessor's own time and a gap, and then after its own delay. An edge adds a node of another chain
and a gap. All of these are 0 or more, so the order of the recording is a valid order of
computation, and no reduction makes a node later.

Most nodes only follow their chain: they are as far behind the last *free* node of it as the weights
between say. Free nodes are the first of chains, and those that an edge or an instant can delay.
What is computed of these is by how much they are later than their chain alone would have them: a
running maximum within a chain. Edges between chains need iteration: a sweep computes all chains
from the current times of their dependencies. A program that runs ahead of its device needs a few
sweeps; one that waits at every second call needs as many as it has waits. So a block of nodes that
does not converge after some sweeps is computed once, node by node.

Several replays of a graph go together, a column each (``replay_each``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.interruption import checkpoint
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64, Bools

NEVER = -(1 << 60)
"""The gap of an edge that delays nothing, and the time of a node that may happen at any time."""

_BLOCK = 1 << 11
"""Nodes per block: few, so that a block has few waits."""

_SWEEPS = 12
"""This many sweeps cost as much as one pass node by node: 0.15 us a node."""

_TOGETHER = 1 << 20
"""Nodes times replays that are computed together: three columns of them are 25 MB. Twice as many
are as fast."""


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
    """Free nodes that are computed together, and the edges into them.

    Indices are among all free nodes, those of ``into`` and ``cuts`` within the block.
    """

    number: int
    nodes: slice
    outer: _Inputs
    """What earlier blocks say."""
    inner: _Inputs
    visits: _Visits
    parts: list[int]
    """Where the chains begin, and the end."""
    known: I64
    """The first nodes of chains with a predecessor, and where that is."""
    came: I64


class _Visits(Struct, frozen=True):
    """The nodes of a block in the order of the recording, each as often as it has inner edges."""

    node: I64
    before: I64
    """The node before it in its chain, ``NONE`` for the first one in the block."""
    edge: I64
    """The place among the inner edges, ``NONE`` for a node without any."""

    @staticmethod
    def of(order: I64, begins: Bools, inner: _Inputs) -> _Visits:
        """Return the visits of nodes in order; the flags say which begin a chain."""
        count = np.zeros(len(order), np.int64)
        count[inner.into] = np.diff(inner.cuts, append=len(inner.source))
        from_ = np.cumsum(count) - count
        times = np.maximum(count[order], 1)
        node = np.repeat(order, times)
        turn = np.arange(len(node)) - np.repeat(np.cumsum(times) - times, times)
        edge = np.where(count[node] > 0, from_[node] + turn, NONE)
        return _Visits(node, np.where(begins[node], NONE, node - 1), edge)


class _Inputs(Struct, frozen=True):
    """Edges by target: ``into`` are the targets, ``cuts`` where the edges of each begin."""

    edges: I64
    source: I64
    into: I64
    cuts: I64
    more: I64
    """Which targets have several edges, and where the second ones begin among ``others``."""
    others: I64
    begins: I64

    @staticmethod
    def of(edges: I64, source: I64, target: I64) -> _Inputs:
        """Return the inputs by edges whose targets rise."""
        into, cuts = _runs(target)
        count = np.diff(cuts, append=len(target))
        first = np.zeros(len(target), np.bool_)
        first[cuts] = True
        more = np.flatnonzero(count > 1)
        begins = np.cumsum(count[more] - 1) - (count[more] - 1)
        return _Inputs(edges, source, into, cuts, more, np.flatnonzero(~first), begins)

    def latest(self, level: I64, waits: I64) -> I64:
        """Return the greatest of each target's edges, a row each; columns are replays."""
        came = level.take(self.source, axis=0)
        came += waits
        if not len(self.more):
            return came
        found: I64 = came.take(self.cuts, axis=0)
        others = np.maximum.reduceat(came.take(self.others, axis=0), self.begins, axis=0)
        found[self.more] = np.maximum(found[self.more], others)
        return found


class _Free(Struct, frozen=True):
    """The free nodes: the first of chains, and those that an edge or an instant can delay.

    Any other node is as far behind the last free one of its chain as the weights between say.
    """

    flags: Bools
    rows: I64
    """By block, chain and order."""
    owner: I64
    """By node, the place among ``rows`` of the last free one of its chain, or itself."""
    first: Bools
    """Which of ``rows`` are the first of their chains."""
    edges: I64
    """By target; ``source`` and ``target`` are their ends, among all nodes."""
    source: I64
    target: I64
    blocks: list[_Block]


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
        self._rank = np.empty(n, np.int64)
        self._rank[order] = np.arange(n)
        self._block = np.searchsorted(_cuts(time[order]), self._rank, side="right")
        self._chained = np.lexsort((self._rank, chain))
        self._source, self._target = source, target
        self._is_first = before < 0
        self._before = np.maximum(before, 0)
        self._delayed = self._is_first.copy()
        self._delayed[target] = True
        self._free: _Free | None = None
        self._slow: set[int] = set()
        """Blocks that did not converge in a replay."""

    def replay(self, weights: Weights) -> I64:
        """Return when each node happens."""
        return next(self._replays([weights]))

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
        most = max(_TOGETHER // max(len(self._rank), 1), 1)
        for first in range(0, len(weights), most):
            yield from self._replayed(weights[first : first + most])

    def _replayed(self, weights: Sequence[Weights]) -> Iterator[I64]:
        """Yield the times of replays that are made together."""
        free = self._freed(weights)
        level = np.empty((len(free.rows), len(weights)), np.int64)
        waits = np.empty((len(free.edges), len(weights)), np.int64)
        behind = [
            self._lowest(free, one, level[:, i], waits[:, i]) for i, one in enumerate(weights)
        ]
        for block in free.blocks:
            checkpoint()
            self._settle(block, level, waits)
        for i, along in enumerate(behind):
            yield along + np.ascontiguousarray(level[:, i])[free.owner]

    def _lowest(self, free: _Free, weights: Weights, level: I64, waits: I64) -> I64:
        """Return what each node is behind the first of its chain, if nothing else delays it.

        ``level`` becomes how much later each free node is at least, and ``waits`` how much later
        the edges make it than their sources are.
        """
        step = weights.length[self._before]
        step += weights.gap
        step += weights.delay
        step[self._is_first] = 0
        along = np.empty(len(step), np.int64)
        along[self._chained] = np.cumsum(step[self._chained])
        sooner = along - weights.delay
        later = along + weights.length
        waits[:] = later[free.source] + weights.edge_gap[free.edges] - sooner[free.target]
        given = weights.at[free.rows]
        is_given = given > NEVER
        # No node precedes the first one without dependencies, as all times are 0 or more.
        floor = int(given[is_given].min()) if is_given.any() else 0
        begin = np.where(free.first, floor - sooner[free.rows], NEVER)
        level[:] = np.where(is_given, given - along[free.rows], begin)
        return along

    def _settle(self, block: _Block, level: I64, waits: I64) -> None:
        """Compute how much later the nodes of a block are, from what is known of earlier ones."""
        own, outer, inner = level[block.nodes], block.outer, block.inner
        if len(block.known):
            own[block.known] = np.maximum(own[block.known], level[block.came])
        if len(outer.into):
            found = outer.latest(level, waits[outer.edges])
            own[outer.into] = np.maximum(own[outer.into], found)
        if not len(inner.into):
            _accumulate(own, block.parts)
            return
        needed = waits[inner.edges]
        if block.number in self._slow:
            self._walk(block, own, needed)
            return
        least = own[inner.into]
        lowest = own.copy()
        _accumulate(own, block.parts)
        last = None
        for _ in range(_SWEEPS):
            checkpoint()
            found = np.maximum(inner.latest(level, needed), least)
            if last is not None and np.array_equal(found, last):
                return
            last = found
            own[:] = lowest
            own[inner.into] = found
            _accumulate(own, block.parts)
        self._slow.add(block.number)
        own[:] = lowest
        self._walk(block, own, needed)

    @staticmethod
    def _walk(block: _Block, own: I64, waits: I64) -> None:
        """Compute a block's nodes one by one, in the order of the recording."""
        visits, inner = block.visits, block.inner
        nodes, before = visits.node.tolist(), visits.before.tolist()
        sources = lookup(inner.source - block.nodes.start, visits.edge, NONE).tolist()
        for column in range(own.shape[1]):
            came_after = lookup(waits[:, column], visits.edge, 0).tolist()
            now = [*own[:, column].tolist(), NEVER]  # the last one is what ``NONE`` means
            for i, up, source, wait in zip(nodes, before, sources, came_after, strict=True):
                best = now[i]
                if now[up] > best:
                    best = now[up]
                came = now[source] + wait
                now[i] = came if came > best else best
            own[:, column] = now[:-1]

    def _freed(self, weights: Sequence[Weights]) -> _Free:
        """Return the nodes that are free with any of the weights."""
        flags = self._delayed.copy()
        for one in weights:
            flags |= one.at > NEVER
        if self._free is None or not np.array_equal(flags, self._free.flags):
            self._free = self._find_free(flags)
        return self._free

    def _find_free(self, flags: Bools) -> _Free:
        chained, n = self._chained, len(flags)
        rows = chained[flags[chained]]
        rows = rows[np.argsort(self._block[rows], kind="stable")]
        place = np.full(n, NONE)
        place[rows] = np.arange(len(rows))
        last = np.maximum.accumulate(np.where(flags[chained], np.arange(n), 0))
        owner = np.empty(n, np.int64)
        owner[chained] = place[chained[last]]
        came = np.where(self._is_first[rows], NONE, owner[self._before[rows]])
        edges = np.argsort(place[self._target], kind="stable")
        source, target = owner[self._source[edges]], place[self._target[edges]]
        numbers = self._block[rows]
        cuts = np.flatnonzero(np.diff(numbers, prepend=NONE)).tolist()
        blocks = []
        for start, stop in itertools.pairwise([*cuts, len(rows)]):
            low, high = np.searchsorted(target, (start, stop)).tolist()
            inside = source[low:high] >= start
            outer, inner = np.flatnonzero(~inside) + low, np.flatnonzero(inside) + low
            begins = came[start:stop] < np.arange(start, stop) - 1
            begins |= came[start:stop] < start
            first = np.flatnonzero(begins)
            known = first[came[start:stop][first] >= 0]
            into = _Inputs.of(inner, source[inner], target[inner] - start)
            order = np.argsort(self._rank[rows[start:stop]], kind="stable")
            blocks.append(
                _Block(
                    number=int(numbers[start]),
                    nodes=slice(start, stop),
                    outer=_Inputs.of(outer, source[outer], target[outer] - start),
                    inner=into,
                    visits=_Visits.of(order, begins, into),
                    parts=[*first.tolist(), stop - start],
                    known=known,
                    came=came[start:stop][known],
                )
            )
        return _Free(
            flags,
            rows,
            owner,
            self._is_first[rows],
            edges,
            self._source[edges],
            self._target[edges],
            blocks,
        )


def _accumulate(values: I64, parts: list[int]) -> None:
    """Make each value the greatest up to it, within each part; columns are replays."""
    for i, k in itertools.pairwise(parts):
        np.maximum.accumulate(values[i:k], axis=0, out=values[i:k])


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
