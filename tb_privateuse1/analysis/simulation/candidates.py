"""List what-if candidates: operators, calls, functions and classes on the critical path."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account.classes import CLASSES, NAMES, NUMBER
from tb_privateuse1.analysis.account.host_activity import KERNELS, LAUNCHES, OPS
from tb_privateuse1.analysis.operators import kinds_of_work
from tb_privateuse1.analysis.operators.groups import name_categories
from tb_privateuse1.analysis.simulation import scopes
from tb_privateuse1.analysis.simulation.changes import Kind
from tb_privateuse1.analysis.simulation.launches_and_waits import Ranges
from tb_privateuse1.analysis.simulation.path_classes import Path
from tb_privateuse1.analysis.simulation.scopes import Scope
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.intervals import lanes
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I32, I64

_FUNCTIONS = 40
"""Functions of Python with the most time of their own on the path; there may be thousands."""


class Candidate(Struct, frozen=True):
    """A change that may gain, and its time on the path over the chosen steps."""

    kind: Kind
    name: str
    on_path_ns: int

    @property
    def text(self) -> str:
        """The change as the user writes it, without a factor."""
        return f"{self.kind}:{self.name}" if self.name else self.kind


def candidates(trace: Trace, path: Path) -> list[Candidate]:
    """Return the items with time on the path, the most time first."""
    found = [Candidate(*one) for one in _candidates(trace, path)]
    return sorted(found, key=lambda one: -one.on_path_ns)


def scope_on_path(path: Path, scope: Scope) -> int:
    """Return the path's time in the ranges and the activities of a scope."""
    spent = path.end_ns - path.start_ns
    ran = np.flatnonzero(np.isin(path.time_class, _RAN))
    total = round(float((spent[ran] * scope.kernels[path.row[ran]]).sum()))
    own = scope.ranges.covered()
    pieces = Ranges(path.thread.astype(np.int32), path.start_ns, path.end_ns)
    for axis in lanes(
        *((one.thread, at) for one in (own, pieces) for at in (one.start_ns, one.end_ns))
    ):
        total += int(intervals.covered_length(own.on(axis), *pieces.on(axis)).sum())
    return total


def _candidates(trace: Trace, path: Path) -> Iterator[tuple[Kind, str, int]]:
    """Yield the items with time on the path: kind, name, ns over the chosen steps."""
    spent = path.end_ns - path.start_ns
    row, device = _operators(trace, path)
    known = row >= 0
    name = lookup(trace.ops.name, row, NONE)
    inner = dict(_sums(name[known], spent[known]))
    outer = _outermost(trace, row[known])
    around = dict(_sums(trace.ops.name[outer], spent[known]))
    works: dict[str, int] = {}
    kinds = name_categories(trace)
    for n in {**inner, **around}:
        yield "operator", trace.text(n), max(inner.get(n, 0), around.get(n, 0))
    for n, ns in inner.items():
        kind = kinds_of_work.KINDS[kinds[n]]
        works[kind] = works.get(kind, 0) + ns
    for word, ns in works.items():
        yield "category", word, ns
    for n, ns in _sums(trace.kernels.name[path.row[device]], spent[device]):
        yield "kernel", trace.text(n), ns
    calls = np.flatnonzero((path.table == LAUNCHES) & (path.row >= 0))
    for n, ns in _sums(trace.launches.name[path.row[calls]], spent[calls]):
        yield "call", trace.text(n), ns
    yield from _functions(trace, path)
    classes = scopes.has_time(trace)
    for number, ns in _sums(path.time_class.astype(np.int64), spent):
        if NAMES[number] in classes:
            yield "class", NAMES[number], ns
    yield from _others(path)


def _functions(trace: Trace, path: Path) -> Iterator[tuple[Kind, str, int]]:
    """Yield the functions in which the path's threads spend time, without the functions inside."""
    frames = trace.frames
    inside = np.zeros(len(frames), np.int64)
    for thread, rows in groupby.split_by_value(path.thread):
        if thread == NONE or not len(frames):
            continue
        times = intervals.union(path.start_ns[rows], path.end_ns[rows])
        own = np.flatnonzero(frames.thread == thread)
        inside[own] = intervals.covered_length(times, frames.start_ns[own], frames.end_ns[own])
    spent = np.maximum(groupby.without_children(frames.parent, inside), 0)
    found = sorted(_sums(frames.name, spent), key=lambda one: -one[1])
    for n, ns in found[:_FUNCTIONS]:
        yield "function", trace.text(n), ns


def _others(path: Path) -> Iterator[tuple[Kind, str, int]]:
    spent = path.end_ns - path.start_ns
    ns = {name: int(spent[path.time_class == i].sum()) for i, name in enumerate(NAMES)}
    whole: tuple[tuple[Kind, int], ...] = (
        ("communication", ns["exposed_communication"]),
        ("copies", ns["exposed_copy"]),
        ("data_loader", ns["input"]),
        ("launches", ns["launch_call"] + ns["launch_latency"]),
        ("synchronization", _behind_waits(path)),
    )
    yield from ((kind, "", most) for kind, most in whole if most)


def _behind_waits(path: Path) -> int:
    """Return the path's time on the device if it returns to the host.

    Removing waits saves no more than this.
    """
    if not np.isin(path.time_class, _WAITS).any():
        return 0
    device = (path.table == KERNELS) & (path.time_class != NUMBER["before_recording"])
    return int((path.end_ns - path.start_ns)[device].sum())


def _outermost(trace: Trace, rows: I64) -> I64:
    """Return the outermost operator around each operator, or itself."""
    ops = trace.ops
    works = (ops.kind == OPERATOR) & ~np.isin(ops.name, trace.steps.name)
    up = np.where(lookup(works, ops.parent, False), ops.parent, np.arange(len(ops)))
    while (up[up] != up).any():
        up = up[up]
    return up[rows]


def _operators(trace: Trace, path: Path) -> tuple[I64, I64]:
    """Return the operator of each piece (or ``NONE``), and which pieces are activities."""
    launches, kernels = trace.launches, trace.kernels
    row = np.full(len(path), NONE)
    of_ops = (path.table == OPS) & (path.time_class == NUMBER["dispatch"])
    row[of_ops] = path.row[of_ops]
    calls = path.table == LAUNCHES
    row[calls] = launches.op[path.row[calls]]
    device = np.flatnonzero((path.table == KERNELS) & np.isin(path.time_class, _RAN))
    row[device] = kernels.op[path.row[device]]
    return row, device


_RAN = [NUMBER[one.name] for one in CLASSES if one.group == "device"]
_WAITS = [NUMBER["synchronization"], NUMBER["blocking_copy"]]


def _sums(names: I64 | I32, spent: I64) -> list[tuple[int, int]]:
    if not len(names):
        return []
    total = sums(names, spent, int(names.max()) + 1)
    return [(int(n), int(total[n])) for n in np.flatnonzero(total)]
