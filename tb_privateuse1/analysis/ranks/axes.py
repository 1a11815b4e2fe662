"""Join the process groups of all ranks, and sort them into axes of parallelism.

An axis is found by, in order: the framework's description of the group (``axis_names``); its ranks,
if these are all; the calls in it: messages alone are a pipeline, and all-to-alls that give a rank
other sizes than it sends route tokens to experts. Other groups are an axis by size and stride: data
and tensor parallelism have the same calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.ranks.axis_names import AxisKind, axis_kinds, same_axis
from tb_privateuse1.analysis.ranks.collectives import MatchedCalls, RankPart, Shape
from tb_privateuse1.analysis.ranks.group_parts import MESSAGES
from tb_privateuse1.trace import process_groups
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.process_groups import ProcessGroup, Run
from tb_privateuse1.trace.table import HALF_INT64, I32, I64, Bools

Evidence = Literal["description", "ranks", "collectives", "structure", "none"]
Placement = Literal["node", "across", "unknown"]

_KERNEL_ONLY = "send_recv"
"""The kind of a message whose arguments are not recorded: only the kernel's name is."""
_BEYOND = HALF_INT64 - 1
"""A rank that no group has, for numbers of any size that a file may claim."""


class Group(Struct, frozen=True):
    """A process group of the run."""

    name: str
    purpose: str
    size: int | None
    runs: tuple[Run, ...] | None
    parts: I64
    """The places of its ranks among the parts; without ``runs`` those with calls."""
    placement: Placement


class Axis(Struct, frozen=True):
    """Groups that divide the ranks along one axis, or that are all that is known to be alike."""

    kinds: tuple[AxisKind, ...]
    evidence: Evidence
    description: str
    size: int | None
    stride: int | None
    """Where it is the evidence: a described axis may have irregular groups."""
    is_world: bool


class RunGroups(Struct, frozen=True):
    """All groups of a run with two or more ranks."""

    groups: tuple[Group, ...]
    axes: tuple[Axis, ...]
    axis: I32
    """The axis of each group."""
    of_call: I32
    """The group of each of ``MatchedCalls``."""
    of_label: Mapping[tuple[int, str, bool], int]
    """The group by part, name, and whether the call is a message without arguments."""

    def of_shapes(self, part: RankPart, number: int, shapes: I32) -> I32:
        """Return the groups of some of a part's shapes."""
        labels = [part.shapes[i].label for i in shapes.tolist()]
        keys = [(number, one.group, one.kind == _KERNEL_ONLY) for one in labels]
        return np.array([self.of_label[key] for key in keys], np.int32)

    def of_all_shapes(self, parts: Sequence[RankPart]) -> I32:
        """Return the group of each shape of all parts, one part after the other."""
        found = [
            self.of_label[number, shape.label.group, shape.label.kind == _KERNEL_ONLY]
            for number, part in enumerate(parts)
            for shape in part.shapes
        ]
        return np.array(found, np.int32)


def find_groups(
    parts: Sequence[RankPart], numbers: Sequence[int], calls: MatchedCalls, world: int | None
) -> RunGroups:
    """Return the groups of these parts, whose ranks are ``numbers``, and their axes."""
    table = _Table(parts)
    of_call = table.of_calls(calls)
    ranks = np.array([min(one, _BEYOND) for one in numbers], np.int64)
    groups = table.groups(ranks, of_call, calls)
    axes, axis = _axes(groups, parts, calls, of_call, world)
    return RunGroups(groups, axes, axis, of_call, table.of_label)


