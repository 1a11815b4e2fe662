"""Work against its roofs: least times, shares, time at stake, and what cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from tb_privateuse1.analysis.roofs.achieved import (
    LIMITS,
    Achieved,
    Figures,
    achieved,
    figures,
)
from tb_privateuse1.analysis.roofs.roofs import Ceilings, Roof, ceilings, compute_ceilings
from tb_privateuse1.analysis.roofs.step_use import step_use
from tb_privateuse1.analysis.roofs.work_rows import WorkRows
from tb_privateuse1.trace.model import MISSING, NONE
from tests.support.roof_limits import impossible_rows
from tests.support.work import work

ROOFS = (
    Roof("compute", "bf16", True, 100e12, "data_sheet"),
    Roof("compute", "fp32", False, 10e12, "data_sheet"),
    Roof("memory", "", False, 1e12, "data_sheet"),
)
"""100,000 FLOPs or 1,000 bytes in a nanosecond."""
LIMIT = replace(ceilings(ROOFS, None), cache_bytes=1e6)


def compare(rows: WorkRows, limits: Ceilings = LIMIT) -> Achieved:
    return achieved(rows, compute_ceilings(rows, limits), limits)


def one(rows: WorkRows, limits: Ceilings = LIMIT) -> Figures:
    group = np.zeros(len(rows), np.int64)
    (found,) = figures(rows, compare(rows, limits), group, 1)
    return found


def test_the_slower_of_arithmetic_and_memory_limits() -> None:
    rows = work(duration_ns=[4000, 4000], flops=[2 * 10**8, 10**6], size=[10**6, 3 * 10**6])
    found = compare(rows)
    assert found.compute_ns.tolist() == [2000, 10]
    assert found.memory_ns.tolist() == [1000, 3000]
    assert found.attainable_ns.tolist() == [2000, 3000]
    assert [LIMITS[i] for i in found.limit] == ["compute", "memory"]
    assert found.above_roof_ns.tolist() == [2000, 1000]


def test_rates_and_shares_of_a_group() -> None:
    rows = work(duration_ns=[4000, 6000], flops=[2 * 10**8, 10**8], size=[10**6, 3 * 10**6])
    found = one(rows)
    assert (found.flops, found.bytes) == (3 * 10**8, 4 * 10**6)
    assert found.tflop_per_s == pytest.approx(30)
    assert found.gb_per_s == pytest.approx(400)
    assert found.flops_per_byte == pytest.approx(75)
    assert found.roof_share == found.roof_share_low == found.roof_share_high == pytest.approx(0.5)
    assert found.above_roof_ns == found.above_roof_low_ns == found.above_roof_high_ns == 5000
    assert found.roofed_share == 1


def test_unknown_work_is_unknown() -> None:
    nothing = one(work(duration_ns=[1000]))
    assert nothing.roofed_share == nothing.modeled_ns == 0
    rest = asdict(nothing)
    del rest["roofed_share"], rest["modeled_ns"]
    assert set(rest.values()) == {None}
    half = one(work(duration_ns=[1000, 3000], flops=[10**7, None]))
    assert half.roofed_share == 0.25
    assert half.tflop_per_s == pytest.approx(10)
    assert half.gb_per_s is None
    assert half.flops_per_byte is None
    assert half.roof_share == pytest.approx(0.1)


def test_integers_have_only_the_memory_as_a_roof() -> None:
    rows = work(duration_ns=[1000], flops=[10**12], size=[10**5], types=["int64"], product=False)
    found = compare(rows)
    assert found.compute_ns[0] == MISSING
    assert found.attainable_ns[0] == 100
    assert not impossible_rows(rows, LIMIT)[0]


def test_copies_have_no_arithmetic() -> None:
    rows = work(duration_ns=[1000], flops=[0], size=[10**5], types=["int64"], product=False)
    found = one(rows)
    assert (found.tflop_per_s, found.flops_per_byte) == (0, 0)
    assert found.roof_share == pytest.approx(0.1)


def test_a_copy_of_a_few_bytes_is_limited_by_memory() -> None:
    """Its least time is rounded to 0 ns, as long as no arithmetic takes."""
    rows = work(duration_ns=[5000], flops=[0], size=[64])
    found = achieved(rows, compute_ceilings(rows, LIMIT), LIMIT)
    assert [LIMITS[i] for i in found.limit] == ["memory"]


def test_no_arithmetic_alone_is_no_roof() -> None:
    found = one(work(duration_ns=[1000], flops=[0]))
    assert found.roof_share is found.attainable_ns is found.above_roof_ns is None


def test_inferred_times_have_bounds() -> None:
    rows = work(duration_ns=[4000], flops=[2 * 10**8], bound_ns=[1000])
    found = one(rows)
    assert (found.roof_share_low, found.roof_share) == (pytest.approx(0.4), pytest.approx(0.5))
    assert found.roof_share_high == pytest.approx(2 / 3)
    assert (found.above_roof_low_ns, found.above_roof_ns, found.above_roof_high_ns) == (
        1000,
        2000,
        3000,
    )
    found = one(work(duration_ns=[4000], flops=[2 * 10**8], bound_ns=[None]))
    assert (found.roof_share_low, found.roof_share_high, found.above_roof_high_ns) == (
        None,
        None,
        None,
    )
    assert found.above_roof_low_ns == 0


def test_the_cache_may_be_faster_than_the_memory() -> None:
    rows = work(duration_ns=[500] * 3, size=[900_000, 1_300_000, 9_000_000])
    found = compare(rows)
    assert [LIMITS[i] for i in found.limit] == ["cache"] * 3
    assert found.attainable_ns.tolist() == [500] * 3
    assert impossible_rows(rows, LIMIT).tolist() == [False, False, True]
    unknown = replace(LIMIT, cache_bytes=np.inf)
    assert not impossible_rows(rows, unknown).any()


def test_faster_than_the_arithmetic_is_impossible() -> None:
    rows = work(
        duration_ns=[1000, 1000, 1000, 1000],
        flops=[104 * 10**6, 106 * 10**6, 106 * 10**6, 106 * 10**6],
        bound_ns=[0, 0, 100, None],
    )
    assert impossible_rows(rows, LIMIT).tolist() == [False, True, False, False]
    assert not impossible_rows(rows, LIMIT, resolution_ns=1000).any()


def test_work_that_may_be_less_than_counted_is_never_impossible() -> None:
    """Winograd's transform: it is at the roof, and not above."""
    rows = work(duration_ns=[1000], flops=[200 * 10**6], at_most=True)
    assert not impossible_rows(rows, LIMIT).any()
    values = achieved(rows, compute_ceilings(rows, LIMIT), LIMIT)
    assert (values.attainable_ns.tolist(), values.above_roof_ns.tolist()) == ([1000], [0])


