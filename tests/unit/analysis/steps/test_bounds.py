"""Any truth that the kernels' bounds allow is within each figure's own bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.ranks import collectives
from tb_privateuse1.analysis.steps import bounds as steps_bounds
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.analysis.steps.table import step_averages, step_spread, step_table
from tb_privateuse1.trace.model import BOUND, MISSING
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.operators import operators
from tb_privateuse1.views.overview import overview
from tests.support import make, uncertain
from tests.support.repeats import repeats
from tests.support.uncertain import pair

SEEDS = range(repeats(24))
FORMS = [(1, False), (1, True), (2, False), (3, True)]


@pytest.mark.parametrize(("lanes", "hosted"), FORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_steps_and_their_parts_are_within_their_bounds(seed: int, lanes: int, hosted: bool) -> None:
    """Steps and parts are within their bounds."""
    shown, true = pair(seed, lanes, hosted)
    for mine, theirs in zip(step_table(shown), step_table(true), strict=True):
        for part in (*breakdown.PARTS, "duration"):
            error = abs(getattr(mine, f"{part}_ns") - getattr(theirs, f"{part}_ns"))
            bound = getattr(mine, f"{part}_bound_ns")
            assert bound is not None
            assert error <= bound, (mine.name, part)
    rows = np.arange(len(true.steps))
    mean, real = step_spread(shown, rows), step_spread(true, rows)
    assert mean is not None
    assert real is not None
    assert mean.bound_ns is not None
    for name in ("mean_ns", "median_ns", "min_ns", "max_ns", "deviation_ns"):
        assert abs(getattr(mean, name) - getattr(real, name)) <= mean.bound_ns + 1, name
    for average, exact in zip(step_averages(shown, rows), step_averages(true, rows), strict=True):
        assert average.bound_ns is not None
        for name in ("mean_ns", "min_ns", "max_ns", "deviation_ns"):
            error = abs(getattr(average, name) - getattr(exact, name))
            assert error <= average.bound_ns + 1, (average.part, name)


@pytest.mark.parametrize(("lanes", "hosted"), FORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_sum_of_steps_is_within_its_bound_and_counts_inner_edges_once(
    seed: int, lanes: int, hosted: bool
) -> None:
    """The sum of some steps is within its bound, which is at most the sum of theirs."""
    shown, true = pair(seed, lanes, hosted)
    bounds = steps_bounds.step_windows(shown).bound(shown.steps)
    for rows in (np.arange(len(shown.steps)), np.array([0, 2]), np.array([1])):
        mine, theirs = (
            (one.steps.end_ns - one.steps.start_ns)[rows].sum() for one in (shown, true)
        )
        bound = steps_bounds.total_bound(shown, rows)
        assert bound is not None
        assert abs(int(mine - theirs)) <= bound <= bounds[rows].sum()


def test_an_error_between_the_extremes_of_all_starts_may_be_the_worst() -> None:
    """A shared error that fills pauses, and then delays the first start, is within the bound."""
    ends, hosts = [80, 150, 240], [(0, 50), (100, 150), (170, 300)]
    steps = [make.step(i, *host) for i, host in enumerate(hosts)]
    ops = [make.op("aten::mm", begin + 1, begin + 3, id=i) for i, (begin, _) in enumerate(hosts)]
    host = make.trace(*steps, *ops)
    rows = {id: row for row, id in enumerate(host.ops.external_id.tolist())}
    end = np.array(ends) * 1000
    known = {
        "op": np.array([rows[i] for i in range(3)], np.int32),
        "start_bound_ns": np.full(3, 40_000),
        "shift_bound_ns": np.full(3, 40_000),
        "evidence": np.full(3, BOUND, np.int8),
    }

    def lengths(shift_ns: int) -> Any:
        trace = uncertain.with_kernels(host, end + shift_ns - 10_000, end + shift_ns, **known)
        return trace, trace.steps.end_ns - trace.steps.start_ns

    shown, length = lengths(0)
    for some in (np.array([1, 2]), np.array([2, 1]), np.array([0, 2]), np.arange(3)):
        bound = steps_bounds.total_bound(shown, some)
        assert bound is not None
        for shift_ns in range(-40_000, 40_001, 2_000):
            assert abs(int((lengths(shift_ns)[1] - length)[some].sum())) <= bound


@pytest.mark.parametrize("seed", SEEDS)
def test_utilization_is_what_idle_time_leaves_with_the_same_bounds(seed: int) -> None:
    """Utilization and the account's idle time have one bound."""
    answer = overview(pair(seed, 2)[0])
    account = answer.account
    assert account is not None
    assert account.idle_bound_ns is not None
    least, most = (
        min(max(1 - (account.idle_ns + bound) / account.window_ns, 0), 1)
        for bound in (account.idle_bound_ns, -account.idle_bound_ns)
    )
    assert (answer.utilization_low, answer.utilization_high) == pytest.approx((least, most))