class _Table:
    """The distinct groups of all parts. The same name with other ranks is another group."""

    def __init__(self, parts: Sequence[RankPart]) -> None:
        self._parts = parts
        self._known: dict[tuple[str, tuple[Run, ...] | int | None], int] = {}
        self._found: list[ProcessGroup] = []
        self.of_label: dict[tuple[int, str, bool], int] = {}
        self._labels: dict[int, dict[tuple[str, bool], Shape]] = {}
        for number, part in enumerate(parts):
            self._add(number, part)

    def _add(self, number: int, part: RankPart) -> None:
        own = {group.name: group for group in part.by_group.groups}
        shared = [group for group in own.values() if (group.size or 0) > 1]
        for group in shared:
            self._index(group)
        pipelines = [group for group in shared if axis_kinds(group.purpose) == ("pipeline",)]
        for (name, plain), shape in self._labels_of(part).items():
            known = own.get(name)
            if known is None and not name:
                known = _only(pipelines if plain else shared)
            purpose = shape.label.purpose if shape.label.purpose != "undefined" else ""
            group = known or ProcessGroup(name, purpose, shape.group_size, None)
            self.of_label[number, name, plain] = self._index(group)

    def _labels_of(self, part: RankPart) -> dict[tuple[str, bool], Shape]:
        """Return a shape of each label; most ranks share one tuple of shapes."""
        found = self._labels.get(id(part.shapes))
        if found is None:
            found = {(s.label.group, s.label.kind == _KERNEL_ONLY): s for s in part.shapes}
            self._labels[id(part.shapes)] = found
        return found

    def _index(self, group: ProcessGroup) -> int:
        key = group.name, group.runs if group.runs is not None else group.size
        if key not in self._known:
            self._known[key] = len(self._found)
            self._found.append(group)
        return self._known[key]

    def of_calls(self, calls: MatchedCalls) -> I32:
        """Return the group of each call."""
        used = [(shape.label.group, shape.label.kind == _KERNEL_ONLY) for shape in calls.shapes]
        place = {label: i for i, label in enumerate(dict.fromkeys(used))}
        by_shape = [place[label] for label in used]
        by_part = np.zeros((len(self._parts), max(len(place), 1)), np.int32)
        for (part, name, plain), group in self.of_label.items():
            by_part[part, place[name, plain]] = group
        found: I32 = by_part[calls.rank, np.array([*by_shape, 0], np.int32)[calls.shape]]
        return found

    def groups(self, numbers: I64, of_call: I32, calls: MatchedCalls) -> tuple[Group, ...]:
        """Return the groups with their members among the ranks that are here."""
        hosts = [part.hostname for part in self._parts]
        pairs = np.unique(of_call.astype(np.int64) << 32 | calls.rank)
        edges = np.searchsorted(pairs >> 32, np.arange(1, len(self._found)))
        callers = np.split(pairs & 0xFFFFFFFF, edges)
        return tuple(
            _group(one, own, numbers, hosts) for one, own in zip(self._found, callers, strict=False)
        )


def _only(groups: Sequence[ProcessGroup]) -> ProcessGroup | None:
    """Return the first group if all have the same known ranks: a call without a name is theirs."""
    distinct = {group.runs for group in groups}
    return groups[0] if len(distinct) == 1 and groups[0].runs is not None else None


def _group(group: ProcessGroup, callers: I64, numbers: I64, hosts: Sequence[str | None]) -> Group:
    parts, size = callers, group.size
    if group.runs is not None:
        parts = np.flatnonzero(process_groups.members(group.runs, numbers))
    own = {hosts[i] for i in parts.tolist()}
    placement: Placement = "unknown"
    if None not in own and len(own) > 1:
        placement = "across"
    elif None not in own and len(own) == 1 and len(parts) == size:
        placement = "node"
    return Group(group.name, group.purpose, size, group.runs, parts, placement)


class _Uses(Struct, frozen=True):
    """The evidence of calls, by group."""

    calls: I64
    messages: I64
    routes: Bools
    """Whether a rank receives other sizes than it sends."""


def _uses(parts: Sequence[RankPart], calls: MatchedCalls, of_call: I32, groups: int) -> _Uses:
    kinds = [shape.label.kind in MESSAGES for shape in calls.shapes]
    is_message = np.array([*kinds, False], np.bool_)[calls.shape]
    routes = np.zeros(groups, np.bool_)
    first = np.cumsum([0, *(len(part.calls.step) for part in parts)]).tolist()
    for part, at in zip(parts, first, strict=False):
        own = part.by_group
        if len(own.exchange_call):
            uneven = (own.sent_bytes != own.received_bytes) & (own.sent_bytes != MISSING)
            uneven &= own.received_bytes != MISSING
            routes[of_call[at + own.exchange_call[uneven]]] = True
    count = np.bincount(of_call, minlength=groups)
    return _Uses(count, np.bincount(of_call[is_message], minlength=groups), routes)


def _axes(
    groups: tuple[Group, ...],
    parts: Sequence[RankPart],
    calls: MatchedCalls,
    of_call: I32,
    world: int | None,
) -> tuple[tuple[Axis, ...], I32]:
    uses = _uses(parts, calls, of_call, len(groups))
    found: dict[Axis, int] = {}
    axis = np.zeros(len(groups), np.int32)
    for i, group in enumerate(groups):
        one = _axis(group, uses, i, world)
        axis[i] = found.setdefault(one, len(found))
    return tuple(found), axis


def _axis(group: Group, uses: _Uses, at: int, world: int | None) -> Axis:
    runs = group.runs
    stride = process_groups.stride_of(runs) if runs is not None else None
    is_world = group.size is not None and group.size == world
    if kinds := axis_kinds(group.purpose):
        return Axis(kinds, "description", same_axis(group.purpose), group.size, None, is_world)
    if runs is None and not group.name:
        return Axis((), "none", "", group.size, None, False)
    if is_world:
        return Axis((), "ranks", "", group.size, stride, True)
    if uses.messages[at] and uses.messages[at] == uses.calls[at]:
        return Axis(("pipeline",), "collectives", "", group.size, stride, False)
    if uses.routes[at]:
        return Axis(("expert",), "collectives", "", group.size, stride, False)
    return Axis((), "structure", "", group.size, stride, False)
