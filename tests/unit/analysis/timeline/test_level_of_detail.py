"""Windows of a trace at any level of detail: complete, disjoint, and small."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.analysis.timeline import level_of_detail
from tb_privateuse1.analysis.timeline.level_of_detail import DEVICE, FRAMES, OPERATORS, STEPS
from tb_privateuse1.trace.model import Trace
from tests.support.make import frame, kernel, launch, op, step, trace
from tests.support.repeats import repeats


def some() -> Trace:
    return trace(
        step(1, 0, 100), op("outer", 10, 50), op("inner", 20, 30), launch(22, 24, 1),
        op("other", 5, 8, thread=2), frame("f", 0, 60), frame("g", 1, 50),
        kernel("k", 60, 70, 1), kernel("overlaps", 65, 80, 2),
        kernel("elsewhere", 65, 66, stream=9),
    )  # fmt: skip


def test_tracks_and_rows() -> None:
    """Tracks have a row per depth."""
    made = level_of_detail.build_pyramid(some())
    rows = {
        (kind, owner): n
        for kind, owner, n in zip(
            made.tracks.kind.tolist(),
            made.tracks.owner.tolist(),
            made.tracks.rows.tolist(),
            strict=True,
        )
    }
    assert rows == {
        (STEPS, 0): 1, (OPERATORS, 0): 4, (FRAMES, 0): 2, (OPERATORS, 1): 1,
        (DEVICE, 0): 2, (DEVICE, 1): 1,
    }  # fmt: skip
    assert not made.tracks.hidden.any()


def test_every_range_has_its_place() -> None:
    """Every range is found in its track and row."""
    one = some()
    made = level_of_detail.build_pyramid(one)
    ops, kernels, launches = one.ops, one.kernels, one.launches
    places = [(OPERATORS, ops.thread[i], ops.start_ns[i], i) for i in range(len(ops))]
    places += [(DEVICE, kernels.lane[i], kernels.start_ns[i], i) for i in range(len(kernels))]
    places += [(OPERATORS, launches.thread[0], launches.start_ns[0], len(ops))]
    for kind, owner, start, ref in places:
        track, row = made.place(kind, int(owner), int(start), ref)
        whole = made.first_row()[track] + row
        _, found = made.window(np.array([whole]), int(start), int(start), 1, 100)
        assert ref in found.ref
    assert made.place(DEVICE, 0, 12345, 0) == (-1, -1)


def device(starts: list[int], lengths: list[int]) -> Trace:
    at = list(itertools.accumulate(starts))
    ranges = zip(at, lengths, strict=True)
    return trace(*(kernel(f"k{i}", t, t + n) for i, (t, n) in enumerate(ranges)))


@pytest.mark.long
@settings(max_examples=repeats(60))
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 40)), min_size=1, max_size=60),
    st.integers(0, 800), st.integers(1, 900), st.integers(1, 200_000),
)  # fmt: skip
def test_a_window_holds_all_that_lies_in_it(
    ranges: list[tuple[int, int]], start_us: int, length_us: int, bin_ns: int
) -> None:
    """A window has every range in it, alone or merged."""
    one = device([gap for gap, _ in ranges], [length for _, length in ranges])
    made = level_of_detail.build_pyramid(one)
    rows = np.arange(made.tracks.rows.sum())
    start, stop = start_us * 1000, (start_us + length_us) * 1000
    row, found = made.window(rows, start, stop, bin_ns, 10_000)
    of_device = np.isin(row, made.first_row()[1] + np.arange(made.tracks.rows[1]))
    kernels = one.kernels
    inside = (kernels.end_ns >= start) & (kernels.start_ns <= stop)
    # Merged rectangles at the edges may hold more, never less.
    assert found.count[of_device].sum() >= inside.sum()
    whole_row, whole = made.window(rows, 0, one.end_ns, bin_ns, 10_000)
    of_device = np.isin(whole_row, made.first_row()[1] + np.arange(made.tracks.rows[1]))
    assert whole.count[of_device].sum() == len(kernels)
    assert whole.busy_ns[of_device].sum() == (kernels.end_ns - kernels.start_ns).sum()
    for one_row in np.unique(whole_row):
        here = whole_row == one_row
        assert (whole.start_ns[here][1:] >= whole.end_ns[here][:-1]).all()


@pytest.mark.parametrize("most", [10, 100, 1000])
def test_a_window_has_at_most_the_requested_rectangles(most: int) -> None:
    """A window has at most ``most`` rectangles."""
    one = device([3] * 5000, [2] * 5000)
    made = level_of_detail.build_pyramid(one)
    assert len(made.levels) > 1
    row, found = made.window(np.arange(2), 0, one.end_ns, 1, most)
    assert len(row) == len(found) <= most
    assert found.count.sum() == 5001  # and the step
    close, _ = made.window(np.array([1]), 6_000_000, 6_030_000, 1, 100)
    assert 10 <= len(close) <= 11


def test_a_merged_rectangle_is_that_of_its_longest() -> None:
    """A merged rectangle refers to its longest range."""
    one = device([10, 10, 10], [1, 5, 2])
    made = level_of_detail.build_pyramid(one)
    _, found = made.window(np.array([1]), 0, one.end_ns, 1e9, 100)
    assert (found.count.tolist(), found.busy_ns.tolist()) == ([3], [8_000])
    assert one.text(one.kernels.name[found.ref[0]]) == "k1"


def test_ranges_beyond_the_deepest_row_are_counted() -> None:
    """Ranges deeper than the limit are counted as hidden."""
    events = [op("deep", i, 1000 - i) for i in range(300)]
    made = level_of_detail.build_pyramid(trace(*events))
    of_ops = made.tracks.kind == OPERATORS
    assert made.tracks.rows[of_ops].tolist() == [256]
    assert made.tracks.hidden[of_ops].tolist() == [44]


def test_an_empty_trace() -> None:
    """An empty trace has no tracks."""
    made = level_of_detail.build_pyramid(Trace())
    assert len(made.tracks) == 0
    assert len(made.window(np.empty(0, np.int64), 0, 1, 1, 10)[1]) == 0


def test_levels_do_not_depend_on_the_batch_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Levels do not depend on the batch size."""
    lanes = (
        kernel(f"k{s}", 7 * i, 7 * i + 1 + i % 9, stream=s) for s in range(5) for i in range(2000)
    )
    one = trace(*lanes)
    whole = level_of_detail.build_pyramid(one)
    monkeypatch.setattr(level_of_detail, "_AT_ONCE", 1000)
    parts = level_of_detail.build_pyramid(one)
    assert len(whole.levels) == len(parts.levels) > 2
    for a, b in zip(whole.levels, parts.levels, strict=True):
        assert a.bin_ns == b.bin_ns
        assert (a.edges == b.edges).all()
        for (_, left), (name, right) in zip(a.ranges.columns(), b.ranges.columns(), strict=True):
            assert (left == right).all(), name
