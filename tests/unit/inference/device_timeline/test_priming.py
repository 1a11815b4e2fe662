"""A primed step: its work is learned from, what only kept the device busy is left out."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.trace import sum_bounds
from tb_privateuse1.trace.model import BOUND, CATALOGUE, EVENTS, MISSING
from tb_privateuse1.views.diff import diff
from tb_privateuse1.views.distributed import distributed
from tb_privateuse1.views.method import method
from tb_privateuse1.views.overview import overview
from tests.support.results import ranks
from tests.support.simulate import Op, Result, simulate, step

US = 1_000
SHAPES = {"Input Dims": [[64, 64]], "Input type": ["float"]}
WORK = (7 * US, 11 * US, 5 * US)


def run(primed: bool, **facts: object) -> Result:
    """Four steps in which the device waits for the host; the first behind a kernel of 5 ms."""
    long = Op(
        "tb_privateuse1::prime", 2 * US, US, category="user_annotation",
        children=(Op("aten::mm", 6 * US, US, 5_000 * US),),
    )  # fmt: skip
    names = ("aten::add", "aten::mul", "aten::relu")
    ops = [Op(n, 25 * US, 1_000, k) for _ in range(8) for n, k in zip(names, WORK, strict=True)]
    wait = Op("synchronize", 10 * US, 10 * US, category="user_annotation", blocking=True)
    first = (*((long,) if primed else ()), *ops, wait)
    program = [step(0, *first), *(step(i, *ops) for i in (1, 2, 3))]
    return simulate(program, shapes=SHAPES, **facts)


def test_other_steps_know_their_durations_then() -> None:
    plain, primed = run(primed=False), run(primed=True)
    rest = plain.trace.kernels.take(plain.trace.kernels.step > 0)
    assert (rest.evidence == BOUND).mean() > 0.6
    assert not (rest.evidence == EVENTS).any()
    kernels = primed.trace.kernels
    first = kernels.take(kernels.step == 0)
    assert (first.evidence == EVENTS).all()
    others = kernels.take(kernels.step > 0)
    assert (others.evidence == CATALOGUE).mean() > 0.6
    assert not (others.evidence == BOUND).any()
    error = (others.end_ns - others.start_ns) - np.tile(WORK, 24)
    assert np.abs(error).max() <= 1_500
    # They are bounded by how far the seen ones lie apart, and no more by the host's time.
    assert (np.abs(error) <= others.duration_bound_ns).all()
    assert others.duration_bound_ns.max() <= 6_000 < np.median(rest.duration_bound_ns)


@pytest.mark.parametrize("length", [6 * US, 14 * US])
def test_all_calls_of_a_key_share_the_interval_of_three_primed_ones(length: int) -> None:
    """One call per step, three of them primed: however many more there are."""
    prime = Op(
        "tb_privateuse1::prime", 2 * US, US, category="user_annotation",
        children=(Op("aten::mm", 6 * US, US, 2_000 * US),),
    )  # fmt: skip
    wait = Op("synchronize", 10 * US, 10 * US, category="user_annotation", blocking=True)
    own = Op("aten::add", 25 * US, 1_000, length)
    steps = 40
    program = [step(i, *((prime, own, wait) if i < 3 else (own, wait))) for i in range(steps)]
    trace = simulate(program, shapes=SHAPES).trace
    kernels = trace.kernels
    assert len(kernels) == steps
    hidden = kernels.take(kernels.step >= 3)
    assert (hidden.evidence == EVENTS).sum() == 0
    error = np.abs(hidden.end_ns - hidden.start_ns - length)
    assert (error <= hidden.duration_bound_ns).all()
    # Their interval is that of the three, not the host's 25 us.
    seen = kernels.take(kernels.step < 3)
    assert hidden.duration_bound_ns.max() <= seen.duration_bound_ns.max() + 2 * US
    total = int((kernels.end_ns - kernels.start_ns).sum())
    bound = sum_bounds.sum_bound(kernels.duration_bound_ns, kernels.error_group)
    assert bound is not None
    assert abs(total - steps * length) <= bound.bound_ns


def test_starts_and_durations_stay_inside_their_bounds() -> None:
    result = run(primed=True)
    kernels = result.trace.kernels
    ids = result.trace.ops.external_id[kernels.op]
    at = np.searchsorted(result.ids, ids)
    known = kernels.start_bound_ns != MISSING
    assert (np.abs(kernels.start_ns - result.start_ns[at]) <= kernels.start_bound_ns)[known].all()
    true = (result.end_ns - result.start_ns)[at]
    error = np.abs(kernels.end_ns - kernels.start_ns - true)
    assert (error <= kernels.duration_bound_ns).all()


def test_what_only_kept_the_device_busy_is_no_activity() -> None:
    trace = run(primed=True).trace
    assert "aten::mm" not in {trace.text(name) for name in trace.kernels.name}
    assert trace.steps.primed.tolist() == [True, False, False, False]
    result = overview(trace)
    assert [s.primed for s in result.steps] == [True, False, False, False]
    rest = [s.duration_ns for s in result.steps if not s.primed]
    assert result.average_step_ns == round(sum(rest) / 3)
    (finding,) = (f for f in trace.meta.findings if f.code == "step_primed")
    assert "ProfilerStep#0" in finding.message
    assert finding.severity == "info"


def test_the_page_tells_primed_durations_from_the_others() -> None:
    page = method(run(primed=True).trace)
    by_class = {one.evidence: one.kernels for one in page.evidence}
    assert page.primed == by_class["catalogue"] > 0
    assert method(run(primed=False).trace).primed is None


def test_the_page_says_what_priming_would_bring() -> None:
    told = method(run(primed=False).trace)
    assert told.limits[0].code == "hidden_durations"
    assert told.advice[0].code == "prime"
    assert method(run(primed=True).trace).limits[0].code != "hidden_durations"


def test_a_primed_step_is_in_no_mean_and_no_comparison() -> None:
    trace = run(primed=True).trace
    result = distributed(ranks(trace))
    assert [s.incomplete for s in result.steps] == [True, False, False, False]
    rest = [s.duration_ns for s in result.steps if not s.incomplete]
    (row,) = result.rows
    assert (row.steps, row.step_ns) == (3, round(sum(rest) / 3))
    (step_figure,) = (f for f in diff(trace, trace).figures if f.name == "step")
    assert step_figure.now_ns == row.step_ns
