"""Whether a change is more than noise: Welch's interval, and Student's of pairs."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.comparison import significance
from tb_privateuse1.trace.statistics import ERROR_RATE, student_t
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


def sampled(values: F64) -> significance.Sample:
    """Return the sample of whole values by row and step, with its cells."""
    row, step = np.indices(values.shape)
    whole = np.rint(values).astype(np.int64)
    return significance.sample_row(row.ravel(), step.ravel(), whole.ravel(), *values.shape)


def test_students_interval_of_pairs_by_hand() -> None:
    """Differences 10, 12, 14, 16, 18: variance 10 of 5, so error sqrt(2), 4 degrees of freedom."""
    base = np.array([[100, 500, 200, 900, 300.0]])
    now = base + np.array([10, 12, 14, 16, 18])
    found = significance.noise(sampled(base), sampled(now), repeats=True)
    assert found is not None
    assert found[0] == pytest.approx(np.sqrt(2) * 4.604095)


@pytest.mark.parametrize(
    ("base", "now", "repeats", "expected"),
    [
        (5, 5, True, "paired"), (5, 5, False, "welch"), (5, 6, True, "welch"),
        (4, 4, True, "welch"), (2, 2, True, "welch"), (1, 5, True, None), (1, 1, True, None),
    ],
)  # fmt: skip
def test_the_test_is_chosen_before_a_value_is_seen(
    base: int, now: int, repeats: bool, expected: str | None
) -> None:
    for scale in (1, 1000):
        pair = (sampled(scale * np.arange(1.0, n + 1)[None]) for n in (base, now))
        assert significance.chosen_test(*pair, repeats=repeats) == expected


def test_pairs_pay_from_the_least_number_on() -> None:
    """Where half of the variance is common to both, pairs are narrower from five steps on."""
    ratio = {n: student_t(0.01, n - 1) / student_t(0.01, 2 * n - 2) for n in (4, 5)}
    assert ratio[significance.LEAST_PAIRS] < np.sqrt(2) < ratio[significance.LEAST_PAIRS - 1]


def test_pairs_of_taken_rows() -> None:
    """A row that only one sample has is 0 in each step of the other."""
    base = np.array([[1, 2, 3, 4, 5], [0, 900, 0, 900, 7.0]])
    now = np.array([[3, 9, 3, 9, 3], [5, 5, 5, 5, 6.0]])
    a = sampled(base).take(np.array([1, -1]))
    b = sampled(now).take(np.array([0, 1]))
    found = significance.noise(a, b, repeats=True)
    assert found is not None
    differences = np.array([now[0] - base[1], now[1]])
    error = differences.std(axis=1, ddof=1) / np.sqrt(5)
    assert found == pytest.approx(error * student_t(0.01, 4))


DRAWS = {
    "normal": lambda random, size: random.normal(1e6, 5e4, size),
    "skewed": lambda random, size: 1e6 + random.lognormal(10, 1, size),
    "rare stalls": lambda random, size: 1e6 + 4e5 * (random.random(size) < 0.1),
}
"""Random step times in ns of a program without any change."""


@pytest.mark.parametrize("repeats", [True, False], ids=["paired", "welch"])
@pytest.mark.parametrize("shape", DRAWS)
@pytest.mark.parametrize("steps", [5, 6, 20])
def test_no_change_is_called_one_at_most_as_often_as_stated(
    shape: str, steps: int, repeats: bool
) -> None:
    """Also where both share what differs from step to step, such as batches of other lengths."""
    random = np.random.default_rng(steps)
    rows = 10_000
    common = random.normal(0, 2e5, (rows, steps)) if repeats else 0
    a, b = (sampled(common + DRAWS[shape](random, (rows, steps))) for _ in range(2))
    found = significance.noise(a, b, repeats=repeats)
    assert found is not None
    wrong = np.abs(a.mean - b.mean) > found
    # Three standard deviations of the count of 10,000 rows.
    assert wrong.mean() < ERROR_RATE + 3 * np.sqrt(ERROR_RATE * (1 - ERROR_RATE) / rows)


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