@pytest.mark.parametrize(("lanes", "hosted"), FORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_totals_and_utilization_are_within_their_bounds(
    seed: int, lanes: int, hosted: bool
) -> None:
    """Totals and utilization are within their bounds."""
    pairs = [overview(trace, step=2 if seed % 2 else None) for trace in pair(seed, lanes, hosted)]
    mine, theirs = pairs
    for name in ("span", "busy", "compute", "communication", "memcpy", "overlap"):
        error = abs(getattr(mine.totals, f"{name}_ns") - getattr(theirs.totals, f"{name}_ns"))
        bound = getattr(mine.totals, f"{name}_bound_ns")
        assert bound is not None
        assert error <= bound, name
    assert mine.utilization is not None
    assert theirs.utilization is not None
    assert mine.utilization_low is not None
    assert mine.utilization_high is not None
    assert mine.utilization_low - 1e-12 <= theirs.utilization <= mine.utilization_high + 1e-12


@pytest.mark.parametrize(("lanes", "hosted"), FORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_account_is_within_its_bounds(seed: int, lanes: int, hosted: bool) -> None:
    """Each class of time, and all idle time, is within its bounds."""
    step = 2 if seed % 2 else None
    mine, theirs = (overview(trace, step=step).account for trace in pair(seed, lanes, hosted))
    assert mine is not None
    assert theirs is not None
    assert mine.idle_bound_ns is not None
    assert abs(mine.idle_ns - theirs.idle_ns) <= mine.idle_bound_ns
    truth = {c.name: c.ns for c in theirs.classes}
    for shown in mine.classes:
        assert shown.bound_ns is not None
        assert abs(shown.ns - truth.get(shown.name, 0)) <= shown.bound_ns, shown.name
        if shown.group != "device":
            most = max(mine.idle_ns + mine.idle_bound_ns, 2 * shown.ns)
            assert shown.ns + shown.bound_ns <= most, shown.name


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_are_within_their_bounds(seed: int) -> None:
    """Rows of tables are within their bounds."""
    shown, true = pair(seed)
    (row,), (real,) = kernels(shown).rows, kernels(true).rows
    names = {"total_ns": "bound_ns"} | {f"{n}_ns": f"{n}_bound_ns" for n in
             ("mean", "median", "min", "max")}  # fmt: skip
    for name, bound in names.items():
        error = getattr(row, bound)
        assert error is not None
        assert abs(getattr(row, name) - getattr(real, name)) <= error + 1, name
    assert 0 < row.bounded_share < 1
    mine, theirs = operators(shown), operators(true)
    for a, b in zip(mine.rows, theirs.rows, strict=True):
        assert a.device_self_ns is not None
        assert b.device_self_ns is not None
        assert a.device_bound_ns is not None
        assert a.device_total_bound_ns is not None
        assert abs(a.device_self_ns - b.device_self_ns) <= a.device_bound_ns
        assert a.device_total_bound_ns >= a.device_bound_ns
    assert mine.device_self_bound_ns == row.bound_ns


def test_measured_figures_have_the_bound_0() -> None:
    """Measured figures have the bound 0."""
    events = [make.step(1, 0, 100), make.op("a", 5, 20), make.launch(6, 8, 1)]
    (step,) = step_table(make.trace(*events, make.kernel("k", 20, 60, 1)))
    assert {getattr(step, f"{part}_bound_ns") for part in (*breakdown.PARTS, "duration")} == {0}


def test_a_bound_that_is_not_known_is_none_and_not_0() -> None:
    """An unknown bound is None and not 0."""
    shown, _ = pair(0)
    lost = shown.kernels.duration_bound_ns.copy()
    lost[0] = MISSING
    of_one = replace(shown.kernels, duration_bound_ns=lost)
    trace = replace(shown, kernels=of_one)
    result = overview(trace)
    assert result.totals.busy_bound_ns is result.utilization_low is None
    assert result.average_step_bound_ns is None
    assert {s.kernel_bound_ns for s in result.steps} == {None}


def test_without_a_bound_of_the_start_the_device_parts_keep_theirs() -> None:
    """Unknown starts leave device parts their bounds."""
    shown, _ = pair(1)
    lost = np.full(len(shown.kernels), MISSING)
    trace = replace(shown, kernels=replace(shown.kernels, start_bound_ns=lost))
    result = overview(trace)
    assert result.totals.busy_bound_ns is not None
    assert result.account is not None
    assert result.account.idle_bound_ns is None
    for step in result.steps:
        assert step.kernel_bound_ns is not None
        assert step.cpu_bound_ns is step.duration_bound_ns is None


def test_the_bound_of_a_part_is_no_more_than_there_is() -> None:
    """Sums of durations limit the bounds where starts are hardly known."""
    shown, _ = pair(2)
    far = np.full(len(shown.kernels), 10_000_000)
    near = np.full(len(shown.kernels), 10)
    kernels = replace(shown.kernels, start_bound_ns=far, duration_bound_ns=near)
    parts = breakdown.step_breakdown(shown)
    trace = replace(shown, kernels=kernels)
    edge = steps_bounds.step_windows(trace).bound(trace.steps)
    bounds = steps_bounds.part_bounds(trace, parts)
    assert (bounds["kernel"] <= 10 * 41).all()
    width = trace.steps.end_ns - trace.steps.start_ns
    assert (bounds["cpu"] - edge <= width - parts["kernel"] + 10 * 41).all()


@pytest.mark.parametrize("hosted", [False, True])
@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("seed", range(repeats(10)))
def test_what_is_counted_of_a_rank_is_within_its_bounds(
    seed: int, lanes: int, hosted: bool
) -> None:
    """Figures of a rank are within their bounds."""
    shown, true = (collectives.reduce_trace(one).steps for one in pair(seed, lanes, hosted))
    assert set(shown.bounds) == set(steps_bounds.RANK)
    for name, bound in shown.bounds.items():
        if name == "exposed":
            inferred, truth = (s.communication_ns - s.overlap_ns for s in (shown, true))
        else:
            inferred, truth = (getattr(s, f"{name}_ns") for s in (shown, true))
        assert (np.abs(inferred - truth) <= bound).all(), name
    assert hosted or not shown.bounds["communication"].any()
