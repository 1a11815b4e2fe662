"""Time, calls and launches of a recording's operators per step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.comparison.items_per_step import operator_items
from tb_privateuse1.analysis.comparison.rows import Time
from tb_privateuse1.analysis.comparison.step_figures import StepFigure, step_figure
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.analysis.operators.function_names import ProgramFunction
from tb_privateuse1.trace import device_times, sum_bounds
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import MISSING, NONE, UNKNOWN, Trace
from tb_privateuse1.trace.table import I32, I64

_COVERED = 0.95
"""Of the time: the rest are too many operators, each too short to judge."""
_MOST = 40
"""Each has its function looked up. In 90 % of 208 sets of steady steps 40 operators or
fewer cover the time; 71 were the most."""


class RunOperator(Struct, frozen=True):
    """An operator of one run: its own time, its calls and its device activities per step."""

    time: StepFigure
    bound: int | None
    """The error bound of the time of a step, in ns; None if it is not known."""
    calls: float
    launches: float
    is_top: bool
    """Whether it is one of those with most time, which cover 95 % of it."""
    where: ProgramFunction | None
    """The function that calls it most; None without stacks, or if it is no top one."""


def run_operators(trace: Trace, rows: I64, time: Time) -> Mapping[str, RunOperator]:
    """Return the operators that ran in these steps, by the time that the device or host took."""
    found, ops, kernels = operator_items(trace), trace.ops, trace.kernels
    names = [name for name, _ in found.names]
    op_step, kernel_step = (_places(step, rows) for step in (ops.step, kernels.step))
    if time == "device":
        ns, item, step = kernels.end_ns - kernels.start_ns, found.of_kernel, kernel_step
    else:
        ns, item, step = found.own_ns, found.of_op, op_step
    table = _by_step(item, step, ns, len(names), len(rows))
    whole = table.sum(axis=1)
    bounds = _bounds(trace, found.of_kernel, kernel_step, len(names))
    calls = _by_step(found.of_op, op_step, np.ones(len(ops), np.int64), len(names), len(rows))
    launched = np.where(kernels.kind == UNKNOWN, NONE, kernel_step)
    launches = _by_step(
        found.of_kernel, launched, np.ones(len(kernels), np.int64), len(names), len(rows)
    )
    inside = np.flatnonzero(op_step >= 0)
    top = _covering(whole)
    result = {}
    for i in np.flatnonzero((whole > 0) | calls.any(axis=1)).tolist():
        known = time == "host" or bounds[i] != MISSING
        result[names[i]] = RunOperator(
            time=step_figure(table[i]),
            bound=(int(bounds[i]) // len(rows) if time == "device" else 0) if known else None,
            calls=float(calls[i].mean()),
            launches=float(launches[i].mean()),
            is_top=i in top,
            where=(
                user_functions.of_operators(trace, inside[found.of_op[inside] == i])
                if i in top
                else None
            ),
        )
    return result


def _covering(whole: I64) -> set[int]:
    order = np.argsort(-whole, kind="stable")[:_MOST]
    order = order[whole[order] > 0]
    before = np.cumsum(whole[order]) - whole[order]
    return set(order[before < _COVERED * whole.sum()].tolist())


def _places(step: I32, rows: I64) -> I64:
    """Return the place among these steps of each row's step; ``NONE`` elsewhere."""
    place = np.searchsorted(rows, step)
    known = rows[np.minimum(place, len(rows) - 1)] == step
    return np.where(known, place, NONE)


def _by_step(item: I64, step: I64, values: I64, items: int, steps: int) -> I64:
    cell = np.where((item >= 0) & (step >= 0), item * steps + step, NONE)
    return sums(cell, values, items * steps).reshape(items, steps)


def _bounds(trace: Trace, item: I64, step: I64, items: int) -> I64:
    inside = np.where(step >= 0, item, NONE)
    bounds = sum_bounds.duration_sum_bounds(inside, trace.kernels, items)
    return device_times.known_bounds(trace, bounds)
