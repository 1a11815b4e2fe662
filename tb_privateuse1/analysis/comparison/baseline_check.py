"""Check runs of a program against a baseline: what became slower beyond noise, bounds and limit.

A time counts as slower if the median of the steps and the quickest steps both exceed the limit, and
the quickest steps exceed noise and error bounds as well. Counts have no noise: they are compared
exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from tb_privateuse1.analysis.comparison.baseline import Metric, Operator, Workload
from tb_privateuse1.analysis.comparison.rows import Status, Time
from tb_privateuse1.analysis.comparison.run_figures import METRICS, MetricName, Recorded, Unit
from tb_privateuse1.analysis.comparison.run_noise import Change, Statistic, change_of_runs
from tb_privateuse1.analysis.comparison.step_figures import StepFigure
from tb_privateuse1.analysis.operators.function_names import ProgramFunction

Verdict = Literal["ok", "slower", "faster", "more", "less", "cannot_tell"]
Doubt = Literal["circumstances", "no_bound", "quickest_steps", "noise", "bound", "missing"]
"""Why a check cannot tell."""

FAILED: frozenset[Verdict] = frozenset(("slower", "more"))

_OTHER_MACHINE = frozenset(("device", "vendor", "timeline", "world_size", "options"))
"""Times under these are of something else. A new torch or precision is what a check may judge."""


class Limit(Struct, frozen=True):
    """How much more a figure may be: a share of the base, and an amount in its unit."""

    share: float = 0.0
    amount: float = 0.0

    def of(self, base: float) -> float:
        """Return the limit in the unit of the figure."""
        return self.share * base + self.amount


LimitName = MetricName | Literal["operator"]
DEFAULT_LIMITS: Mapping[LimitName, Limit] = {
    "step": Limit(0.05),
    "device": Limit(0.05),
    "memory": Limit(0.05),
    "launches": Limit(),
    "synchronizations": Limit(),
    "operator": Limit(0.05),
}


class Difference(Struct, frozen=True):
    """A circumstance that differs from the baseline's."""

    name: str
    base: str
    now: str
    is_comparable: bool
    """False if times cannot be compared across it."""


class Checked(Struct, frozen=True):
    """A figure per step: medians of the steps, on average over the runs."""

    name: str
    unit: Unit
    base: float | None
    now: float | None
    change: float | None
    change_share: float | None
    noise: float | None
    """The uncertainty of the change by 99 %; None for counts."""
    bound: int | None
    limit: float
    """By how much it may be more."""
    verdict: Verdict
    doubt: Doubt | None


class CheckedOperator(Struct, frozen=True):
    """An operator per step; ``figure`` is of its own time."""

    figure: Checked
    status: Status
    base_calls: float | None
    now_calls: float | None
    base_launches: float | None
    now_launches: float | None
    where: ProgramFunction | None


class Check(Struct, frozen=True):
    """The result of a check of one workload."""

    name: str
    base_runs: int
    now_runs: int
    now_steps: int
    time: Time
    metrics: tuple[Checked, ...]
    operators: tuple[CheckedOperator, ...]
    """Those with most time in either, the greatest change first."""
    differences: tuple[Difference, ...]
    failed: tuple[str, ...]
    """The metrics, and operators if they have a limit of their own, that exceed their limits."""


def check_workload(
    name: str, base: Workload, now: Workload, limits: Mapping[LimitName, Limit]
) -> Check:
    """Return the check of runs against a baseline.

    ``limits`` replace the default ones. Operators fail the check only with a limit of their own.
    """
    differences = tuple(differing(base.recorded, now.recorded))
    is_comparable = all(one.is_comparable for one in differences)
    wanted = {**DEFAULT_LIMITS, **limits}
    metrics = tuple(
        check_metric(
            each, base.metrics.get(each), now.metrics.get(each), wanted[each], is_comparable
        )
        for each in METRICS
        if each in base.metrics or each in now.metrics
    )
    operators = _operators(base, now, wanted["operator"], is_comparable)
    failed = [one.name for one in metrics if one.verdict in FAILED]
    if "operator" in limits:
        failed += [one.figure.name for one in operators if one.figure.verdict in FAILED]
    steps = now.metrics["step"].runs
    return Check(
        name=name,
        base_runs=len(base.metrics["step"].runs),
        now_runs=len(steps),
        now_steps=sum(run.steps for run in steps),
        time=now.time,
        metrics=metrics,
        operators=operators,
        differences=differences,
        failed=tuple(failed),
    )


def differing(base: Recorded, now: Recorded) -> Iterator[Difference]:
    """Yield the circumstances that differ; one that either does not have is not compared."""
    for name in Recorded.__struct_fields__:
        before, after = getattr(base, name), getattr(now, name)
        optional = before in (None, ()) or after in (None, ())
        if before == after or (optional and name != "options"):
            continue
        yield Difference(name, _words(before), _words(after), name not in _OTHER_MACHINE)


def _words(value: object) -> str:
    return ", ".join(value) or "-" if isinstance(value, tuple) else str(value)


def check_metric(
    name: MetricName, base: Metric | None, now: Metric | None, limit: Limit, is_comparable: bool
) -> Checked:
    """Return the verdict on one metric; one that only one side has cannot be judged."""
    if base is None or now is None:
        there = base or now
        assert there is not None
        value = _average(there.runs)
        sides = (value, None) if now is None else (None, value)
        return _missing(name, there.unit, *sides)
    if base.unit == "count":
        return _check_count(name, base, now, limit)
    bound = None if base.bound is None or now.bound is None else base.bound + now.bound
    is_time = base.unit == "ns"
    judged = _Judged(base.runs, now.runs, bound, limit, "least" if is_time else "median")
    return judged.checked(name, base.unit, is_comparable or not is_time)


