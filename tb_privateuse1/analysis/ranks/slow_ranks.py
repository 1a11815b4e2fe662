"""Find ranks and nodes with more own work than their peers, for whom the others wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.ranks.job import Job
from tb_privateuse1.analysis.ranks.own_work import own_work, peer_groups
from tb_privateuse1.analysis.ranks.slow_units import (
    compare_units,
    mean_with_bound,
    without_hiccups,
)
from tb_privateuse1.trace.table import F64, I64, Bools

_WHOLE_NODE = 0.75
"""At least this share of a node's ranks must be slow, or its ranks are named one by one."""
_ALIKE = 0.5
"""Ranks are late together, or like their node, from this share of the greater excess."""
_MANY_HOSTS = 16
"""Of more hosts, one does not change the median of all."""
_ROUNDS = 3
"""Rounds of search, each without the culprits of those before, which could hide others."""
_MOST_STEPS = 500
"""Of more steps the last ones are used: others would not change the verdict."""


class SlowRanks(Struct, frozen=True):
    """Rows of ranks that are late together; times are per step."""

    rows: I64
    peers: I64
    """The rows that do the same work and are not slow."""
    is_node: bool
    excess_ns: float
    bound_ns: float
    cost_ns: float
    steps: int
    of_steps: int
    p_value: float
    victims: I64


class _Search(Struct, frozen=True):
    """Ranks by steps, for the steps that all ``free`` ranks have."""

    job: Job
    own: F64
    waiting: F64
    peers: Sequence[I64]
    hosts: dict[str, I64]
    free: Bools
    """Ranks that can be compared and are no culprits yet."""
    error_rate: float
    floor_ns: float

    @property
    def free_peers(self) -> list[I64]:
        """Return the groups of ranks that do the same work, without those that are not free."""
        return [group[self.free[group]] for group in self.peers]


def find_slow_ranks(
    job: Job, without: set[int], error_rate: float, floor_ns: float
) -> list[SlowRanks]:
    """Return nodes and ranks that cost the others at least ``floor_ns`` per step.

    ``without`` are rows that are not compared. ``error_rate`` bounds the probability of any node,
    and that of any rank, if all differences are by chance.
    """
    search = _prepare(job, without, error_rate, floor_ns)
    found: list[SlowRanks] = []
    for _ in range(_ROUNDS):
        new = list(_nodes(search)) or list(_ranks(search))
        if not new:
            break
        found += new
        free = search.free.copy()
        free[np.concatenate([one.rows for one in new])] = False
        search = replace(search, free=free)
    return found


def _prepare(job: Job, without: set[int], error_rate: float, floor_ns: float) -> _Search:
    own = job.by_step(own_work(job.steps, job.parts, job.calls))[:, -_MOST_STEPS:]
    waits = np.minimum(job.steps.synchronizing_ns, job.steps.exposed_ns)
    waits = np.maximum(waits, 0)  # unknown is negative
    waiting = job.by_step(waits)[:, -_MOST_STEPS:]
    has = ~np.isnan(own)
    free = np.bincount(job.calls.rank, minlength=len(job.parts)) > 0
    free &= 2 * has.sum(axis=1) > has.shape[1]
    free[list(without)] = False
    common = has[free].all(axis=0)
    peers = peer_groups(job.parts)
    return _Search(
        job, own[:, common], waiting[:, common], peers, job.hosts(), free, error_rate, floor_ns
    )


def _nodes(search: _Search) -> Iterator[SlowRanks]:
    """Yield the hosts whose ranks are slow for the greater part."""
    relative = _beyond_other_hosts(search)
    comparable: Bools = np.logical_not(np.isnan(relative).any(axis=1))
    hosts = [rows[comparable[rows]] for rows in search.hosts.values()]
    hosts = [rows for rows in hosts if len(rows) > 1]
    if len(hosts) < 2:
        return
    if len({len(rows) for rows in hosts}) == 1:  # a thousand calls of numpy, or one
        by_host = np.median(relative[np.stack(hosts)], axis=1)
    else:
        by_host = np.stack([np.median(relative[rows], axis=0) for rows in hosts])
    compared = compare_units(by_host, by_host)
    if compared is None:
        return
    p_value = np.minimum(compared.p_value * len(hosts), 1.0)
    for i in np.flatnonzero((p_value <= search.error_rate) & compared.stands_out).tolist():
        rows, excess = hosts[i], compared.excess_ns[i]
        each = without_hiccups(relative[rows])
        if (each >= _ALIKE * without_hiccups(excess)).mean() < _WHOLE_NODE:
            continue
        found = _with_cost(search, rows, excess, float(p_value[i]))
        if found:
            yield replace(found, is_node=True)


def _beyond_other_hosts(search: _Search) -> F64:
    """Return own work beyond the median of peers on other hosts; NaN if there are none."""
    relative = np.full_like(search.own, np.nan)
    host_of = np.full(len(search.own), -1)
    for i, rows in enumerate(search.hosts.values()):
        host_of[rows] = i
    for group in search.free_peers:
        own, hosts = search.own[group], host_of[group]
        some = np.unique(hosts)
        if len(some) < 2:
            continue
        if len(some) > _MANY_HOSTS:
            relative[group] = own - np.median(own, axis=0)
            continue
        for host in some.tolist():
            relative[group[hosts == host]] = own[hosts == host] - np.median(
                own[hosts != host], axis=0
            )
    return relative


def _ranks(search: _Search) -> Iterator[SlowRanks]:
    """Yield slow ranks; those that are late together, by a similar time, are one result."""
    ranks = sum(map(len, search.peers))
    for group in search.free_peers:
        compared = compare_units(search.own[group])
        if compared is None:
            continue
        p_value = np.minimum(compared.p_value * ranks, 1.0)
        left = np.flatnonzero((p_value <= search.error_rate) & compared.stands_out)
        typical = without_hiccups(compared.excess_ns)
        left = left[np.argsort(-typical[left], kind="stable")]
        while len(left):
            alike = typical[left] >= _ALIKE * typical[left[0]]
            at, left = left[alike], left[~alike]
            excess = np.median(compared.excess_ns[at], axis=0)
            rows = np.sort(group[at])
            found = _with_cost(search, rows, excess, float(p_value[at].max()))
            if found:
                yield replace(found, is_node=_is_node(search, rows))


def _is_node(search: _Search, rows: I64) -> bool:
    """Return whether these are all ranks of one of several hosts."""
    hosts = [own for own in search.hosts.values() if len(own) > 1]
    return len(search.hosts) > 1 and any(np.array_equal(np.sort(own), rows) for own in hosts)


def _with_cost(search: _Search, rows: I64, excess: F64, p_value: float) -> SlowRanks | None:
    """Return ranks with the time that others wait for them; None if it is too little."""
    met = search.job.met(rows)
    met = met[search.free[met]]
    if not len(met):
        return None
    waits = np.median(search.waiting[met], axis=0)
    cost = float(without_hiccups(np.minimum(np.maximum(excess, 0), waits)))
    if cost < search.floor_ns:
        return None
    of_same = [group for group in search.peers if np.isin(rows, group).any()]
    peers = np.concatenate(of_same)
    peers = peers[search.free[peers] & ~np.isin(peers, rows)]
    mean, bound = mean_with_bound(excess)
    return SlowRanks(
        rows=rows,
        peers=peers,
        is_node=False,
        excess_ns=mean,
        bound_ns=bound,
        cost_ns=cost,
        steps=int((excess > 0).sum()),
        of_steps=len(excess),
        p_value=p_value,
        victims=met[search.waiting[met].mean(axis=1) >= cost / 2],
    )
