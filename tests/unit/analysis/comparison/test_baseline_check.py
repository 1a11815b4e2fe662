"""Verdicts of a check against a baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.comparison.baseline import Metric, Operator, Workload
from tb_privateuse1.analysis.comparison.baseline_check import (
    DEFAULT_LIMITS,
    Limit,
    Verdict,
    check_budget,
    check_metric,
    check_workload,
)
from tb_privateuse1.analysis.comparison.run_figures import MetricName, Recorded
from tb_privateuse1.analysis.comparison.step_figures import StepFigure, step_figure
from tb_privateuse1.analysis.operators.function_names import ProgramFunction

FIVE = DEFAULT_LIMITS["step"]
HERE = Recorded("2.13.0", "refdev", "generic", "measured", None, ("float32",), ())


def runs(*quickest: int, spread: int = 0) -> tuple[StepFigure, ...]:
    return tuple(step_figure(np.linspace(q, q + spread, 9)) for q in quickest)


def metric(*quickest: int, spread: int = 0, bound: int | None = 0) -> Metric:
    return Metric("ns", bound, runs(*quickest, spread=spread))


def counts(*values: int) -> Metric:
    return Metric("count", 0, runs(*values))


def workload(
    step: Metric,
    operators: dict[str, Operator] | None = None,
    launches: Metric | None = None,
) -> Workload:
    metrics: dict[MetricName, Metric] = {"step": step}
    if launches is not None:
        metrics["launches"] = launches
    return Workload(HERE, "device", metrics, operators or {}, ("aten::tail",))


BASE = metric(1000, 1002, 1004, 1001, 1003)


@pytest.mark.parametrize(
    ("now", "verdict", "doubt"),
    [
        (metric(1003, 1001, 1002), "ok", None),
        (metric(1049, 1050, 1051), "ok", None),
        (metric(1060, 1061, 1062), "slower", None),
        (metric(900, 901, 902), "faster", None),
        (metric(1090, 1350, 1010), "cannot_tell", "noise"),
        (metric(1003, 1001, 1002, spread=400), "cannot_tell", "quickest_steps"),
        (metric(1100, 1101, 1102, bound=None), "cannot_tell", "no_bound"),
        (metric(1100, 1101, 1102, bound=120), "cannot_tell", "bound"),
        (metric(1003, 1001, 1002, bound=60), "cannot_tell", "bound"),
        (metric(1200, 1201, 1202, bound=120), "slower", None),
    ],
)
def test_times(now: Metric, verdict: Verdict, doubt: str | None) -> None:
    found = check_metric("step", BASE, now, FIVE, is_comparable=True)
    assert (found.verdict, found.doubt) == (verdict, doubt)


@pytest.mark.parametrize(
    ("now", "verdict", "doubt"),
    [
        (metric(990, 1000), "ok", None),
        (metric(1001, 1500), "slower", None),
        (metric(900, 1500), "cannot_tell", "quickest_steps"),
        (metric(1100, 1500, bound=200), "cannot_tell", "bound"),
        (metric(1100, bound=None), "cannot_tell", "no_bound"),
        (None, "cannot_tell", "missing"),
    ],
)
def test_a_budget(now: Metric | None, verdict: Verdict, doubt: str | None) -> None:
    found = check_budget("step", "ns", 1000, now)
    assert (found.verdict, found.doubt) == (verdict, doubt)


def test_a_noisy_baseline_cannot_tell_small_changes() -> None:
    noisy = metric(900, 1000, 1100)
    found = check_metric("step", noisy, metric(1000, 1001), FIVE, is_comparable=True)
    assert (found.verdict, found.doubt) == ("cannot_tell", "noise")
    found = check_metric("step", noisy, metric(3000, 3001), FIVE, is_comparable=True)
    assert found.verdict == "slower"


@pytest.mark.parametrize(
    ("base", "now", "limit", "verdict"),
    [
        ((120, 120), (120,), Limit(), "ok"),
        ((120, 120), (121,), Limit(), "more"),
        ((120, 120), (121,), Limit(amount=1), "ok"),
        ((120, 120), (122,), Limit(share=0.01), "more"),
        ((118, 122), (122,), Limit(), "ok"),
        ((118, 122), (117,), Limit(), "less"),
        ((0,), (1,), Limit(), "more"),
    ],
)
def test_counts_are_compared_exactly(
    base: Sequence[int], now: Sequence[int], limit: Limit, verdict: Verdict
) -> None:
    found = check_metric("launches", counts(*base), counts(*now), limit, is_comparable=False)
    assert (found.verdict, found.noise) == (verdict, None)


def test_a_metric_that_one_side_lacks_is_not_judged() -> None:
    check = check_workload("w", workload(BASE), workload(BASE, launches=counts(3)), {})
    launches = next(one for one in check.metrics if one.name == "launches")
    assert (launches.base, launches.now, launches.verdict) == (None, 3, "cannot_tell")
    assert check.failed == ()


def test_another_device_is_not_comparable_but_its_launches_are() -> None:
    slow = workload(metric(2000, 2001), launches=counts(4))
    other = replace(slow, recorded=replace(HERE, device="other", torch="2.14.0"))
    check = check_workload("w", workload(BASE, launches=counts(3)), other, {})
    assert [(one.name, one.is_comparable) for one in check.differences] == [
        ("torch", True), ("device", False)
    ]  # fmt: skip
    assert [one.verdict for one in check.metrics] == ["cannot_tell", "more"]
    assert check.metrics[0].doubt == "circumstances"


def test_what_is_not_recorded_is_no_difference() -> None:
    unknown = replace(workload(BASE), recorded=replace(HERE, torch=None, float_types=()))
    assert check_workload("w", workload(BASE), unknown, {}).differences == ()


STEP = ProgramFunction("step", "train.py", 3, (), None, 3, None, "step (train.py:3)")


def operator(*times: int, calls: float = 2, where: ProgramFunction | None = None) -> Operator:
    return Operator(0, calls, calls, runs(*times), where)


def test_operators() -> None:
    base = workload(BASE, {"aten::mm": operator(500, 501), "aten::sum": operator(90, 91)})
    now = workload(
        BASE,
        {
            "aten::mm": operator(700, 701, calls=3, where=STEP),
            "aten::tail": operator(40, 41),
            "aten::new": operator(60, 61),
        },
    )
    check = check_workload("w", base, now, {})
    found = {one.figure.name: one for one in check.operators}
    assert found["aten::mm"].figure.verdict == "slower"
    assert (found["aten::mm"].base_calls, found["aten::mm"].now_calls) == (2, 3)
    assert found["aten::mm"].where == STEP
    assert check.operators[0].figure.name == "aten::mm"
    assert {name: one.status for name, one in found.items()} == {
        "aten::mm": "both", "aten::sum": "gone", "aten::tail": "both", "aten::new": "new"
    }  # fmt: skip
    assert check.failed == ()
    limited = check_workload("w", base, now, {"operator": Limit(0.1)})
    assert limited.failed == ("aten::mm",)


def test_many_operators_need_a_larger_change() -> None:
    few = {"aten::mm": operator(1000, 1020, 1040)}
    many = {**few, **{f"op{i}": operator(10, 10, 10) for i in range(30)}}
    now = operator(1130, 1150, 1170)
    verdicts = [
        check_workload("w", workload(BASE, old), workload(BASE, {**old, "aten::mm": now}), {})
        for old in (few, many)
    ]
    assert [
        next(one.figure.verdict for one in check.operators if one.figure.name == "aten::mm")
        for check in verdicts
    ] == ["slower", "cannot_tell"]
