"""The figures of a workload that a repository keeps, and how they are made of several runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field

from tb_privateuse1.analysis.comparison.rows import Time
from tb_privateuse1.analysis.comparison.run_figures import (
    METRICS,
    UNITS,
    MetricName,
    Recorded,
    RunFigures,
    Unit,
)
from tb_privateuse1.analysis.comparison.run_operators import RunOperator
from tb_privateuse1.analysis.comparison.step_figures import StepFigure
from tb_privateuse1.analysis.operators.function_names import ProgramFunction


class Metric(Struct, frozen=True):
    """A metric of all runs."""

    unit: Unit
    bound: int | None
    """The largest error bound of any step: 0 if measured, None if one is not known."""
    runs: tuple[StepFigure, ...]


class Operator(Struct, frozen=True):
    """An operator in all runs: its own time per step in ns, its calls and device activities."""

    bound: int | None
    calls: float
    launches: float
    runs: tuple[StepFigure, ...]
    where: ProgramFunction | None = None


class Workload(Struct, frozen=True):
    """The figures of several runs of one program."""

    recorded: Recorded
    time: Time
    """Whether operators have device times, or the host's."""
    metrics: Mapping[MetricName, Metric]
    operators: Mapping[str, Operator]
    """Those with the most time, which cover 95 % of it in one of the runs."""
    others: tuple[str, ...] = ()
    """The names of all other operators."""
    version: str = ""
    """Of the program that made the figures."""


class Baseline(Struct, frozen=True):
    """The workloads of a file, by name."""

    workloads: Mapping[str, Workload] = field(default_factory=dict)


def summarize_runs(
    runs: Sequence[RunFigures], version: str = "", also: Collection[str] = ()
) -> Workload:
    """Return the figures of runs of one program; metrics that a run lacks are left out.

    ``also`` names operators to list however little time they have.
    """
    first = runs[0]
    metrics = {
        name: Metric(
            UNITS[name],
            _greatest([run.metrics[name].bound for run in runs]),
            tuple(run.metrics[name].figure for run in runs),
        )
        for name in METRICS
        if all(name in run.metrics for run in runs)
    }
    names = dict.fromkeys(name for run in runs for name in run.operators)
    top = [
        name
        for name in names
        if name in also or any(r.operators[name].is_top for r in runs if name in r.operators)
    ]
    operators = {name: _operator([run.operators.get(name) for run in runs]) for name in top}
    order = sorted(top, key=lambda name: -sum(run.median for run in operators[name].runs))
    return Workload(
        recorded=first.recorded,
        time=first.time,
        metrics=metrics,
        operators={name: operators[name] for name in order},
        others=tuple(sorted(set(names) - set(top))),
        version=version,
    )


def _operator(runs: Sequence[RunOperator | None]) -> Operator:
    there = [run for run in runs if run is not None]
    steps = there[0].time.steps
    return Operator(
        bound=_greatest([run.bound for run in there]),
        calls=sum(run.calls for run in there) / len(runs),
        launches=sum(run.launches for run in there) / len(runs),
        runs=tuple(StepFigure(steps, 0, 0, 0, 0, 0) if r is None else r.time for r in runs),
        where=next((run.where for run in there if run.where), None),
    )


def _greatest(bounds: Sequence[int | None]) -> int | None:
    known = [bound for bound in bounds if bound is not None]
    return max(known) if len(known) == len(bounds) else None