def test_a_best_rate_is_no_limit_of_the_device() -> None:
    """What is faster than the best sustained rate has its own time as the least."""
    seen = (Roof("memory", "", False, 1e12, "best_seen"),)
    rows = work(duration_ns=[500], size=[900_000])
    found = compare(rows, ceilings(seen, None))
    assert (found.limit[0], found.attainable_ns[0]) == (NONE, 500)
    rows = work(duration_ns=[500], size=[900_000], flops=[0])
    assert LIMITS[compare(rows, ceilings(seen, None)).limit[0]] == "memory"
    assert not impossible_rows(rows, ceilings((), None)).any()


AMOUNT = st.none() | st.integers(0, 10**13)


@given(
    st.lists(
        st.tuples(AMOUNT, AMOUNT, st.integers(0, 10**7), st.none() | st.integers(0, 10**6)),
        min_size=1,
        max_size=30,
    )
)
def test_figures_are_consistent(rows: list[tuple[int | None, int | None, int, int | None]]) -> None:
    flops, size, duration, bound = (list(column) for column in zip(*rows, strict=True))
    found = one(
        work(duration_ns=[time or 0 for time in duration], flops=flops, size=size, bound_ns=bound)
    )
    for name, value in asdict(found).items():
        assert value is None or (np.isfinite(value) and value >= 0), name
    for low, shown, high in (
        (found.roof_share_low, found.roof_share, found.roof_share_high),
        (found.above_roof_low_ns, found.above_roof_ns, found.above_roof_high_ns),
    ):
        if shown is not None:
            assert low is None or low <= shown
            assert high is None or shown <= high
    assert (found.roof_share or 0) <= (found.roof_share_high or 1) <= 1
    if found.above_roof_ns is not None and found.attainable_ns is not None:
        known = [i for i, row in enumerate(rows) if row[0] or row[1] is not None]
        assert found.above_roof_ns + found.attainable_ns == sum(rows[i][2] for i in known)


def test_groups_add_up_beyond_what_floats_hold() -> None:
    flops = 2**60 + 1
    rows = work(duration_ns=[10**12] * 3, flops=[flops, 1, 2])
    first, second, empty = figures(rows, compare(rows), np.array([0, 0, 1]), 3)
    assert first.flops == flops + 1
    assert second.flops == 2
    assert empty.flops is None
    assert empty.roofed_share is None


def test_steps_use_a_share_of_the_peak() -> None:
    rows = work(
        duration_ns=[1000] * 5,
        flops=[10**8, 10**8, 10**7, None, 10**8],
        types=["bf16", "bf16", "fp32", "bf16", "bf16"],
        product=[True, True, False, True, True],
        on_unit=[True, True, False, True, True],
    )
    found = step_use(
        rows,
        compute_ceilings(rows, LIMIT),
        np.array([False, True, False, False, False]),
        np.array([0, 0, 0, 0, -1], np.int32),
        np.array([10_000, 10_000], np.int64),
        np.array([2500, 0], np.int64),
    )
    use = found[0]
    assert use is not None
    assert (use.mfu, use.hfu) == (pytest.approx(0.1), pytest.approx(0.2))
    assert (use.mfu_low, use.mfu_high) == (pytest.approx(0.08), pytest.approx(1 / 7.5))
    assert use.product_flops == 2 * 10**8
    assert use.known_share == pytest.approx(2 / 3)
    assert found[1] is None


def test_types_count_by_their_own_peaks() -> None:
    rows = work(duration_ns=[1000] * 2, flops=[10**8, 10**7], types=["bf16", "fp32"],
                on_unit=[True, False])  # fmt: skip
    nothing = np.zeros(2, np.bool_)
    step, length = np.zeros(2, np.int32), np.array([10_000], np.int64)
    (use,) = step_use(
        rows, compute_ceilings(rows, LIMIT), nothing, step, length, np.array([MISSING])
    )
    assert use is not None
    assert use.mfu == use.hfu == pytest.approx(0.2)
    assert (use.mfu_low, use.mfu_high) == (None, None)
