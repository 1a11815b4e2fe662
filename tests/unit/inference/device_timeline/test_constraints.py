"""Difference constraints: their bounds hold the truth, also when some contradict."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.inference.device_timeline import constraints, event_pairs
from tb_privateuse1.inference.device_timeline.constraints import UNKNOWN
from tb_privateuse1.inference.device_timeline.timeline_inputs import EventPairs
from tb_privateuse1.trace.model import NONE, Ops
from tb_privateuse1.trace.table import I64
from tests.support import make

Tree = list["Tree"]

trees: st.SearchStrategy[Tree] = st.recursive(
    st.just([]), lambda t: st.lists(t, max_size=4), max_leaves=25
)


def ops(tree: Tree) -> Ops:
    """Operators nested like the tree, 10 us from mark to mark."""
    events: list[make.Event] = []
    clock = iter(range(0, 10**6, 10))

    def visit(node: Tree) -> None:
        start = next(clock)
        for child in node:
            visit(child)
        events.append(make.op("aten::mul", start, next(clock), id=len(events)))

    for node in [*tree, []]:
        visit(node)
    return make.trace(*events).ops


def known(tree: Tree, steps: list[int]) -> tuple[EventPairs, constraints.Tree, I64, I64]:
    """EventPairs, levels, true times, and the true span of each node."""
    table = ops(tree)
    order = event_pairs.pair_events(table)
    nodes, kept = event_pairs.build_tree(order, table)
    assert kept.all()
    times = np.cumsum(np.resize(np.array(steps, np.int64), len(order)))
    return order, nodes, times, times[order.end] - times[order.start]


@pytest.mark.long
@given(trees, st.lists(st.integers(0, 5_000), min_size=1, max_size=30), st.integers(0, 2**32))
def test_bounds_hold_the_truth(tree: Tree, steps: list[int], seed: int) -> None:
    _, nodes, times, length = known(tree, steps)
    random = np.random.default_rng(seed)
    slack = random.integers(0, 1_000, (2, len(length)))
    low, high = np.maximum(length - slack[0], 0), length + slack[1]
    segment = np.diff(times, prepend=times[0])
    segment_high = np.where(random.random(len(times)) < 0.5, segment + 100, UNKNOWN)
    spans, doubted = constraints.tighten_spans(
        nodes, low, high, np.zeros(len(times), np.int64), segment_high
    )
    assert not doubted.any()
    assert (spans.node_low <= length).all()
    assert (length <= spans.node_high).all()
    inner = segment[1:]
    assert (spans.segment_low[1:] <= inner).all()
    assert (inner <= spans.segment_high[1:]).all()
    earliest = constraints.earliest_times(
        nodes, spans, times - random.integers(0, 20_000, len(times))
    )
    latest = constraints.latest_times(nodes, spans, times + random.integers(0, 20_000, len(times)))
    assert (earliest <= times).all()
    assert (times <= latest).all()
    assert (np.diff(earliest) >= 0).all()


@pytest.mark.long
@given(trees, st.lists(st.integers(1, 5_000), min_size=1, max_size=30))
def test_one_known_instant_and_exact_spans_give_all(tree: Tree, steps: list[int]) -> None:
    """With every segment known exactly, one bound on one mark is a bound on all."""
    _, nodes, times, length = known(tree, steps)
    segment = np.diff(times, prepend=times[0])
    spans, _ = constraints.tighten_spans(nodes, length, length, segment, segment)
    far = np.full(len(times), -(10**9))
    far[len(times) // 2] = times[len(times) // 2]
    assert (constraints.earliest_times(nodes, spans, far) == times).all()
    assert (constraints.latest_times(nodes, spans, np.where(far > -1, far, 10**9)) == times).all()


def test_a_node_that_contradicts_its_segments_frees_them() -> None:
    _, nodes, times, length = known([[[], []]], [1_000])
    segment_high = np.full(len(times), 10)
    low = np.where(length == length.max(), length, 0)
    spans, doubted = constraints.tighten_spans(
        nodes, low, low + 10, np.zeros(len(times), np.int64), segment_high
    )
    assert doubted.any()
    assert (spans.segment_high[doubted] > 10).all()
    assert (spans.node_low == low)[low > 0].all()


def test_threads_that_cross_are_left_out_of_the_tree() -> None:
    table = make.trace(
        make.op("aten::a", 0, 100, id=1),
        make.op("aten::b", 10, 20, id=2),
        make.op("aten::c", 50, 150, id=3, thread=2),
        make.op("aten::d", 60, 70, id=4, thread=2),
    ).ops
    order = event_pairs.pair_events(table)
    nodes, kept = event_pairs.build_tree(order, table)
    named = dict(zip(table.external_id.tolist(), kept.tolist(), strict=True))
    assert named == {1: True, 2: True, 3: False, 4: True} or named[1] != named[3]
    points = np.concatenate([level.point for level in nodes.levels])
    assert set(points.tolist()) == set(range(len(order)))
    assert nodes.levels[0].node[0] == NONE


@pytest.mark.long
@given(st.lists(trees, max_size=6), st.lists(st.integers(0, 5_000), min_size=1, max_size=30))
def test_blocks_and_columns_change_nothing(forest: Tree, steps: list[int]) -> None:
    """Deep levels are cut into blocks, long ones into columns, only for the sake of speed."""
    results = []
    for block, column in ((1 << 16, 1 << 16), (4, 1 << 16), (1 << 16, 1), (4, 1)):
        with (
            mock.patch.object(event_pairs, "_BLOCK", block),
            mock.patch.object(constraints, "_LONG", column),
        ):
            _, nodes, times, length = known(forest, steps)
        segment = np.diff(times, prepend=times[0])
        high = np.where(np.arange(len(times)) % 3, segment + 100, UNKNOWN)
        spans, _ = constraints.tighten_spans(nodes, length - 50, length + 50, 0 * segment, high)
        ready = np.where(np.arange(len(times)) % 4, times - 9_000, times)
        late = np.where(np.arange(len(times)) % 5, times + 9_000, times)
        results.append(
            [
                spans.low,
                spans.high,
                constraints.earliest_times(nodes, spans, ready),
                constraints.latest_times(nodes, spans, late),
            ]
        )
    for other in results[1:]:
        for whole, cut in zip(results[0], other, strict=True):
            assert (whole == cut).all()


def test_sums_too_large_to_hold_limit_nothing() -> None:
    _, nodes, times, length = known([[[], []], []], [1_000])
    segment = np.diff(times, prepend=times[0])
    spans, _ = constraints.tighten_spans(nodes, length, length, segment, segment, reach=1 << 62)
    far = np.where(np.arange(len(times)) == len(times) // 2, times, -(10**9))
    assert (constraints.earliest_times(nodes, spans, far) <= times).all()
    assert (constraints.latest_times(nodes, spans, np.where(far > -1, far, 10**9)) >= times).all()
