"""Match operators that replaced others between two traces, by the calls around them.

Units that both traces call equally often are the fixed points. A segment of other calls between two
fixed points stands for the segment between the same two in the other trace: ``bmm, softmax, bmm``
between two products and one ``flash_attention`` between the same products are one change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.comparison.call_places import PlacedWork, Places
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64, Bools

Units = tuple[int, ...]


class Change(Struct, frozen=True):
    """The units of some work in both traces: equal ones are the same work, none are new or gone."""

    base: Units
    now: Units

    @property
    def is_same_work(self) -> bool:
        """Return whether the same unit is called equally often."""
        return self.base == self.now and len(self.base) == 1


class Matches(Struct, frozen=True):
    """The change that each row of work belongs to: an index into ``changes``, or ``NONE``."""

    changes: list[Change]
    base: I64
    now: I64


class _Sequence(Struct, frozen=True):
    """Calls of units in the chosen steps, in order of their begin."""

    unit: I64
    step: I64
    of_row: I64
    """By row of work the index of its call, ``NONE`` outside of the steps."""
    calls: I64
    """By unit."""
    steps: int


_Context = tuple[int, int]
_Counts = Mapping[int, float]
"""Calls per step by unit."""


def match_calls(places: Places, base_steps: I64, now_steps: I64) -> Matches:
    """Return the changes between the calls of the chosen steps (rows of each trace's steps)."""
    units = len(places.names)
    old = _sequence(places.base, base_steps, units)
    new = _sequence(places.now, now_steps, units)
    fixed = _fixed(old, new)
    before, after = _between(old, fixed), _between(new, fixed)
    number: dict[Change, int] = {}
    base, now = (
        _of_rows(one, between, other, one is old, number)
        for one, between, other in ((old, before, after), (new, after, before))
    )
    into, changes = _joined(list(number), (old.calls == 0) | (new.calls == 0))
    return Matches(changes, lookup(into, base, NONE), lookup(into, now, NONE))


def _sequence(work: PlacedWork, steps: I64, units: int) -> _Sequence:
    inside = np.flatnonzero((work.unit >= 0) & np.isin(work.step, steps))
    first, call = groupby.group_rows(work.unit[inside], work.call[inside], work.step[inside])
    rows = inside[first]
    order = np.lexsort((work.call[rows], work.order_ns[rows], work.step[rows]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    of_row = np.full(len(work.unit), NONE)
    of_row[inside] = place[call]
    unit = work.unit[rows[order]]
    return _Sequence(
        unit, work.step[rows[order]], of_row, np.bincount(unit, minlength=units), len(steps)
    )


def _fixed(old: _Sequence, new: _Sequence) -> Bools:
    """Return the units that both traces call as often in a step, but for single calls."""
    before, after = old.calls / max(old.steps, 1), new.calls / max(new.steps, 1)
    fixed: Bools = (old.calls > 0) & (new.calls > 0) & (np.rint(before) == np.rint(after))
    return fixed


class _Between(Struct, frozen=True):
    """The segments of calls between two fixed points, and the units in each."""

    cells: list[tuple[_Context, int]]
    """A segment, by the fixed units at its ends, and a unit in it."""
    of_call: I64
    """By call the index of its cell, ``NONE`` for a fixed point."""
    units: dict[_Context, dict[int, float]]
    """Calls per step."""


def _between(one: _Sequence, fixed: Bools) -> _Between:
    n = len(one.unit)
    anchor, at = fixed[one.unit], np.arange(n)
    before = np.maximum.accumulate(np.where(anchor, at, NONE))
    behind = np.minimum.accumulate(np.where(anchor, at, n)[::-1])[::-1]
    start, end = (
        np.where(lookup(one.step, near, NONE) == one.step, lookup(one.unit, near, NONE), NONE)
        for near in (before, behind)
    )
    free = np.flatnonzero(~anchor)
    first, group = groupby.group_rows(start[free], end[free], one.unit[free])
    count = np.bincount(group, minlength=len(first)) / max(one.steps, 1)
    rows = free[first]
    cells = [
        ((a, b), u)
        for a, b, u in zip(
            start[rows].tolist(), end[rows].tolist(), one.unit[rows].tolist(), strict=True
        )
    ]
    units: dict[_Context, dict[int, float]] = defaultdict(dict)
    for (context, own), calls in zip(cells, count.tolist(), strict=True):
        units[context][own] = calls
    of_call = np.full(n, NONE)
    of_call[free] = group
    return _Between(cells, of_call, units)


def _of_rows(
    one: _Sequence, own: _Between, other: _Between, is_base: bool, number: dict[Change, int]
) -> I64:
    """Return the number of the change of each row of work."""
    of_unit = np.full(len(one.calls) + 1, NONE)
    for unit in groupby.distinct_values(one.unit[own.of_call < 0]).tolist():
        of_unit[unit] = number.setdefault(Change((unit,), (unit,)), len(number))
    of_cell = np.full(len(own.cells) + 1, NONE)
    for cell, (context, unit) in enumerate(own.cells):
        change = _change(unit, own.units[context], other.units.get(context, {}), is_base)
        of_cell[cell] = number.setdefault(change, len(number))
    of_call = np.where(own.of_call >= 0, of_cell[own.of_call], of_unit[one.unit])
    return lookup(of_call, one.of_row, NONE)


def _change(unit: int, own: _Counts, other: _Counts, is_base: bool) -> Change:
    """Return the change of a unit between two fixed points of its trace and of the other one."""
    same = {u for u in own if u in other and round(own[u]) == round(other[u])}
    if unit in same:
        return Change((unit,), (unit,))
    here, there = (tuple(sorted(side.keys() - same)) for side in (own, other))
    if not there or here == there:
        return Change((), (unit,))
    return Change(here, there) if is_base else Change(there, here)


def _joined(changes: list[Change], alone: Bools) -> tuple[I64, list[Change]]:
    """Join the changes that share a unit which one of the traces lacks (``alone``).

    The same rewrite has other neighbors in the first and the last of several layers. Returns the
    new number of each change, and the joined changes.
    """
    leader = list(range(len(changes)))

    def top(i: int) -> int:
        while leader[i] != i:
            i = leader[i]
        return i

    first: dict[int, int] = {}
    for i, change in enumerate(changes):
        for unit in (*change.base, *change.now):
            if alone[unit]:
                leader[top(i)] = top(first.setdefault(unit, i))
    members: dict[int, list[int]] = defaultdict(list)
    for i in range(len(changes)):
        members[top(i)].append(i)
    into = np.empty(len(changes), np.int64)
    joined = []
    for number, rows in enumerate(members.values()):
        into[rows] = number
        joined.append(_union([changes[i] for i in rows]))
    return into, joined


def _union(changes: list[Change]) -> Change:
    if len(changes) == 1:
        return changes[0]
    replaced = [change for change in changes if change.base] or changes
    base = {unit for change in replaced for unit in change.base}
    now = {unit for change in replaced for unit in change.now}
    return Change(tuple(sorted(base)), tuple(sorted(now)))
