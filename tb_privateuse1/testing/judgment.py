"""Compare the recorded steps of a test with its performance budget, and with a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from tb_privateuse1 import api
from tb_privateuse1.analysis.comparison.amounts import parse_amount, parse_limit
from tb_privateuse1.analysis.comparison.baseline import Workload, summarize_runs
from tb_privateuse1.analysis.comparison.baseline_check import (
    FAILED,
    Check,
    Checked,
    Limit,
    LimitName,
    check_budget,
    check_workload,
)
from tb_privateuse1.analysis.comparison.run_figures import UNITS, MetricName, run_figures
from tb_privateuse1.export.reports.check import change_line, culprits, format_figure, verdict_text
from tb_privateuse1.storage.baseline_file import read_baseline, write_workload
from tb_privateuse1.testing.budget import Budget, BudgetError
from tb_privateuse1.trace.version import VERSION

_BUDGETS: Mapping[MetricName, str] = {
    "step": "step",
    "device": "device_time",
    "memory": "memory",
    "launches": "launches",
    "synchronizations": "synchronizations",
}
"""The argument of the marker by metric."""

_MOST = 5
"""Operators of a message."""


class Judgment(Struct, frozen=True):
    """The verdict on a test: ``problem`` is None within budget and baseline."""

    problem: str | None
    lines: tuple[str, ...]
    """Each figure in a line."""


def exceeds(traces: Sequence[Path], budget: Budget) -> bool:
    """Return whether a figure exceeds the budget itself; a baseline is not read."""
    workload = _workload(traces)
    return any(one.verdict in FAILED for one in _against_budget(workload, budget))


def judge(
    traces: Sequence[Path],
    budget: Budget,
    baseline: Path | None,
    name: str,
    *,
    is_written: bool = False,
    line_trace: Path | None = None,
) -> Judgment:
    """Return the verdict on the runs of a test; ``is_written`` writes the baseline first.

    Raises TraceError, and BudgetError if the baseline has no such test.
    """
    if baseline is not None and is_written:
        write_workload(baseline, name, _workload(traces))
    base = None if baseline is None else read_baseline(baseline).workloads.get(name)
    if baseline is not None and base is None:
        raise BudgetError(
            f"{baseline} has no workload {name}. Write it: "
            "pytest --profile-budget --profile-baseline-write"
        )
    now = _workload(traces, base)
    found = list(_against_budget(now, budget))
    check = None if base is None else check_workload(name, base, now, _limits(budget))
    if check is not None:
        found += check.metrics
    failed = [one for one in found if one.verdict in FAILED]
    lines = tuple(map(_line, found))
    if not failed:
        return Judgment(None, lines)
    lined = now if line_trace is None else _workload([line_trace])
    parts = [*map(_line, failed), *_operators(check, now, lined)]
    return Judgment("\n".join([*parts, f"trace: {traces[0]}"]), lines)


def _workload(traces: Sequence[Path], base: Workload | None = None) -> Workload:
    runs = [run_figures(api.open_log(path).trace()) for path in traces]
    return summarize_runs(runs, VERSION, base.operators if base else ())


def _against_budget(now: Workload, budget: Budget) -> Iterator[Checked]:
    for metric, argument in _BUDGETS.items():
        wanted = getattr(budget, argument)
        if wanted is not None:
            unit = UNITS[metric]
            most = parse_amount(str(wanted), unit)
            yield check_budget(f"{argument} (budget)", unit, most, now.metrics.get(metric))


def _limits(budget: Budget) -> Mapping[LimitName, Limit]:
    limit = parse_limit(budget.limit, "ns")
    return {"step": limit, "device": limit, "memory": limit}


def _line(one: Checked) -> str:
    if not one.name.endswith("(budget)"):
        return change_line(one)
    now, most = (format_figure(one.unit, value) for value in (one.now, one.base))
    return f"{one.name}: {now} per step, at most {most} is allowed, {verdict_text(one)}"


def _operators(check: Check | None, now: Workload, lined: Workload) -> Iterator[str]:
    """Yield the operators that became slower; without any, those with the most time."""
    slower = list(culprits(check)) if check else []
    for one in slower[:_MOST]:
        yield f"  {change_line(one.figure)}{_place(one.figure.name, lined)}"
    if slower:
        return
    for name, operator in list(now.operators.items())[:_MOST]:
        time = sum(run.median for run in operator.runs) / len(operator.runs)
        yield f"  {name}: {format_figure('ns', time)} of {now.time} time{_place(name, lined)}"


def _place(name: str, lined: Workload) -> str:
    operator = lined.operators.get(name)
    return f", in {operator.where}" if operator is not None and operator.where else ""
