"""Recorded launches tie kernels to operators and to the host's clock."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.trace.model import NONE, UNKNOWN
from tests.support.repeats import repeats
from tests.support.simulate import Op, errors_and_bounds, linear, simulate, step

HOST_BOUND = [
    step(i, *[linear(host, 3_000) for host in (9_000, 14_000, 30_000, 60_000)]) for i in range(6)
]
ON_CPU = Op("aten::add_", 8_000, 1_000)
"""An operator on tensors of the host: it launches nothing, and its name does not show that."""


def test_known_launches_tie_starts_to_the_host() -> None:
    inferred, known = simulate(HOST_BOUND), simulate(HOST_BOUND, record_launches=True)
    (guess, wide), (error, bound) = errors_and_bounds(inferred), errors_and_bounds(known)
    assert (error <= bound).all()
    assert np.median(error) < 100 < np.median(guess)
    assert np.median(bound) < np.median(wide)


@pytest.mark.parametrize("times", [None, (5_000_000_000, 0.0)], ids=["elapsed", "events"])
def test_launches_of_an_unseen_thread_do_not_discredit_the_others(
    times: tuple[int, float] | None,
) -> None:
    """A third of the log is another thread's, as work beside the operators' is."""
    apart = 3 * 31_000, 2_000
    edge = Op("tb_privateuse1::window_start", 3_000, 1_000, blocking=True,
              category="user_annotation")  # fmt: skip
    program = [edge, *HOST_BOUND, edge]
    result = simulate(program, unseen=apart, record_launches=True, event_times=times)
    kernels = result.trace.kernels.take(result.trace.kernels.op != NONE)
    assert result.trace.ops.external_id[kernels.op].tolist() == result.ids.tolist()
    assert np.median(np.abs(kernels.start_ns - result.start_ns)) < 500
    assert result.trace.meta.unseen_work


def test_a_thread_that_launches_for_the_operators_leaves_them_theirs() -> None:
    """A worker of the backend launches all but a copy: where they launch is not known."""
    copied = {"host_ns": [1_050_000, 1_060_000, 1_061_000], "thread": [1, 2, 2],
              "device": [0, 0, 0], "stream": [0, 0, 0]}  # fmt: skip
    plain, odd = simulate(HOST_BOUND).trace.kernels, simulate(HOST_BOUND, launches=copied)
    np.testing.assert_array_equal(plain.start_ns, odd.trace.kernels.start_ns)


def test_an_operator_without_a_launch_has_no_kernel_whatever_its_name() -> None:
    program = [step(i, linear(20_000, 5_000), ON_CPU, ON_CPU) for i in range(5)]
    assert len(simulate(program, record_launches=True).trace.kernels) == 5


def test_a_launch_in_no_operator_is_work_of_an_unknown_launcher() -> None:
    """One that would be taken for a preempted thread if the launch were not known."""
    replay = Op("replay", 30_000, 1_000, 400_000, category="user_annotation", held=600_000)
    program = [step(i, linear(20_000, 5_000), *([replay] if i == 3 else [])) for i in range(5)]
    kernels = simulate(program, record_launches=True).trace.kernels
    assert (kernels.kind == UNKNOWN).sum() == 1


@pytest.mark.parametrize(
    "columns",
    [
        {"host_ns": [1, 2], "thread": [1], "device": [1, 1], "stream": [1, 1]},
        {"host_ns": [1, 2], "thread": [1, 1]},
        {"host_ns": ["soon"], "thread": [1], "device": [1], "stream": [1]},
        {"host_ns": [], "thread": [], "device": [], "stream": []},
        {"host_ns": [10**18], "thread": [1], "device": [1], "stream": [1]},
        [1, 2],
        None,
    ],
    ids=["lengths", "columns", "texts", "empty", "another clock", "a list", "null"],
)
def test_launches_that_cannot_be_are_ignored(columns: object) -> None:
    plain, odd = simulate(HOST_BOUND).trace.kernels, simulate(HOST_BOUND, launches=columns)
    for name, column in plain.columns():
        np.testing.assert_array_equal(column, getattr(odd.trace.kernels, name))


def test_launches_on_several_streams_are_not_mixed_where_events_name_none() -> None:
    known = {
        "host_ns": [1_050_000, 1_060_000],
        "thread": [1, 1],
        "device": [0, 0],
        "stream": [0, 1],
    }
    plain, odd = simulate(HOST_BOUND).trace.kernels, simulate(HOST_BOUND, launches=known)
    np.testing.assert_array_equal(plain.start_ns, odd.trace.kernels.start_ns)


@pytest.mark.long
@settings(max_examples=repeats(25), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(4_000, 60_000), st.integers(1, 200_000), st.booleans()),
        min_size=3,
        max_size=30,
    ),
    st.integers(0, 3_000_000),
)
def test_every_kernel_has_its_launch_and_starts_within_its_bound(
    ops: list[tuple[int, int, bool]], backlog: int
) -> None:
    program = [Op("aten::mm", host, 1_000, kernel, blocking=wait) for host, kernel, wait in ops]
    result = simulate([step(0, *program)], backlog=backlog, record_launches=True)
    error, bound = errors_and_bounds(result)
    known = bound >= 0
    assert (error[known] <= bound[known]).all()
