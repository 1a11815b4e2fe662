"""Merging ranges by their path of names, against a plain recursion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.model import NONE, Trace
from tests.support.make import frame, op, trace

Ranges = list[tuple[int, int, int]]
RANGES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 30), st.integers(0, 12)), max_size=40)


@given(RANGES, st.integers(0, 2**32))
def test_nodes_are_the_paths_of_names(ranges: Ranges, seed: int) -> None:
    thread = np.array([t for t, _, _ in ranges], np.int32)
    start = np.array([s for _, s, _ in ranges], np.int64)
    end = start + np.array([d for _, _, d in ranges], np.int64)
    name = np.random.default_rng(seed).integers(0, 3, len(ranges)).astype(np.int32)
    parent = intervals.nest(thread, start, end)

    def path(row: int) -> tuple[int, ...]:
        return (*(path(int(parent[row])) if parent[row] >= 0 else ()), int(name[row]))

    nodes = call_tree.merge_calls(parent, name, np.ones(len(ranges), np.bool_))
    of_node: dict[int, tuple[int, ...]] = {}
    for node, up in enumerate(nodes.parent.tolist()):
        assert up < node
        of_node[node] = (*(of_node[up] if up >= 0 else ()), int(nodes.name[node]))
    assert len(set(of_node.values())) == len(nodes)
    assert [of_node[n] for n in nodes.of.tolist()] == [path(row) for row in range(len(ranges))]


@pytest.mark.long
@given(RANGES)
def test_clipped_ranges_never_overlap_their_siblings(ranges: Ranges) -> None:
    thread = np.array([t for t, _, _ in ranges], np.int32)
    start = np.array([s for _, s, _ in ranges], np.int64)
    end = start + np.array([d for _, _, d in ranges], np.int64)
    parent = intervals.nest(thread, start, end)
    clipped = call_tree.clip_ends(thread, parent, start, end)
    assert ((clipped >= start) & (clipped <= end)).all()
    inside = np.zeros(len(ranges), np.int64)
    np.add.at(inside, parent[parent >= 0], (clipped - start)[parent >= 0])
    assert (inside <= clipped - start).all()


def test_only_chosen_rows_have_a_node() -> None:
    parent = np.array([NONE, NONE, 1], np.int32)
    name = np.array([5, 5, 6], np.int32)
    nodes = call_tree.merge_calls(parent, name, np.array([False, True, True]))
    assert nodes.of.tolist() == [NONE, 0, 1]
    assert (nodes.parent.tolist(), nodes.name.tolist()) == ([NONE, 0], [5, 6])


def test_large_keys_are_numbered_by_sorting() -> None:
    key = np.array([1 << 40, 3, 1 << 40, 7])
    found, number = call_tree.number_keys(key)
    assert found.tolist() == [3, 7, 1 << 40]
    assert number.tolist() == [2, 0, 2, 1]


def test_frames_and_operators_nest_in_each_other() -> None:
    t = trace(
        op("outer", 0, 100), frame("hook", 10, 50), op("inner", 20, 30), frame("deep", 22, 24),
        frame("beside", 60, 70),
    )  # fmt: skip
    names = [t.text(n) for n in (*t.ops.name, *t.frames.name)]
    parent = call_tree.parents_of_all(t).tolist()
    up = {name: names[p] if p >= 0 else None for name, p in zip(names, parent, strict=True)}
    assert up == {
        "outer": None, "hook": "outer", "inner": "hook", "deep": "inner", "beside": "outer",
    }  # fmt: skip


def test_backward_operators_and_their_callees_belong_to_the_forward_operator() -> None:
    sequence = "Sequence number"
    t = trace(
        op("linear", 0, 10, **{sequence: 4}), op("addmm", 2, 8, **{sequence: 4}),
        op("relu", 12, 14, **{sequence: 5}),
        op("evaluate", 20, 40, **{sequence: 4, "Fwd thread id": 1}), op("mm", 25, 35),
        op("other", 50, 60, **{sequence: 9, "Fwd thread id": 1}), op("mm", 70, 80),
    )  # fmt: skip
    names = [t.text(n) for n in t.ops.name]
    found = [names[f] if f >= 0 else None for f in call_tree.forward_of(t)]
    assert found == [None, None, None, "addmm", "addmm", None, None]


def test_a_range_that_is_longer_than_the_one_around_it_is_clipped() -> None:
    """No sibling crosses: rounding alone can do that, and sums must close all the same."""
    thread, parent = np.zeros(3, np.int32), np.array([-1, 0, 1], np.int32)
    start, end = np.array([0, 0, 0]), np.array([5, 7, 6])
    assert call_tree.clip_ends(thread, parent, start, end).tolist() == [5, 5, 5]


STARTS = ("", "aten::", "ProfilerStep#", "enumerate(DataLoader)", "é", "\u0142x", "a\0", "x" * 16)
"""Some are longer than the characters that are compared as numbers, or beyond a byte."""


@given(
    st.lists(st.text("aé\u0142\u0100x\0", max_size=3), min_size=1, max_size=8),
    st.lists(st.sampled_from(STARTS), max_size=3),
)
def test_names_that_start_with_a_prefix(ends: list[str], prefixes: list[str]) -> None:
    strings = tuple(start + end for start in STARTS for end in ends)
    found = call_tree.starts_with(Trace(strings=strings), *prefixes)
    assert found.tolist() == [*(text.startswith(tuple(prefixes)) for text in strings), False]
