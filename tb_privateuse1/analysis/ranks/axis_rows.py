"""Sum calls and exposed communication by axis of parallelism, by process group and by node.

Times are means over ranks of each rank's mean per step, so that the exposed times of all axes sum
to the ranks' mean exposed communication.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.analysis.ranks.axes import Axis, Evidence, Group, Placement, RunGroups
from tb_privateuse1.analysis.ranks.axis_names import AxisKind
from tb_privateuse1.analysis.ranks.collectives import MatchedCalls, RankPart
from tb_privateuse1.analysis.ranks.steps import RankSteps
from tb_privateuse1.analysis.work.collectives import bus_factor
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import process_groups
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import F64, I32, I64, Bools


@dataclass(frozen=True)
class AxisRow:
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
    synchronising_ns: int | None
    bytes: int | None
    """Per rank and step, as the NCCL tests count them."""
    bus_bytes_per_s: float | None
    slowest_group: str | None
    """The ranks of the group with the longest transfers; null if all take the same time."""
    slowest_ns: int | None
    """Its transfers, and ..."""
    median_ns: int | None
    """... those of the median group."""


@dataclass(frozen=True)
class GroupRow:
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
    synchronising_ns: int | None
    bytes: int | None
    bus_bytes_per_s: float | None


@dataclass(frozen=True)
class RunFigures:
    """What the sums need of a run's calls and steps."""

    parts: Sequence[RankPart]
    calls: MatchedCalls
    steps: RankSteps
    counted: Bools
    """By row of ``steps``, whether means count it."""
    groups: RunGroups


@dataclass(frozen=True)
class _Sums:
    """Sums by key: a group, or an axis. Times and bytes are sums over ranks of means per step."""

    calls: I64
    matched: I64
    call_ns: F64
    transferring_ns: F64
    exposed_ns: F64
    bytes: F64
    sized: I64
    """Calls with known bytes."""
    bus_bytes_per_s: F64
    """NaN where it is not known."""


def axis_rows(run: RunFigures) -> tuple[AxisRow, ...]:
    """Return the axes, those with the most exposed communication first."""
    found = run.groups
    if not found.axes:
        return ()
    by_axis = _sums(run, found.axis, len(found.axes))
    by_group = _sums(run, np.arange(len(found.groups), dtype=np.int32), len(found.groups))
    kinds = _kinds(run.calls, found.axis[found.of_call], len(found.axes))
    counted = _counted_ranks(run)
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


def group_rows(run: RunFigures, most: int) -> tuple[int, tuple[GroupRow, ...]]:
    """Return the number of groups, and the ``most`` groups with the most time in calls."""
    groups = run.groups.groups
    if not groups:
        return 0, ()
    by_group = _sums(run, np.arange(len(groups), dtype=np.int32), len(groups))
    counted = _counted_ranks(run)
    rows = [
        _group_row(group, run.groups.axes[run.groups.axis[i]], by_group, i, counted)
        for i, group in enumerate(groups)
    ]
    order = sorted(range(len(rows)), key=lambda i: -by_group.call_ns[i])
    return len(rows), tuple(rows[i] for i in order[:most])


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


def _counted_ranks(run: RunFigures) -> I64:
    """Return by part the number of its counted steps."""
    return np.bincount(run.steps.rank[run.counted], minlength=len(run.parts)).astype(np.int64)


