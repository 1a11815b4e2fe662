"""Write the sentence of a reason: what happened, how often per step, and where to look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account.classes import CLASSES, NUMBER, ClassName
from tb_privateuse1.analysis.account.classification import KINDS
from tb_privateuse1.analysis.account.host_activity import host_activity
from tb_privateuse1.analysis.comparison.call_places import ENGINE
from tb_privateuse1.analysis.comparison.reason_groups import Group, Groups, kernel_times, label_of
from tb_privateuse1.analysis.comparison.time_cells import Cells, Side
from tb_privateuse1.analysis.kernel_names import display_name
from tb_privateuse1.i18n import join_list, plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import groupby, kernel_context
from tb_privateuse1.trace.model import MEMCPY
from tb_privateuse1.trace.table import I64

_NAMES = 3
"""Names in a sentence; the others are counted."""

_COUNTED: tuple[ClassName, ...] = (
    "synchronization", "blocking_copy", "device_memory", "garbage_collection", "other_rank",
    "launch_call",
)  # fmt: skip
"""Classes of the host whose calls are counted."""

_SINGLE, _WORKERS = "_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"
"""torch's iterators of a data loader without and with worker processes."""

Calls = tuple[float | None, float | None]


class Words(Struct, frozen=True):
    """The sentence of a reason, its calls per step in the base and now, and where to look."""

    sentence: str
    calls: Calls
    operator: str | None
    event: str | None


