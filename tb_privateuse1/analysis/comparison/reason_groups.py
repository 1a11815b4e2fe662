"""Group the differences of two traces by cause (new, gone, fused, slower …): one per reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.account.classes import CLASSES, NUMBER, ClassName
from tb_privateuse1.analysis.comparison.changed_calls import Change
from tb_privateuse1.analysis.comparison.changed_inputs import InputChanges, input_changes
from tb_privateuse1.analysis.comparison.conditions import device_models
from tb_privateuse1.analysis.comparison.time_cells import Cell, Cells, Side
from tb_privateuse1.analysis.operators import kinds_of_work
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.table import I64

ReasonKind = Literal[
    "types",
    "shapes",
    "device",
    "kernels",
    "speed",
    "compiled",
    "replaced",
    "calls",
    "copies",
    "class",
]
"""What became of some time: the same calls have inputs of other data ``types`` or ``shapes``, run
on another ``device``, run other ``kernels``, or run the same ones at another ``speed``. Or
``compiled`` code or other calls ``replaced`` them, or there are more or fewer ``calls`` or
``copies``. The rest is a ``class`` of the account of time."""


class Group(Struct, frozen=True):
    """Cells with one reason; ``base_units`` and ``now_units`` are places of the work in them."""

    kind: ReasonKind
    base_units: tuple[int, ...] = ()
    now_units: tuple[int, ...] = ()
    values: tuple[str, str] = ("", "")
    """Of ``types`` and ``device`` what it was and is."""
    copy: str = ""
    is_opposite: bool = False
    """It changes against the sign of the others of its kind."""
    time_class: ClassName = "kernel"


class Groups(Struct, frozen=True):
    """The group of each cell, and what is known of changed inputs."""

    keys: list[Group]
    of_cell: I64
    inputs: InputChanges


def group_cells(cells: Cells) -> Groups:
    """Return the groups of the cells."""
    inputs = input_changes(
        cells.base.trace,
        cells.now.trace,
        (cells.places.base, cells.places.now),
        (cells.base.steps, cells.now.steps),
    )
    old, new = device_models(cells.base.trace), device_models(cells.now.trace)
    other_device = (old, new) if old and new and old != new else None
    other_kernels = _other_kernels(cells)
    compiled = _compiled(cells)
    number: dict[Group, int] = {}
    of_cell = np.empty(len(cells.keys), np.int64)
    for i, key in enumerate(cells.keys):
        change = cells.matches.changes[key[2]] if key[2] >= 0 else None
        group = _group(key, change, inputs, other_device, other_kernels)
        if change is not None and compiled and change in compiled[1]:
            group = replace(compiled[0], time_class=key[0])
        of_cell[i] = number.setdefault(group, len(number))
    return Groups(list(number), of_cell, inputs)


def _group(
    key: Cell,
    change: Change | None,
    inputs: InputChanges,
    devices: tuple[str, str] | None,
    other_kernels: set[int],
) -> Group:
    time_class, copy, _ = key
    if change is None:
        kind: ReasonKind = "copies" if copy else "class"
        return Group(kind, copy=copy, time_class=time_class)
    if not change.is_same_work:
        kind = "replaced" if change.base else "calls"
        return Group(kind, change.base, change.now, time_class=time_class)
    (unit,) = change.now
    if unit in inputs.types:
        return Group("types", values=inputs.types[unit], time_class=time_class)
    if unit in inputs.shapes:
        return Group("shapes", time_class=time_class)
    if devices:
        return Group("device", values=devices, time_class=time_class)
    kind = "kernels" if unit in other_kernels else "speed"
    return Group(kind, change.base, change.now, time_class=time_class)


def kernel_times(side: Side, unit: I64) -> Mapping[int, Counter[str]]:
    """Return by unit the device time of each kernel's name in the chosen steps."""
    kernels = side.trace.kernels
    found: dict[int, Counter[str]] = defaultdict(Counter)
    if len(unit) != len(kernels):
        return found
    rows = np.flatnonzero((unit >= 0) & np.isin(kernels.step, side.steps))
    first, group = groupby.group_rows(unit[rows], kernels.name[rows])
    ns = groupby.sums(group, (kernels.end_ns - kernels.start_ns)[rows], len(first))
    for i, time in zip(rows[first].tolist(), ns.tolist(), strict=True):
        found[int(unit[i])][side.trace.text(kernels.name[i])] += time
    return found


def _other_kernels(cells: Cells) -> set[int]:
    """Return the units with most of their time in kernels that the other trace lacks."""
    old = kernel_times(cells.base, cells.places.base.unit)
    new = kernel_times(cells.now, cells.places.now.unit)
    found = set()
    for unit in old.keys() & new.keys():
        lost = sum(ns for name, ns in old[unit].items() if name not in new[unit])
        come = sum(ns for name, ns in new[unit].items() if name not in old[unit])
        if 2 * lost > old[unit].total() or 2 * come > new[unit].total():
            found.add(unit)
    return found


def label_of(time_class: ClassName) -> str:
    """Return the label of a class of time."""
    return CLASSES[NUMBER[time_class]].label


def _compiled(cells: Cells) -> tuple[Group, set[Change]] | None:
    """Return the group of compiled code that one trace has, and the changes in it.

    A compiled region takes the place of operators all over the step. So what only the other trace
    has belongs to it, wherever it was.
    """
    there = [
        set(groupby.distinct_values(work.unit[change >= 0]).tolist())
        for work, change in (
            (cells.places.base, cells.matches.base),
            (cells.places.now, cells.matches.now),
        )
    ]
    alone = there[0] - there[1], there[1] - there[0]
    code = [{unit for unit in units if _is_compiled(cells, unit)} for units in alone]
    if bool(code[0]) == bool(code[1]):
        return None
    replaced = alone[0] if code[1] else alone[1]
    own = {
        change
        for change in cells.matches.changes
        if _is_of_compiler(change, code[0] | code[1], replaced)
    }
    units = {unit for change in own for unit in (*change.base, *change.now)}
    base, now = (tuple(sorted(units & side)) for side in there)
    values = ("", "on") if code[1] else ("on", "")
    return Group("compiled", base, now, values), own


def _is_of_compiler(change: Change, code: set[int], replaced: set[int]) -> bool:
    """Return whether a change has compiled code, or only operators that it may have replaced."""
    units = {*change.base, *change.now}
    return bool(units & code) or units <= replaced


def _is_compiled(cells: Cells, unit: int) -> bool:
    vendor = cells.now.trace.vendor
    return any(
        kinds_of_work.kind_of(name, vendor) == "compiled" for name in cells.places.path(unit)
    )
