"""The replay against a plain one, on random networks."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from tb_privateuse1.analysis.simulation import node_order, replay
from tb_privateuse1.analysis.simulation.replay import NEVER, Network, Weights
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64


@dataclasses.dataclass
class Case:
    """A network, its weights, and the parts of it that the plain replay needs."""

    network: Network
    weights: Weights
    before: I64
    source: I64
    target: I64


def case(seed: int, nodes: int, chains: int, edges: int) -> Case:
    """Build nodes in chains at times that may be equal; edges never lead back in time."""
    rng = np.random.default_rng(seed)
    time = np.sort(rng.integers(0, nodes, nodes))
    chain = rng.integers(0, chains, nodes)
    before = np.full(nodes, NONE)
    for one in range(chains):
        mine = np.flatnonzero(chain == one)
        before[mine[1:]] = mine[:-1]
    source, target = np.sort(rng.integers(0, nodes, (2, edges)), axis=0)
    apart = source != target
    source, target = source[apart], target[apart]
    weights = Weights(
        length=rng.integers(0, 9, nodes),
        gap=rng.integers(0, 9, nodes),
        delay=np.where(rng.random(nodes) < 0.2, rng.integers(0, 9, nodes), 0),
        edge_gap=rng.integers(0, 9, len(source)),
        at=np.full(nodes, NEVER),
        events=np.zeros(nodes),
    )
    alone = before < 0
    alone[target] = False
    # Some nodes with dependencies happen no earlier than they did, too.
    weights.at[alone | (rng.random(nodes) < 0.1)] = rng.integers(0, 99)
    network = Network(chain, before, source, target, time, np.arange(nodes))
    return Case(network, weights, before, source, target)


def plain(case: Case, weights: Weights) -> I64:
    """Compute one node after the other."""
    time = np.zeros(len(case.before), np.int64)
    for node in range(len(time)):
        edges = np.flatnonzero(case.target == node)
        came = [
            time[case.source[e]] + weights.length[case.source[e]] + weights.edge_gap[e]
            for e in edges
        ]
        if (up := case.before[node]) >= 0:
            came.append(time[up] + weights.length[up] + weights.gap[node])
        time[node] = max([*(one + weights.delay[node] for one in came), weights.at[node]])
    return time


@given(st.integers(0, 1 << 30), st.integers(1, 60), st.integers(1, 6), st.integers(0, 80))
def test_it_is_the_plain_one(seed: int, nodes: int, chains: int, edges: int) -> None:
    """The replay equals the plain one."""
    found = case(seed, nodes, chains, edges)
    assert found.network.replay(found.weights).tolist() == plain(found, found.weights).tolist()


@pytest.mark.long
@pytest.mark.parametrize("sweeps", [1, 3, 99])
@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_and_walks_change_nothing(
    monkeypatch: pytest.MonkeyPatch, block: int, sweeps: int
) -> None:
    """Small blocks and few sweeps give the same times."""
    monkeypatch.setattr(replay, "_BLOCK", block)
    monkeypatch.setattr(replay, "_SWEEPS", sweeps)
    for seed in range(20):
        found = case(seed, 150, 4, 200)
        assert found.network.replay(found.weights).tolist() == plain(found, found.weights).tolist()


@pytest.mark.parametrize("sweeps", [1, 99])
def test_several_replays_are_those_of_each(monkeypatch: pytest.MonkeyPatch, sweeps: int) -> None:
    """A block that does not converge makes the rest go node by node; the times are the same."""
    monkeypatch.setattr(replay, "_SWEEPS", sweeps)
    for seed in range(10):
        found = case(seed, 80, 4, 100)
        own = found.weights
        half = replace(own, length=own.length // 2, at=np.where(own.at > NEVER, own.at + 3, NEVER))
        # The last one equals the second: it is not replayed again.
        wanted = [own, half, own.without_delays(own.delay > 0), replace(half, gap=half.gap.copy())]
        times = [time.tolist() for time in found.network.replay_each(wanted)]
        assert times == [plain(found, one).tolist() for one in wanted]
    assert list(found.network.replay_each([])) == []


@given(st.integers(0, 1 << 30))
def test_shorter_is_never_later(seed: int) -> None:
    """Smaller weights never make a node later."""
    found = case(seed, 80, 4, 100)
    rng = np.random.default_rng(seed)
    part = {
        name: (column * rng.random(len(column))).astype(np.int64)
        for name, column in asdict(found.weights).items()
        if name != "at"
    }
    shorter = replace(found.weights, **part)
    assert (found.network.replay(shorter) <= found.network.replay(found.weights)).all()


def test_an_edge_can_be_removed() -> None:
    """An edge with the gap ``NEVER`` has no effect."""
    zero = np.zeros(2, np.int64)
    network = Network(
        np.array([0, 1]),
        np.full(2, NONE),
        np.array([0]),
        np.array([1]),
        np.array([0, 10]),
        np.arange(2),
    )
    weights = Weights(
        np.array([10, 0]), zero, zero, np.array([5]), np.array([3, NEVER]), np.zeros(2)
    )
    assert network.replay(weights).tolist() == [3, 18]
    free = replace(weights, edge_gap=np.array([NEVER]))
    assert network.replay(free).tolist() == [3, 3]  # not before the beginning of all


def test_an_empty_network() -> None:
    """A network without nodes has no times."""
    none = np.empty(0, np.int64)
    network = Network(none, none, none, none, none, none)
    assert network.replay(Weights(none, none, none, none, none, np.empty(0))).tolist() == []


def test_ancestors() -> None:
    """Ancestors are the nodes on the way back."""
    binding = np.array([NONE, 0, 0, 1, 3, 2])
    assert node_order.ancestors(binding, np.array([4])).tolist() == [0, 1, 3, 4]
    assert node_order.ancestors(binding, np.array([5])).tolist() == [0, 2, 5]
    assert node_order.ancestors(np.empty(0, np.int64), np.empty(0, np.int64)).tolist() == []


def test_ancestors_of_a_circle_end() -> None:
    """A cycle of bindings ends."""
    assert node_order.ancestors(np.array([1, 2, 0, 1]), np.array([3])).tolist() == [0, 1, 2, 3]
    long = np.arange(-1, 999)
    assert node_order.ancestors(long, np.array([999])).tolist() == list(range(1000))


@given(st.integers(0, 1 << 30), st.integers(1, 40), st.integers(1, 6), st.integers(1, 60))
def test_at_equal_times_edges_lead_forward(seed: int, nodes: int, ticks: int, edges: int) -> None:
    """Valid edges of random networks lead forward, also in cycles."""
    rng = np.random.default_rng(seed)
    chain, before, time = np.empty(nodes, np.int64), np.full(nodes, NONE), np.empty(nodes, np.int64)
    bounds = np.array_split(np.arange(nodes), 3)
    for number, mine in enumerate(bounds):
        chain[mine], before[mine[1:]] = number, mine[:-1]
        time[mine] = np.sort(rng.integers(0, ticks, len(mine)))
    source, target = rng.integers(0, nodes, (2, edges))
    source, target = np.where(time[source] <= time[target], (source, target), (target, source))
    order, counts = node_order.settled(time, before, source, target)
    rank = np.argsort(order)
    assert sorted(order.tolist()) == list(range(nodes))
    assert (np.diff(time[order]) >= 0).all()
    assert (rank[before[before >= 0]] < rank[before >= 0]).all()
    assert (counts == (rank[source] < rank[target])).all()
    assert counts[time[source] < time[target]].all()


def test_edges_that_close_no_circle_all_count() -> None:
    """Without a cycle all edges are valid, whatever the numbers."""
    time, before = np.full(4, 5), np.array([NONE, 0, NONE, 2])
    order, counts = node_order.settled(time, before, np.array([3, 3]), np.array([0, 1]))
    assert order.tolist() == [2, 3, 0, 1]
    assert counts.tolist() == [True, True]


def test_a_circle_is_cut_before_its_first_node() -> None:
    """A cycle is cut before its first node."""
    time, before = np.full(3, 5), np.array([NONE, 0, NONE])
    order, counts = node_order.settled(time, before, np.array([1, 2]), np.array([2, 0]))
    assert order.tolist() == [0, 1, 2]
    assert counts.tolist() == [True, False]