def _sums(run: RunFigures, key_of_group: I32, keys: int) -> _Sums:
    calls, steps = run.calls, run.steps
    key = key_of_group[run.groups.of_call]
    counted = np.append(run.counted, False)[calls.row]
    # Calls outside of all steps count where a rank has no step.
    weight = np.append(_weights(run.counted, steps, len(run.parts)), 0.0)
    share = np.where(counted, weight[calls.rank], 0.0)
    sizes = np.array([MISSING if s.bytes is None else s.bytes for s in calls.shapes] + [MISSING])
    size = sizes[calls.shape]
    known = size != MISSING

    def total(values: I64) -> F64:
        found: F64 = np.bincount(key, values * share, keys).astype(np.float64)
        return found

    one = np.ones(len(key), np.int64)
    return _Sums(
        calls=sums(np.where(counted, key, NONE), one, keys),
        matched=sums(np.where(counted & (calls.match >= 0), key, NONE), one, keys),
        call_ns=total(calls.duration_ns),
        transferring_ns=total(calls.transfer_ns),
        exposed_ns=_exposed(run, key_of_group, keys),
        bytes=total(np.where(known, size, 0)),
        sized=sums(np.where(counted & known, key, NONE), one, keys),
        bus_bytes_per_s=_bus(calls, np.where(counted & known, key, NONE), size, keys),
    )


def _weights(counted: Bools, steps: RankSteps, ranks: int) -> F64:
    """Return by rank one over the number of its counted steps."""
    count = np.bincount(steps.rank[counted], minlength=ranks)
    return np.where(count > 0, 1.0 / np.maximum(count, 1), 0.0)


def _exposed(run: RunFigures, key_of_group: I32, keys: int) -> F64:
    """Return the sums over ranks of the mean exposed time per step; NaN if no step's is known."""
    known = run.counted & (run.steps.exposed_ns != MISSING)
    if not known.any():
        return np.full(keys, np.nan)
    weight = _weights(known, run.steps, len(run.parts))
    found = np.zeros(keys)
    first = 0
    for number, part in enumerate(run.parts):
        own = part.by_group
        group = run.groups.of_shapes(part, number, own.exposed_shape)
        fine = known[first + own.exposed_step]
        ns = own.exposed_ns[fine] * weight[number]
        found += np.bincount(key_of_group[group[fine]], ns, keys)
        first += len(part.steps.names)
    return found


def _bus(calls: MatchedCalls, key: I32, size: I64, keys: int) -> F64:
    """Return the bandwidth by transfers of matched calls; without any, by whole durations."""
    factors = [bus_factor(s.label.kind, s.group_size) for s in calls.shapes]
    factor = np.array([np.nan if f is None else f for f in factors] + [np.nan])[calls.shape]
    fine = (key >= 0) & ~np.isnan(factor) & (calls.transfer_ns > 0)
    matched = np.bincount(key[fine & (calls.match >= 0)], minlength=keys) > 0
    fine &= (calls.match >= 0) | ~np.append(matched, False)[key]
    moved = np.bincount(key[fine], size[fine] * factor[fine], keys)
    taken = np.bincount(key[fine], calls.transfer_ns[fine], keys)
    return np.where((taken > 0) & (moved > 0), moved / np.maximum(taken, 1) * 1e9, np.nan)


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


def _rate(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _axis_row(
    axis: Axis,
    own: list[int],
    at: int,
    run: RunFigures,
    by_axis: _Sums,
    by_group: _Sums,
    kinds: tuple[str, ...],
    ranks: int,
) -> AxisRow:
    groups = [run.groups.groups[i] for i in own]
    waits = bool(by_axis.matched[at])
    slowest = _slowest(groups, own, by_group, _counted_ranks(run))
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
        synchronising_ns=(
            _mean(by_axis.call_ns[at] - by_axis.transferring_ns[at], ranks) if waits else None
        ),
        bytes=_mean(by_axis.bytes[at], ranks) if by_axis.sized[at] else None,
        bus_bytes_per_s=_rate(by_axis.bus_bytes_per_s[at]),
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
    groups: Sequence[Group], own: Sequence[int], by_group: _Sums, counted: I64
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


def _group_row(group: Group, axis: Axis, by_group: _Sums, at: int, counted: I64) -> GroupRow:
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
        synchronising_ns=_mean(waited, ranks) if waits else None,
        bytes=_mean(by_group.bytes[at], ranks) if by_group.sized[at] else None,
        bus_bytes_per_s=_rate(by_group.bus_bytes_per_s[at]),
    )
