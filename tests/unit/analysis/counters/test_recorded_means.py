"""Figures of a recorded counter in windows, and while groups of activities run."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.analysis.counters import recorded, recorded_means
from tb_privateuse1.analysis.counters.recorded_means import WindowValues

FORM = recorded.samples(np.array([20, 40, 90]), np.array([1.0, 3.0, 2.0]))


def test_a_window_has_what_holds_at_its_start_too() -> None:
    whole = WindowValues(values=3, interval_ns=35, mean=190 / 80, min=1.0, max=3.0)
    assert recorded_means.window_values(FORM, 0, 100) == whole
    held = WindowValues(values=0, interval_ns=None, mean=3.0, min=3.0, max=3.0)
    assert recorded_means.window_values(FORM, 50, 60) == held


def test_a_window_before_the_first_value_has_none() -> None:
    none = WindowValues(values=0, interval_ns=None, mean=None, min=None, max=None)
    assert recorded_means.window_values(FORM, 0, 20) == none


def test_a_group_without_a_value_has_none() -> None:
    start, end = np.array([0, 30, 35]), np.array([10, 40, 45])
    found = recorded_means.group_means(FORM, start, end, np.array([0, 1, 1]), 2)
    assert np.isnan(found.mean[0])
    assert found.mean[1] == (15 * 1 + 5 * 3) / 20
    assert (found.known_ns.tolist(), found.samples.tolist()) == ([0, 20], [0, 1])


@given(st.lists(st.tuples(st.integers(0, 120), st.integers(1, 40)), min_size=1, max_size=20))
def test_the_mean_of_a_group_is_within_that_of_its_calls(calls: list[tuple[int, int]]) -> None:
    start = np.array([at for at, _ in calls])
    end = start + [length for _, length in calls]
    group = np.zeros(len(calls), np.int64)
    mean = recorded_means.group_means(FORM, start, end, group, 1).mean[0]
    own = FORM.means(start, end)
    own = own[~np.isnan(own)]
    assert np.isnan(mean) if not len(own) else own.min() - 1e-9 <= mean <= own.max() + 1e-9
