"""Where the time of the step goes: by operator, kernel, module class, function or annotation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.kernel_names import name_fields
from tb_privateuse1.analysis.kernels import time_groups
from tb_privateuse1.analysis.kernels.time_groups import By, Groups, Label
from tb_privateuse1.analysis.operators import totals
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.steps.breakdown import KINDS
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import device_times, groupby, sum_bounds, uncertainty
from tb_privateuse1.trace.columns import lookup, positions
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.renamed import renamed
from tb_privateuse1.trace.table import I32, I64, Bools
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import StepOption, WindowOption, chosen_window


class Hotspot(Struct, frozen=True):
    """The device activities of one operator, kernel, module class, function or annotation.

    Without device times it is operators, by their own time on the host.
    """

    name: str | None
    """Null for what belongs to none."""
    full_name: str | None
    """Of a kernel: as its compiler wrote it; null if that is ``name``."""
    launcher: str | None
    """Of activities that no operator launched: the call that did, such as that of a graph's replay;
    null if it is not known, and unless grouped by operator."""
    kind: str
    """``operator``, ``module``, ``line``, ``annotation``, or of a kernel's row its kind."""
    events: int
    """The number of activities, or of operators."""
    total_ns: int
    """Sum of their durations: that of the pages of operators, kernels and modules."""
    step_ns: int
    """The part of it in steps."""
    bound_ns: int | None
    """How far off ``step_ns`` may be; 0 if measured."""
    share: float | None
    """``step_ns`` as a share of the steps' time. More than 1 is possible: streams overlap."""
    operator: str | None
    """Of a kernel: the operator, or without one the call, that launched most of ``step_ns``."""
    function: str | None
    """The function of the program with most of ``step_ns``; null unless recorded."""
    function_share: float | None
    """The part of ``step_ns`` of that function; null without one."""

    line = renamed("line", "function")
    line_share = renamed("line_share", "function_share")


class OtherHotspots(Struct, frozen=True):
    """The groups beyond ``limit``: not in the rows, but in all sums."""

    rows: int
    events: int
    total_ns: int
    step_ns: int
    share: float | None
    """``step_ns`` as a share of the steps' time."""


class Hotspots(Result, frozen=True):
    """The result of the lookup."""

    provenance: Provenance
    rows: tuple[Hotspot, ...]
    """By most time in steps. Each activity is in one row."""
    total_rows: int
    others: OtherHotspots | None
    measure: Literal["device", "host"]
    """Whose time it is: the device's, or without device times the host's."""
    groups: tuple[By, ...]
    """The groups that the recording has names for."""
    window_ns: int
    """The length of the window: ``share`` is of it."""
    total_ns: int
    step_ns: int
    """Sums over all rows."""


class _Items(Struct, frozen=True):
    """Device activities or operators, with their groups and times."""

    groups: Groups
    operators: Groups | None
    """None unless a row is a kernel."""
    functions: Groups | None
    """None without functions, and if a row is one."""
    rows: I64 | None
    """Rows of ``trace.ops``; None of activities, which are all."""
    step: I32
    ns: I64
    bound_ns: I64
    error_group: I32 | I64

    def chosen(self, part: Window) -> Bools:
        """Return which items a window has."""
        return part.kernels if self.rows is None else part.ops[self.rows]


def hotspots(
    trace: Trace,
    *,
    by: Annotated[By, "what a row is"] = "operator",
    step: StepOption = None,
    window: WindowOption = "steady",
    limit: Annotated[int, "at most this many rows"] = 10,
) -> Hotspots:
    """The groups with the most time in the steps, as shares of the steps' time.

    Raises TraceError ``unknown_step`` or ``bad_option``.
    """
    if limit < 0:
        raise TraceError("bad_option", say("limit must be at least {least}.", least=0))
    part = chosen_window(trace, step, window)
    items = _activities(trace, by) if len(trace.kernels) else _operators(trace, by)
    n = len(items.groups.labels)
    member = np.where(items.chosen(part), items.groups.member, NONE)
    inside = np.where(items.step >= 0, member, NONE)
    events = groupby.sums(member, np.ones(len(member), np.int64), n)
    total, in_steps = (groupby.sums(of, items.ns, n) for of in (member, inside))
    order = np.lexsort((-total, -in_steps))
    order = order[events[order] > 0]
    shown, rest = order[:limit], order[limit:]
    window_ns = part.ns
    return Hotspots(
        provenance=provenance(trace, part),
        rows=_rows(items, shown, inside, events, total, in_steps, window_ns),
        total_rows=len(order),
        others=OtherHotspots(
            rows=len(rest),
            events=int(events[rest].sum()),
            total_ns=int(total[rest].sum()),
            step_ns=int(in_steps[rest].sum()),
            share=_share(int(in_steps[rest].sum()), window_ns),
        )
        if len(rest)
        else None,
        measure="device" if len(trace.kernels) else "host",
        groups=time_groups.available_groups(trace),
        window_ns=window_ns,
        total_ns=int(total.sum()),
        step_ns=int(in_steps.sum()),
    )