class Texts:
    """The sentences of the groups of two traces."""

    def __init__(self, cells: Cells, groups: Groups) -> None:
        self._cells, self._groups = cells, groups
        self._sides = (cells.base, cells.now)
        self._work = (cells.places.base, cells.places.now)
        self._on_device = cells.places.on_device
        self._change = (cells.matches.base, cells.matches.now)

    def of(self, key: Group, group: int, base_ns: int, now_ns: int) -> Words:
        """Return the words of a group whose time per step is ``base_ns`` and ``now_ns``."""
        if key.kind == "class":
            return self._of_class(key, group, now_ns > base_ns)
        if key.kind == "copies":
            calls = self._copies(key.copy)
            return Words(
                _of_copies(key.copy, calls, _ratio(base_ns, now_ns, calls)), calls, None,
                self._event(group),
            )  # fmt: skip
        calls = self._kernels(group)
        operator = self._operator(group)
        return Words(self._of_work(key, group, calls, base_ns, now_ns), calls, operator, None)

    def _of_work(self, key: Group, group: int, calls: Calls, base_ns: int, now_ns: int) -> str:
        most = (self._operator(group) or "").removeprefix(ENGINE)
        if key.kind == "types":
            old, new = key.values
            return say("Inputs are {now} instead of {base}, most in {name}.", base=old, now=new,
                       name=most)  # fmt: skip
        if key.kind == "shapes":
            return self._shapes(most)
        ratio = _ratio(base_ns, now_ns, calls)
        if key.kind == "device":
            old, new = key.values
            return say("The device is {now} instead of {base}: equal work takes {ratio}.",
                       base=old, now=new, ratio=ratio)  # fmt: skip
        if key.kind == "kernels":
            old, new = (_largest(times[key.now_units[0]]) for times in self._kernel_times)
            return say("{name} runs other kernels, {now} instead of {base}.", base=old, now=new,
                       name=self._label(key.now_units))  # fmt: skip
        if key.kind == "speed":
            return self._speed(self._label(key.now_units), most, ratio)
        return self._other_calls(key, calls)

    def _speed(self, name: str, most: str, ratio: str) -> str:
        """Return the sentence on a unit, or without a name on several units."""
        if name and self._on_device:
            return say("{name}: the same kernels take {ratio}.", name=name, ratio=ratio)
        if name:
            return say("{name}: the same calls take {ratio}.", name=name, ratio=ratio)
        if self._on_device:
            return say("The same kernels of other operators take {ratio}, most {name}.",
                       name=most, ratio=ratio)  # fmt: skip
        return say("The same calls of other operators take {ratio}, most {name}.",
                   name=most, ratio=ratio)  # fmt: skip

    def _other_calls(self, key: Group, calls: Calls) -> str:
        if key.kind == "compiled":
            return self._compiled(key, calls)
        if key.kind == "replaced":
            base, now = key.base_units, key.now_units
            sentence = say("{base} became {now}.", base=self._counted(base, calls[0], now),
                           now=self._counted(now, calls[1], base))  # fmt: skip
        elif not calls[0]:
            sentence = say("{now} is new.", now=self._counted(key.now_units, calls[1]))
        elif not calls[1]:
            sentence = say("{base} is gone.", base=self._counted(key.now_units, calls[0]))
        else:
            name, count = self._label(key.now_units), _from_to(calls)
            sentence = say("{name}: {calls} calls a step.", name=name, calls=count)
            if self._on_device:
                sentence = say("{name}: {calls} kernels a step.", name=name, calls=count)
        return sentence

    def _compiled(self, key: Group, calls: Calls) -> str:
        base, now = (
            self._counted(units, count)
            for units, count in zip((key.base_units, key.now_units), calls, strict=True)
        )
        if not key.base_units:
            return say("Compiled code was added: {now}.", now=now)
        if not key.now_units:
            return say("Compiled code was removed: {base}.", base=base)
        if key.values[1]:
            return say("Compiled code was added: {base} became {now}.", base=base, now=now)
        return say("Compiled code was removed: {base} became {now}.", base=base, now=now)

    def _shapes(self, most: str) -> str:
        inputs = self._groups.inputs
        if inputs.size is None:
            return say("Inputs have other shapes, most in {name}.", name=most)
        old, new = inputs.size
        if inputs.is_batch:
            return say("Batch {base} → {now}, most in {name}.", base=old, now=new, name=most)
        return say("Inputs have a size of {now} instead of {base}, most in {name}.", base=old,
                   now=new, name=most)  # fmt: skip

    def _of_class(self, key: Group, group: int, is_more: bool) -> Words:
        event = self._event(group)
        if key.time_class == "input" and (sentence := self._loader()):
            return Words(sentence, (None, None), None, event)
        calls: Calls = (None, None)
        what: str = label_of(key.time_class)
        if key.time_class in _COUNTED:
            old, new = (_calls_of(side, key.time_class) for side in self._sides)
            calls = old, new
            what = say("{label}, {calls} calls a step", label=what, calls=_from_to(calls))
        if event:
            is_kernel = CLASSES[NUMBER[key.time_class]].group in ("device", "queue", "outside")
            name = display_name(event) if is_kernel else event
            what = say("{what}, most {name}", what=what, name=name)
        if key.time_class in KINDS:
            sentence = say("{what}.", what=what)
        elif is_more:
            sentence = say("More idle time: {what}.", what=what)
        else:
            sentence = say("Less idle time: {what}.", what=what)
        return Words(sentence, calls, None, event)

    def _loader(self) -> str:
        """Return what happened to the data loader's workers; empty if nothing did."""
        before, after = (_has_workers(side) for side in self._sides)
        if before is False and after:
            return say("The data loader got workers: the device waits less for input.")
        if after is False and before:
            return say("The data loader lost its workers: the device waits more for input.")
        return ""

    def _cells_of(self, group: int) -> set[int]:
        return set(np.flatnonzero(self._groups.of_cell == group).tolist())

    def _event(self, group: int) -> str | None:
        """Return the name of the responsible events whose time changes most."""
        found: Counter[str] = Counter()
        for side, sign in zip(self._sides, (-1, 1), strict=True):
            for name, ns in side.names_of(self._cells_of(group)).items():
                found[name] += sign * ns // max(len(side.steps), 1)
        found.pop("", None)
        return max(found, key=lambda name: abs(found[name])) if found else None

    def _rows(self, at: int, group: int) -> I64:
        """Return the rows of work of a group in the chosen steps of a side."""
        change = self._change[at]
        mine = np.array([key[2] for key in self._cells.keys], np.int64)
        wanted = mine[self._groups.of_cell == group]
        return np.flatnonzero((change >= 0) & np.isin(change, wanted))

    def _kernels(self, group: int) -> Calls:
        old, new = (
            len(self._rows(at, group)) / max(len(side.steps), 1)
            for at, side in enumerate(self._sides)
        )
        return old, new

    def _operator(self, group: int) -> str | None:
        """Return the launching operator whose device time changes most."""
        found: Counter[str] = Counter()
        for at, (side, sign) in enumerate(zip(self._sides, (-1, 1), strict=True)):
            rows, trace = self._rows(at, group), side.trace
            if self._on_device:
                table = trace.kernels.take(rows)
                names = kernel_context.operator_names(trace, table)
                ns = table.end_ns - table.start_ns
            else:
                names, ns = trace.ops.name[rows], (trace.ops.end_ns - trace.ops.start_ns)[rows]
            for name, some in groupby.split_by_value(names):
                found[trace.text(name)] += sign * int(ns[some].sum()) // max(len(side.steps), 1)
        found.pop("", None)
        return max(found, key=lambda name: abs(found[name])) if found else None

    @cached_property
    def _kernel_times(self) -> tuple[dict[int, Counter[str]], ...]:
        return tuple(
            dict(kernel_times(side, work.unit))
            for side, work in zip(self._sides, self._work, strict=True)
        )

    def _copies(self, name: str) -> Calls:
        old, new = (_copies(side, name) for side in self._sides)
        return old, new

    def _label(self, units: Iterable[int], others: Iterable[int] = ()) -> str:
        """Return names of units, those with the most time first, and others last."""
        times, names, last = self._unit_times, self._cells.places.names, set(others)
        order = sorted(units, key=lambda unit: (unit in last, -times[unit]))
        every = list(dict.fromkeys(names[unit] for unit in order))
        listed = join_list(every[:_NAMES])
        if len(every) > _NAMES:
            return say("{names} and {count} more", names=listed, count=len(every) - _NAMES)
        return listed

    @cached_property
    def _unit_times(self) -> Counter[int]:
        """Return the time of each unit in both traces."""
        found: Counter[int] = Counter()
        for side, work in zip(self._sides, self._work, strict=True):
            table = side.trace.kernels if self._on_device else side.trace.ops
            rows = np.flatnonzero((work.unit >= 0) & np.isin(work.step, side.steps))
            length = (table.end_ns - table.start_ns)[rows]
            total = groupby.sums(work.unit[rows], length, len(self._cells.places.names))
            found.update(dict(enumerate(total.tolist())))
        return found

    def _counted(
        self, units: Iterable[int], calls: float | None, others: Iterable[int] = ()
    ) -> str:
        """Return names and number of calls; what is not among the others comes first."""
        number = max(round(calls or 0), 1)
        count = plural(number, "kernel") if self._on_device else plural(number, "call")
        return say("{names} ({count} a step)", names=self._label(units, others), count=count)


