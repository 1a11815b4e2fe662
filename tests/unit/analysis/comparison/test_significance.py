"""Whether a change is more than noise: Welch's interval."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.comparison import significance
from tb_privateuse1.trace.table import F64


def rows(*values: float) -> significance.Sample:
    """Return a row with these values in its steps."""
    return of(np.array([values], np.float64))


def of(values: F64) -> significance.Sample:
    n = values.shape[1]
    spread = values.var(axis=1, ddof=1) if n > 1 else np.zeros(len(values))
    return significance.Sample(values.mean(axis=1), spread, n)


def test_welchs_interval_by_hand() -> None:
    """Means 10 and 20, variances 1 and 4 of 4 and 4: error sqrt(1.25), 4.41 degrees of freedom."""
    a = significance.Sample(np.array([10.0]), np.array([1.0]), 4)
    b = significance.Sample(np.array([20.0]), np.array([4.0]), 4)
    found = significance.noise(a, b)
    assert found is not None
    assert found[0] == pytest.approx(np.sqrt(1.25) * 4.604095)


def test_without_spread_there_is_no_noise() -> None:
    """Equal values have a noise of 0."""
    found = significance.noise(rows(5, 5, 5), rows(7, 7))
    assert found is not None
    assert found.tolist() == [0.0]


def test_one_step_has_no_noise() -> None:
    """The noise is unknown with one step."""
    assert significance.noise(rows(5), rows(5, 6)) is None
    assert significance.noise(rows(5, 6), rows(5)) is None


def test_false_positives_are_one_percent() -> None:
    """About 1 % of samples without a difference are reported as different."""
    random = np.random.default_rng(7)
    a, b = random.normal(100, 5, (20_000, 5)), random.normal(100, 9, (20_000, 8))
    found = significance.noise(of(a), of(b))
    assert found is not None
    wrong = np.abs(a.mean(axis=1) - b.mean(axis=1)) > found
    assert 0.005 < wrong.mean() < 0.015


def test_a_sample_is_as_if_every_step_had_a_value() -> None:
    """A sparse sample equals a dense one with zeros."""
    random = np.random.default_rng(11)
    values = np.where(random.random((7, 5)) < 0.4, random.integers(1, 900, (7, 5)), 0)
    row, step = np.nonzero(values)
    found = significance.sample_row(
        np.concatenate((row, row, [-1, 3])), np.concatenate((step, step, [2, -1])),
        np.concatenate((values[row, step], values[row, step], [99, 99])), 7, 5,
    )  # fmt: skip
    assert found.mean == pytest.approx(2 * values.mean(axis=1))
    assert found.variance == pytest.approx(4 * values.var(axis=1, ddof=1))
    assert found.take(np.array([2, -1])).mean.tolist() == [found.mean[2], 0]


def test_a_sample_takes_memory_by_its_entries() -> None:
    """Memory depends on the entries, not on rows times steps."""
    one = np.array([999_999])
    found = significance.sample_row(one, one, one, 1_000_000, 1_000_000)
    assert found.mean[-1] == pytest.approx(0.999999)


@pytest.mark.parametrize(
    ("change", "noise", "bound", "expected"),
    [
        (0, None, None, "same"),
        (-5, 4, 0, "shorter"), (5, 4, 0, "longer"), (5, 5, 0, "within_noise"),
        (5, None, 0, "unknown"), (5, 0, None, "unknown"),
        (5, 0, 5, "within_bound"), (5, None, 5, "within_bound"), (6, 1, 5, "within_noise"),
        (7, 1, 5, "longer"), (-7, 1, 5, "shorter"),
    ],
)  # fmt: skip
def test_verdicts(change: float, noise: float | None, bound: float | None, expected: str) -> None:
    """The verdict follows from change, noise and bound."""
    assert significance.verdict(change, noise, bound) == expected