def _rows(
    items: _Items,
    shown: I64,
    inside: I64,
    events: I64,
    total: I64,
    in_steps: I64,
    window_ns: int,
) -> tuple[Hotspot, ...]:
    """Return the rows of the groups ``shown``; ``inside`` is each item's group in the steps."""
    place = lookup(positions(shown, len(items.groups.labels)), inside, NONE).astype(np.int64)
    bounds = sum_bounds.sum_bounds(place, items.bound_ns, items.error_group, max(len(shown), 1))
    operators = _with_most(place, items.ns, items.operators)
    functions = _with_most(place, items.ns, items.functions)
    rows = []
    for k, i in enumerate(shown.tolist()):
        operator, _ = operators.get(k, (None, 0))
        function, function_ns = functions.get(k, (None, 0))
        rows.append(
            Hotspot(
                **_names(items.groups.labels[i]),
                events=int(events[i]),
                total_ns=int(total[i]),
                step_ns=int(in_steps[i]),
                bound_ns=uncertainty.known_bound(bounds[k]),
                share=_share(int(in_steps[i]), window_ns),
                operator=operator,
                function=function,
                function_share=(
                    None if function is None else _share(function_ns, int(in_steps[i]))
                ),
            )
        )
    return tuple(rows)


def _with_most(place: I64, ns: I64, groups: Groups | None) -> dict[int, tuple[str | None, int]]:
    """Return by place the name of the group with the most time of it, and that time."""
    rows = np.flatnonzero((place >= 0) & (ns > 0))
    if groups is None or not len(rows):
        return {}
    first, pair = groupby.group_rows(place[rows], groups.member[rows])
    time = groupby.sums(pair, ns[rows], len(first))
    at, member = place[rows[first]], groups.member[rows[first]]
    order = np.lexsort((member, -time, at))
    _, best = np.unique(at[order], return_index=True)
    names = {}
    for k in order[best].tolist():
        label = groups.labels[member[k]]
        names[int(at[k])] = (label.name or label.launcher, int(time[k]))
    return names


def _names(label: Label) -> dict[str, Any]:
    named: dict[str, Any] = {"name": None, "full_name": None}
    if label.name is not None:
        named = name_fields(label.name, kernel=label.kind in KINDS)
    return {**named, "launcher": label.launcher, "kind": label.kind}


def _share(ns: int, window: int) -> float | None:
    return ns / window if window else None


def _activities(trace: Trace, by: By) -> _Items:
    kernels = trace.kernels
    return _Items(
        time_groups.activity_groups(trace, by),
        time_groups.activity_groups(trace, "operator") if by == "kernel" else None,
        time_groups.activity_groups(trace, "function") if _has_functions(trace, by) else None,
        None,
        kernels.step,
        kernels.end_ns - kernels.start_ns,
        device_times.known_bounds(trace, kernels.duration_bound_ns),
        kernels.error_group,
    )


def _has_functions(trace: Trace, by: By) -> bool:
    return by != "function" and "function" in time_groups.available_groups(trace)


def _operators(trace: Trace, by: By) -> _Items:
    """Return the operators that tables count, by their own host time, which is measured."""
    rows = np.flatnonzero(groupby.counted_operators(trace))

    def groups_by(key: By) -> Groups:
        found = time_groups.operator_groups(trace, key)
        return Groups(found.labels, found.member[rows])

    none = np.zeros(len(rows), np.int64)
    return _Items(
        groups_by(by),
        None,
        groups_by("function") if _has_functions(trace, by) else None,
        rows,
        trace.ops.step[rows],
        totals.own(trace).host_ns[rows],
        none,
        none - 1,
    )
