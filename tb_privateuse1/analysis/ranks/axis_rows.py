"""Sum calls and exposed communication by axis of parallelism, by process group and by node.

Times are means over ranks of each rank's mean per step, so that the exposed times of all axes sum
to the ranks' mean exposed communication.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.ranks.axes import Axis, Evidence, Group, Placement
from tb_privateuse1.analysis.ranks.axis_names import AxisKind
from tb_privateuse1.analysis.ranks.collectives import MatchedCalls
from tb_privateuse1.analysis.ranks.group_sums import GroupSums, RunFigures
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import process_groups
from tb_privateuse1.trace.table import I32, I64


class AxisRow(Struct, frozen=True):
    """The process groups of one axis; times are per rank and step."""

    axis: str
    kinds: tuple[AxisKind, ...]
    """Empty if nothing recorded says what the axis is for."""
    evidence: Evidence
    """How it is found: ``description`` of the group, ``ranks`` (all of them), ``collectives`` in
    it, ``structure`` (size and stride alone); ``none``: calls without a group."""
    description: str | None
    """The framework's, where it is the evidence."""
    groups: int
    size: int | None
    """Ranks in a group; null if it is not known, or differs."""
    stride: int | None
    ranks: int
    """Ranks with a trace in these groups."""
    placement: Placement
    """Whether every group is within a ``node``, or one is ``across`` nodes, by their host names."""
    collectives: tuple[str, ...]
    """Kinds of calls, those with the most time first."""
    calls: int
    matched: int
    call_ns: int | None
    """The calls; those at the same time count each. The sum of transferring and waiting."""
    exposed_ns: int | None
    """What no computation hides. Of calls at the same time, the first one has it."""
    transferring_ns: int | None
    synchronizing_ns: int | None
    bytes: int | None
    """Per rank and step, as the NCCL tests count them."""
    bus_bytes_per_s: float | None
    slowest_group: str | None
    """The ranks of the group with the longest transfers; null if all take the same time."""
    slowest_ns: int | None
    """Its transfers, and ..."""
    median_ns: int | None
    """... those of the median group."""


class GroupRow(Struct, frozen=True):
    """A process group; times are per member and step."""

    name: str
    axis: str
    description: str | None
    ranks: str | None
    """In short: ``0-7``, ``0-24:8``; null if they are not known."""
    size: int | None
    members: int
    """Ranks of it with a trace."""
    placement: Placement
    calls: int
    matched: int
    call_ns: int | None
    exposed_ns: int | None
    transferring_ns: int | None
    synchronizing_ns: int | None
    bytes: int | None
    bus_bytes_per_s: float | None


def axis_rows(run: RunFigures, by_group: GroupSums) -> tuple[AxisRow, ...]:
    """Return the axes, those with the most exposed communication first."""
    found = run.groups
    if not found.axes:
        return ()
    by_axis = by_group.by(found.axis, len(found.axes))
    kinds = _kinds(run.calls, found.axis[found.of_call], len(found.axes))
    counted = run.counted_steps()
    rows = [
        _axis_row(
            axis,
            np.flatnonzero(found.axis == at).tolist(),
            at,
            run,
            by_axis,
            by_group,
            kinds[at],
            int((counted > 0).sum()),
        )
        for at, axis in enumerate(found.axes)
    ]
    return tuple(sorted(rows, key=lambda row: (-(row.exposed_ns or 0), -(row.call_ns or 0))))


def group_rows(run: RunFigures, by_group: GroupSums, most: int) -> tuple[GroupRow, ...]:
    """Return the process groups, at most ``most``: those with the most time in calls."""
    groups, axes = run.groups.groups, run.groups.axes
    counted = run.counted_steps()
    order = np.argsort(-by_group.call_ns, kind="stable")[:most]
    return tuple(
        _group_row(groups[i], axes[run.groups.axis[i]], by_group, i, counted)
        for i in order.tolist()
    )


def axis_title(axis: Axis) -> str:
    """Return the name of an axis in words."""
    if axis.kinds:
        names = {
            "data": say("Data"),
            "tensor": say("Tensor"),
            "pipeline": say("Pipeline"),
            "expert": say("Expert"),
            "context": say("Context"),
        }
        return " × ".join(names[kind] for kind in axis.kinds)
    if axis.is_world:
        return say("All ranks")
    if axis.size is None:
        return say("Unknown group")
    if axis.evidence == "none":
        return say("Unknown groups of {size}", size=axis.size)
    if axis.stride is None:
        return say("Groups of {size}", size=axis.size)
    if axis.stride == 1:
        return say("Groups of {size} neighbors", size=axis.size)
    return say("Groups of {size}, stride {stride}", size=axis.size, stride=axis.stride)


