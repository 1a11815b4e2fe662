"""Sum the calls and the exposed communication of each process group over all ranks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.ranks.axes import RunGroups
from tb_privateuse1.analysis.ranks.collectives import MatchedCalls, RankPart
from tb_privateuse1.analysis.ranks.steps import RankSteps
from tb_privateuse1.analysis.work.collectives import bus_factor
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import F64, I32, I64, Bools


class ExposedTimes(Struct, frozen=True):
    """The exposed communication of all ranks, by step and process group, as columns."""

    part: I64
    """The index of the part."""
    row: I64
    """The row of the table of steps."""
    group: I32
    time_ns: I64


class RunFigures(Struct, frozen=True, dict=True):
    """A run's calls, steps and groups."""

    parts: Sequence[RankPart]
    calls: MatchedCalls
    in_step: Bools
    """By call, whether it is in the selected step; all calls if none is selected."""
    steps: RankSteps
    counted: Bools
    """By row of ``steps``, whether means count it."""
    groups: RunGroups

    @functools.cached_property
    def exposed(self) -> ExposedTimes:
        """Return the exposed communication by step and group."""
        own = [part.by_group for part in self.parts]
        part = np.repeat(np.arange(len(own)), [len(one.exposed_step) for one in own])
        first_step = np.cumsum([0, *(len(one.steps.names) for one in self.parts)])
        first_shape = np.cumsum([0, *(len(one.shapes) for one in self.parts)])
        small, large = np.empty(0, np.int32), np.empty(0, np.int64)
        step = np.concatenate([small, *(one.exposed_step for one in own)])
        shape = np.concatenate([small, *(one.exposed_shape for one in own)])
        return ExposedTimes(
            part,
            first_step[part] + step,
            self.groups.of_all_shapes(self.parts)[first_shape[part] + shape],
            np.concatenate([large, *(one.exposed_ns for one in own)]),
        )

    def counted_steps(self) -> I64:
        """Return by part the number of its counted steps."""
        return np.bincount(self.steps.rank[self.counted], minlength=len(self.parts)).astype(
            np.int64
        )


class GroupSums(Struct, frozen=True):
    """Sums by group, or by axis.

    Times and bytes are sums over ranks of a rank's mean per step.
    """

    calls: F64
    matched: F64
    call_ns: F64
    transferring_ns: F64
    exposed_ns: F64
    """NaN if no step's is known."""
    bytes: F64
    sized: F64
    """Calls with known bytes."""
    moved_bytes: F64
    """Bus bytes of all calls, ..."""
    moved_ns: F64
    """... and their time without waiting."""
    matched_bytes: F64
    """The same of the matched calls."""
    matched_ns: F64

    def by(self, key: I32, keys: int) -> GroupSums:
        """Return the sums by a key of the groups."""
        names = self.__struct_fields__
        return GroupSums(**{name: _totals(key, getattr(self, name), keys) for name in names})

    def bus_bytes_per_s(self, at: int) -> float | None:
        """Return the bandwidth of the matched calls; without any, of all calls."""
        for moved, taken in (
            (self.matched_bytes[at], self.matched_ns[at]),
            (self.moved_bytes[at], self.moved_ns[at]),
        ):
            if moved > 0 and taken > 0:
                return float(moved / taken * 1e9)
        return None


def sum_groups(run: RunFigures) -> GroupSums:
    """Return the sums by process group."""
    calls, key, keys = run.calls, run.groups.of_call, len(run.groups.groups)
    weight = np.append(_weights(run.counted, run.steps, len(run.parts)), 0.0)
    share = np.where(lookup(run.counted, calls.row, False), weight[calls.rank], 0.0)
    sizes = [MISSING if shape.bytes is None else shape.bytes for shape in calls.shapes]
    factors = [bus_factor(shape.label.kind, shape.group_size) for shape in calls.shapes]
    size = np.array([*sizes, MISSING], np.int64)[calls.shape]
    factor = np.array([*(f or 0.0 for f in factors), 0.0])[calls.shape]
    known, matched = size != MISSING, calls.match >= 0
    moves = run.in_step & known & (factor > 0) & (calls.transfer_ns > 0)

    def total(values: NDArray[Any]) -> F64:
        return _totals(key, values, keys)

    moved = np.where(moves, size * factor, 0.0)
    taken = np.where(moves, calls.transfer_ns, 0).astype(np.float64)
    return GroupSums(
        calls=total(run.in_step),
        matched=total(run.in_step & matched),
        call_ns=total(calls.duration_ns * share),
        transferring_ns=total(calls.transfer_ns * share),
        exposed_ns=_exposed(run, keys),
        bytes=total(np.where(known, size, 0) * share),
        sized=total(run.in_step & known),
        moved_bytes=total(moved),
        moved_ns=total(taken),
        matched_bytes=total(moved * matched),
        matched_ns=total(taken * matched),
    )


def _totals(key: I32, values: NDArray[Any], keys: int) -> F64:
    found: F64 = np.bincount(key, values, keys).astype(np.float64)
    return found


def _weights(counted: Bools, steps: RankSteps, ranks: int) -> F64:
    """Return by rank one over the number of its counted steps."""
    count = np.bincount(steps.rank[counted], minlength=ranks)
    return np.where(count > 0, 1.0 / np.maximum(count, 1), 0.0)


def _exposed(run: RunFigures, keys: int) -> F64:
    """Return the sums over ranks of the mean exposed time per step; NaN if no step's is known."""
    known = run.counted & (run.steps.exposed_ns != MISSING)
    if not known.any():
        return np.full(keys, np.nan)
    weight = _weights(known, run.steps, len(run.parts))
    own = run.exposed
    fine = known[own.row]
    found = np.zeros(keys)
    np.add.at(found, own.group[fine], own.time_ns[fine] * weight[own.part[fine]])
    return found