def _of_copies(name: str, calls: Calls, ratio: str) -> str:
    if calls[0] and calls[1] and round(calls[0]) == round(calls[1]):
        return say("{name}: equally many take {ratio}.", name=name, ratio=ratio)
    return say("{name}: {calls} a step.", name=name, calls=_from_to(calls))


def _ratio(base_ns: int, now_ns: int, calls: Calls) -> str:
    """Return how much longer or shorter equal work takes."""
    if not base_ns or not calls[0] or not calls[1]:
        return say("another time")
    factor = now_ns / base_ns
    if factor >= 2:
        return say("{factor:.1f} times as long", factor=factor)
    if factor >= 1:
        return say("{share} longer", share=percent(factor - 1))
    return say("{share} less time", share=percent(1 - factor))


def _largest(times: Counter[str]) -> str:
    return display_name(times.most_common(1)[0][0])


def _from_to(calls: Calls) -> str:
    return say("{base} → {now}", base=_number(calls[0] or 0), now=_number(calls[1] or 0))


_WITHOUT_DECIMAL = 100
"""From here on a count has three digits without a decimal."""


def _number(value: float) -> str:
    """Return a count per step; a fraction only of small ones."""
    is_short = value < _WITHOUT_DECIMAL and value != round(value)
    return f"{value:,.1f}" if is_short else f"{value:,.0f}"


def _copies(side: Side, name: str) -> float:
    """Return the copies of this display name per step."""
    kernels, trace = side.trace.kernels, side.trace
    rows = np.flatnonzero((kernels.kind == MEMCPY) & np.isin(kernels.step, side.steps))
    names = groupby.split_by_value(kernels.name[rows])
    count = sum(len(some) for text, some in names if display_name(trace.text(text)) == name)
    return count / max(len(side.steps), 1)


def _calls_of(side: Side, time_class: ClassName) -> float:
    """Return the host's calls of a class that begin in a chosen step, per step."""
    start = host_activity(side.trace)[time_class].start_ns
    steps = side.trace.steps.take(side.steps)
    low, high = (
        np.searchsorted(np.sort(start), at) for at in (steps.host_start_ns, steps.host_end_ns)
    )
    return int((high - low).sum()) / max(len(side.steps), 1)


def _has_workers(side: Side) -> bool | None:
    """Return whether the data loader has worker processes; None if no event shows it."""
    names = " ".join(text for text in side.trace.strings if "DataLoaderIter" in text)
    if _WORKERS in names:
        return True
    return False if _SINGLE in names else None