def _kinds(calls: MatchedCalls, axis: I32, axes: int) -> list[tuple[str, ...]]:
    """Return by axis the kinds of its calls, those with the most time first."""
    kinds = list(dict.fromkeys(shape.label.kind for shape in calls.shapes))
    of_shape = [kinds.index(shape.label.kind) for shape in calls.shapes]
    kind = np.array([*of_shape, 0], np.int64)[calls.shape]
    total = np.bincount(axis * len(kinds) + kind, calls.duration_ns, axes * len(kinds))
    count = np.bincount(axis * len(kinds) + kind, minlength=axes * len(kinds))
    return [
        tuple(
            kinds[i]
            for i in np.argsort(-times, kind="stable").tolist()
            if count[at * len(kinds) + i]
        )
        for at, times in enumerate(total.reshape(axes, len(kinds)))
    ]


def _mean(total: float, ranks: int) -> int | None:
    return None if not ranks or np.isnan(total) else round(total / ranks)


def _axis_row(
    axis: Axis,
    own: list[int],
    at: int,
    run: RunFigures,
    by_axis: GroupSums,
    by_group: GroupSums,
    kinds: tuple[str, ...],
    ranks: int,
) -> AxisRow:
    groups = [run.groups.groups[i] for i in own]
    waits = bool(by_axis.matched[at])
    slowest = _slowest(groups, own, by_group, run.counted_steps())
    return AxisRow(
        axis=axis_title(axis),
        kinds=axis.kinds,
        evidence=axis.evidence,
        description=axis.description or None,
        groups=len({group.runs or group.name for group in groups}),
        size=axis.size,
        stride=_stride(groups),
        ranks=len(np.unique(np.concatenate([group.parts for group in groups]))),
        placement=_placement(groups),
        collectives=kinds,
        calls=int(by_axis.calls[at]),
        matched=int(by_axis.matched[at]),
        call_ns=_mean(by_axis.call_ns[at], ranks),
        exposed_ns=_mean(by_axis.exposed_ns[at], ranks),
        transferring_ns=_mean(by_axis.transferring_ns[at], ranks) if waits else None,
        synchronizing_ns=(
            _mean(by_axis.call_ns[at] - by_axis.transferring_ns[at], ranks) if waits else None
        ),
        bytes=_mean(by_axis.bytes[at], ranks) if by_axis.sized[at] else None,
        bus_bytes_per_s=by_axis.bus_bytes_per_s(at),
        slowest_group=slowest[0],
        slowest_ns=slowest[1],
        median_ns=slowest[2],
    )


def _stride(groups: Sequence[Group]) -> int | None:
    strides = {process_groups.stride_of(group.runs) if group.runs else None for group in groups}
    return strides.pop() if len(strides) == 1 else None


def _placement(groups: Sequence[Group]) -> Placement:
    found = {group.placement for group in groups}
    if "across" in found:
        return "across"
    return "node" if found == {"node"} else "unknown"


def _slowest(
    groups: Sequence[Group], own: Sequence[int], by_group: GroupSums, counted: I64
) -> tuple[str | None, int | None, int | None]:
    """Return ranks and transfers of the slowest group, and the median; None without two groups."""
    times: dict[int, int] = {}
    for group, i in zip(groups, own, strict=True):
        mean = _mean(by_group.transferring_ns[i], int((counted[group.parts] > 0).sum()))
        if by_group.matched[i] and mean is not None:
            times[i] = mean
    if len(set(times.values())) < 2:
        return None, None, None
    worst = max(times, key=lambda i: times[i])
    group = groups[own.index(worst)]
    name = process_groups.text_of(group.runs) if group.runs else group.name
    return name, times[worst], round(float(np.median([*times.values()])))


def _group_row(group: Group, axis: Axis, by_group: GroupSums, at: int, counted: I64) -> GroupRow:
    ranks = int((counted[group.parts] > 0).sum())
    waits = bool(by_group.matched[at])
    waited = by_group.call_ns[at] - by_group.transferring_ns[at]
    return GroupRow(
        name=group.name,
        axis=axis_title(axis),
        description=group.purpose or None,
        ranks=None if group.runs is None else process_groups.text_of(group.runs),
        size=group.size,
        members=len(group.parts),
        placement=group.placement,
        calls=int(by_group.calls[at]),
        matched=int(by_group.matched[at]),
        call_ns=_mean(by_group.call_ns[at], ranks),
        exposed_ns=_mean(by_group.exposed_ns[at], ranks),
        transferring_ns=_mean(by_group.transferring_ns[at], ranks) if waits else None,
        synchronizing_ns=_mean(waited, ranks) if waits else None,
        bytes=_mean(by_group.bytes[at], ranks) if by_group.sized[at] else None,
        bus_bytes_per_s=by_group.bus_bytes_per_s(at),
    )
