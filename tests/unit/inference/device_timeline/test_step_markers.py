"""Markers at the ends of steps pin the stream to the clock, also under a backlog."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.repeats import repeats
from tests.support.simulate import Op, errors_and_bounds, linear, simulate, step

BEHIND = [step(i, *[linear(6_000, 90_000) for _ in range(4)]) for i in range(6)]
HOST_BOUND = [step(i, *[linear(host, 3_000) for host in (9_000, 30_000)]) for i in range(6)]


def test_markers_bound_a_backlog_of_unknown_length() -> None:
    """What the device did before the recording is unknown; when it came to a marker is not."""
    (guess, wide), (error, bound) = (
        errors_and_bounds(simulate(BEHIND, backlog=900_000, record_markers=pinned))
        for pinned in (False, True)
    )
    assert (error <= bound).all()
    assert (wide < 0).all()
    assert (bound >= 0).all()
    assert np.median(bound) < 15_000
    assert np.median(error) < 3_000 < np.median(guess)


def test_a_host_bound_program_keeps_its_starts() -> None:
    (guess, wide), (error, bound) = (
        errors_and_bounds(simulate(HOST_BOUND, record_markers=pinned)) for pinned in (False, True)
    )
    assert (error <= bound).all()
    assert np.median(error) <= np.median(guess) + 100
    assert np.median(bound) <= np.median(wide) + 500


@pytest.mark.parametrize(
    "columns",
    [
        {"host_ns": [1, 2], "device": [0], "stream": [0, 0], "done_ns": [1, 2], "bound_ns": [1, 1]},
        {"host_ns": [1, 2]},
        {name: [10**18] for name in ("host_ns", "device", "stream", "done_ns", "bound_ns")},
        {name: [] for name in ("host_ns", "device", "stream", "done_ns", "bound_ns")},
        [1, 2],
        None,
    ],
    ids=["lengths", "columns", "another clock", "empty", "a list", "null"],
)
def test_markers_that_cannot_be_are_ignored(columns: object) -> None:
    plain, odd = simulate(HOST_BOUND), simulate(HOST_BOUND, markers=columns)
    assert odd.trace.kernels.start_ns.tolist() == plain.trace.kernels.start_ns.tolist()


def test_wrong_markers_are_dropped_and_not_believed() -> None:
    """A device clock that jumped: the bounds without markers hold."""
    far = {"device": [0], "stream": [0], "bound_ns": [100]}
    host = simulate(BEHIND).trace
    at = int(host.ops.end_ns.max()) + host.base_ns - 100
    result = simulate(BEHIND, markers={**far, "host_ns": [at], "done_ns": [at + 10**9]})
    error, bound = errors_and_bounds(result)
    assert (error <= bound).mean() >= 0.95


@pytest.mark.long
@settings(max_examples=repeats(40), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(4_000, 60_000), st.integers(2_000, 120_000)), min_size=2, max_size=6
    ),
    st.integers(0, 600_000),
)
def test_bounds_hold_with_markers(work: list[tuple[int, int]], backlog: int) -> None:
    program: list[Op] = [step(i, *[linear(*one) for one in work]) for i in range(4)]
    error, bound = errors_and_bounds(simulate(program, backlog=backlog, record_markers=True))
    known = bound >= 0
    assert (error[known] <= bound[known]).all()