def _check_count(name: str, base: Metric, now: Metric, limit: Limit) -> Checked:
    """Compare counts: the median step of the new runs against those of all base runs."""
    usual = sorted(run.median for run in base.runs)
    counts = sorted(run.median for run in now.runs)
    before, after = usual[len(usual) // 2], counts[len(counts) // 2]
    allowed = limit.of(before)
    verdict: Verdict = "less" if after < usual[0] else "ok"
    if after > usual[-1] + allowed:
        verdict = "more"
    share = after / before - 1 if before else None
    return Checked(
        name, "count", before, after, after - before, share, None, 0, allowed, verdict, None
    )


def check_budget(name: str, unit: Unit, budget: float, now: Metric | None) -> Checked:
    """Return the verdict on a metric that may be at most ``budget``.

    A time or size exceeds it if the median does, and the quickest step of each run as well.
    """
    if now is None:
        return _missing(name, unit, budget, None)
    value = _average(now.runs)
    share = value / budget - 1 if budget else None
    verdict: Verdict = "ok"
    doubt: Doubt | None = None
    if now.bound is None:
        verdict, doubt = "cannot_tell", "no_bound"
    elif value > budget:
        least = min(run.median if unit == "count" else run.least for run in now.runs)
        verdict = "slower" if unit == "ns" else "more"
        if least - now.bound <= budget:
            verdict, doubt = "cannot_tell", "bound" if least > budget else "quickest_steps"
    return Checked(
        name, unit, budget, value, value - budget, share, None, now.bound, 0.0, verdict, doubt
    )


def _missing(name: str, unit: Unit, base: float | None, now: float | None) -> Checked:
    """Return a figure that only one side has."""
    return Checked(name, unit, base, now, None, None, None, None, 0.0, "cannot_tell", "missing")


class _Judged(Struct, frozen=True):
    """Two samples of runs of a figure with noise, and what decides."""

    base: Sequence[StepFigure]
    now: Sequence[StepFigure]
    bound: int | None
    limit: Limit
    decides: Statistic
    """The statistic that must exceed the noise. That of times is the quickest step."""
    comparisons: int = 1

    def checked(self, name: str, unit: Unit, is_comparable: bool) -> Checked:
        median = change_of_runs(self.base, self.now, "median", self.comparisons)
        sure = change_of_runs(self.base, self.now, self.decides, self.comparisons)
        verdict, doubt = self._verdict(median, sure, unit == "ns")
        if not is_comparable:
            verdict, doubt = "cannot_tell", "circumstances"
        return Checked(
            name=name,
            unit=unit,
            base=median.base,
            now=median.now,
            change=median.change,
            change_share=median.change / median.base if median.base else None,
            noise=sure.noise,
            bound=self.bound,
            limit=self.limit.of(median.base),
            verdict=verdict,
            doubt=doubt,
        )

    def _verdict(self, median: Change, sure: Change, is_time: bool) -> tuple[Verdict, Doubt | None]:
        if self.bound is None:
            return "cannot_tell", "no_bound"
        limit = self.limit.of(sure.base)
        uncertain = sure.noise + self.bound
        is_more = median.change > self.limit.of(median.base)
        if is_more and sure.change > limit:
            if sure.change > uncertain:
                return ("slower" if is_time else "more"), None
            return "cannot_tell", ("bound" if sure.change <= self.bound else "noise")
        if is_more:
            return "cannot_tell", "quickest_steps"
        if sure.change + uncertain > limit and uncertain > limit:
            return "cannot_tell", ("bound" if self.bound > limit else "noise")
        if max(median.change, sure.change) < 0 and -sure.change > max(uncertain, limit):
            return ("faster" if is_time else "less"), None
        return "ok", None


def _average(runs: Sequence[StepFigure]) -> float:
    return sum(run.median for run in runs) / len(runs)


def _operators(
    base: Workload, now: Workload, limit: Limit, is_comparable: bool
) -> tuple[CheckedOperator, ...]:
    """Return the operators of either side; the base has no times of its ``others``."""
    names = dict.fromkeys([*now.operators, *base.operators])
    both = sum(name in base.operators and name in now.operators for name in names)
    is_comparable = is_comparable and base.time == now.time
    found = []
    for name in names:
        old, new = base.operators.get(name), now.operators.get(name)
        found.append(
            CheckedOperator(
                figure=_operator(name, old, new, limit, max(both, 1), is_comparable),
                status=_status(name in base.operators or name in base.others, new is not None),
                base_calls=old.calls if old else None,
                now_calls=new.calls if new else None,
                base_launches=old.launches if old else None,
                now_launches=new.launches if new else None,
                where=(new.where if new else None) or (old.where if old else None),
            )
        )
    return tuple(sorted(found, key=lambda one: -abs(_change_of(one.figure))))


def _status(was: bool, is_now: bool) -> Status:
    if was:
        return "both" if is_now else "gone"
    return "new"


def _change_of(figure: Checked) -> float:
    return (figure.now or 0.0) - (figure.base or 0.0)


def _operator(
    name: str,
    old: Operator | None,
    new: Operator | None,
    limit: Limit,
    comparisons: int,
    is_comparable: bool,
) -> Checked:
    if old is None or new is None:
        there = old or new
        assert there is not None
        sides = (None, _average(there.runs)) if old is None else (_average(there.runs), None)
        return _missing(name, "ns", *sides)
    bound = None if old.bound is None or new.bound is None else old.bound + new.bound
    judged = _Judged(old.runs, new.runs, bound, limit, "least", comparisons)
    return judged.checked(name, "ns", is_comparable)
