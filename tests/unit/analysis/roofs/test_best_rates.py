"""The best rates of a recording, which one bad measurement must not set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_privateuse1.analysis.roofs.best_rates import best_rate, best_roofs, uses_tf32
from tb_privateuse1.analysis.roofs.roofs import Roof, ceilings
from tb_privateuse1.analysis.roofs.work_rows import clock_resolution_ns
from tb_privateuse1.trace.model import MISSING
from tests.support.work import work

WORK = st.integers(1, 10**12)
TIME = st.integers(1, 10**6)
ROWS = st.lists(st.tuples(WORK, TIME), min_size=1, max_size=60)


def best(rows: list[tuple[int, int]], **options: float) -> float | None:
    amount, time = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return best_rate(amount, time, time, **options)


@given(ROWS)
def test_it_is_a_rate_of_a_row(rows: list[tuple[int, int]]) -> None:
    found = best(rows, sustained_ns=0)
    rates = [amount / time * 1e9 for amount, time in rows]
    assert found is not None
    assert min(rates) <= found <= max(rates)
    assert any(found == pytest.approx(rate) for rate in rates)


@given(ROWS, st.integers(2, 1000))
def test_more_work_in_the_same_time_scales_it(rows: list[tuple[int, int]], factor: int) -> None:
    found = best(rows)
    scaled = best([(amount * factor, time) for amount, time in rows])
    assert scaled == (None if found is None else pytest.approx(found * factor))


@given(ROWS, st.integers(2, 1000))
def test_a_slower_clock_scales_it(rows: list[tuple[int, int]], factor: int) -> None:
    found = best(rows, sustained_ns=1000)
    scaled = best([(amount, time * factor) for amount, time in rows], sustained_ns=1000 * factor)
    assert scaled == (None if found is None else pytest.approx(found / factor))


@given(ROWS, WORK)
def test_a_microsecond_does_not_set_it(rows: list[tuple[int, int]], amount: int) -> None:
    """A row of 1 us never is the best of rows that last longer than the least time."""
    assume(sum(time for _, time in rows) >= 100_000)
    usual = max(rate_amount / time for rate_amount, time in rows) * 1e9
    found = best([*rows, (amount * 10**5, 1000)])
    assert found is not None
    assert found <= usual * (1 + 1e-9)


def test_too_little_time_has_no_best_rate() -> None:
    assert best([(10**9, 50_000)]) is None
    assert best([(10**9, 50_000)] * 2) == pytest.approx(2e13)


def test_unknown_work_and_unknown_times_do_not_count() -> None:
    amount = np.array([MISSING, 10, 10], np.int64)
    time = np.array([10**6] * 3, np.int64)
    longest = np.array([10**6, MISSING, 2 * 10**6], np.int64)
    assert best_rate(amount, time, longest) == pytest.approx(5000)
    assert best_rate(amount[:2], time[:2], longest[:2]) is None


def test_inferred_times_count_at_their_longest() -> None:
    rows = work(duration_ns=[10**6], flops=[10**9], bound_ns=[10**6])
    (roof,) = best_roofs(rows, resolution_ns=0)
    assert roof == Roof("compute", "bf16", True, 5e11, "best_seen", 5e11)


def test_each_type_and_unit_has_its_own() -> None:
    rows = work(
        duration_ns=[10**6] * 4,
        flops=[4 * 10**9, 10**9, 2 * 10**9, 10**9],
        size=[10**6, 10**6, 10**6, 3 * 10**6],
        types=["bf16", "bf16", "fp32", "int64"],
        on_unit=[True, False, False, False],
    )
    rates = {roof.key: roof.rate for roof in best_roofs(rows, resolution_ns=0)}
    assert rates == {
        ("compute", "bf16", True): 4e12,
        ("compute", "bf16", False): 1e12,
        ("compute", "fp32", False): 2e12,
        ("memory", "", False): 3e9,
    }


def test_what_fits_in_the_cache_says_nothing_about_the_memory() -> None:
    rows = work(duration_ns=[10**6] * 2, size=[10**6, 10**8])
    (cold,) = best_roofs(rows, 0, cache_bytes=2e6)
    assert cold.rate == pytest.approx(1e11)
    small = replace(rows, bytes=np.array([10**6, 10**6], np.int64))
    assert best_roofs(small, 0, cache_bytes=2e6) == ()
    assert len(best_roofs(small, 0, cache_bytes=np.inf)) == 1


@pytest.mark.parametrize(("rate", "expected"), [(30e12, False), (41e12, False), (60e12, True)])
def test_a_rate_above_float32_shows_tf32(rate: float, expected: bool) -> None:
    limits = ceilings([Roof("compute", "fp32", True, 40e12, "data_sheet")], None)
    rows = work(duration_ns=[10**6], flops=[int(rate / 1000)], types=["fp32"])
    assert uses_tf32(rows, limits) is expected


@pytest.mark.parametrize(
    ("times", "expected"),
    [([], 1), ([5], 1), ([1000, 3000, 8000], 1000), ([17, 1017, 5017], 1000), ([1, 2, 9], 1)],
)
def test_the_clock_has_the_step_of_all_times(times: list[int], expected: int) -> None:
    assert clock_resolution_ns(np.array(times, np.int64)) == expected


def test_work_that_may_be_less_than_counted_sets_no_best_rate() -> None:
    rows = work(duration_ns=[10**6] * 2, flops=[10**12, 10**11], at_most=[True, False])
    (roof,) = best_roofs(rows)
    assert roof.rate == pytest.approx(1e14, rel=0.01)
    assert best_roofs(work(duration_ns=[10**6], flops=[10**12], at_most=True)) == ()
    assert best_roofs(work(duration_ns=[10**6], size=[10**12], at_most=True)) == ()
