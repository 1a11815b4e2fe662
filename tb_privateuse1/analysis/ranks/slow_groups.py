"""Find process groups whose transfers take longer than those of sibling groups."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.ranks.job import Job
from tb_privateuse1.analysis.ranks.slow_units import (
    compare_units,
    mean_with_bound,
    without_hiccups,
)
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import F64, I64

_LEAST_SHARE = 0.1
"""The least excess as a share of the siblings' transfers."""


class SlowGroup(Struct, frozen=True):
    """A process group with slow transfers; times are per step."""

    group: str
    rows: I64
    excess_ns: float
    bound_ns: float
    cost_ns: float
    steps: int
    of_steps: int
    p_value: float


def find_slow_groups(job: Job, error_rate: float, floor_ns: float) -> list[SlowGroup]:
    """Return groups that transfer at least ``floor_ns`` per step longer than their siblings.

    Siblings make the same kinds and sizes of calls in groups of the same size. The transfer is what
    the last rank to come takes (``MatchedCalls``), so that slow ranks have no effect. A group with
    a rank that is not recorded is compared with, and not named: if that rank comes last, what the
    others take is their wait for it.
    """
    members = job.members()
    partial = _partly_recorded(job, members)
    siblings = [names for names in _siblings(job).values() if len(names) > 1]
    transfers = _transfers(job)
    tests = sum(map(len, siblings))
    exposed = job.by_step(np.where(job.steps.exposed_ns == MISSING, 0, job.steps.exposed_ns))
    found = []
    for family in siblings:
        names, values = _matched(family, transfers)
        common = (values > 0).all(axis=0)
        compared = compare_units(values[:, common])
        if compared is None:
            continue
        typical = without_hiccups(compared.excess_ns)
        usual = np.median(values[:, common])
        p_value = np.minimum(compared.p_value * tests, 1.0)
        chosen = (p_value <= error_rate) & compared.stands_out & (typical > _LEAST_SHARE * usual)
        for i in np.flatnonzero(chosen).tolist():
            if names[i] in partial:
                continue
            rows, excess = members[names[i]], compared.excess_ns[i]
            hidden = float(np.median(np.nanmean(exposed[rows], axis=1)))
            cost = min(float(typical[i]), hidden)
            if cost < floor_ns:
                continue
            mean, bound = mean_with_bound(excess)
            late = int((excess > 0).sum())
            found.append(
                SlowGroup(names[i], rows, mean, bound, cost, late, len(excess), float(p_value[i]))
            )
    return found


def _matched(names: list[str], transfers: dict[str, F64]) -> tuple[list[str], F64]:
    """Return the groups, and their transfers, without those matched in fewer steps than most.

    A rank that misses a collective leaves its group few matched calls, or none.
    """
    values = np.stack([transfers[name] for name in names])
    steps = (values > 0).sum(axis=1)
    kept = steps >= np.median(steps)
    return [name for name, is_kept in zip(names, kept, strict=True) if is_kept], values[kept]


def _partly_recorded(job: Job, members: Mapping[str, I64]) -> set[str]:
    """Return the groups that have more ranks than are recorded."""
    return {
        shape.label.group
        for shape in job.calls.shapes
        if len(members.get(shape.label.group, ())) < (shape.group_size or 0)
    }


def _siblings(job: Job) -> dict[Hashable, list[str]]:
    """Return the names of the groups with the same kinds and sizes of calls."""
    made: dict[str, set[Hashable]] = {}
    for shape in job.calls.shapes:
        label = shape.label
        if label.group:
            call = (label.kind, label.purpose, label.on_host, shape.group_size, shape.bytes)
            made.setdefault(label.group, set()).add(call)
    found: dict[Hashable, list[str]] = {}
    for name, calls in made.items():
        found.setdefault(frozenset(calls), []).append(name)
    return found


def _transfers(job: Job) -> dict[str, F64]:
    """Return by group the transfers of its matched calls in each step that counts."""
    calls, steps = job.calls, job.steps
    names, group = job.group_numbers()
    used = calls.last & (calls.match >= 0) & (calls.row >= 0)
    used[used] = job.counted[calls.row[used]]
    columns = np.unique(steps.step[job.counted])
    column = np.searchsorted(columns, calls.step[used])
    total = np.bincount(
        group[calls.shape[used]] * len(columns) + column,
        calls.transfer_ns[used],
        minlength=len(names) * len(columns),
    ).reshape(len(names), len(columns))
    return dict(zip(names, total, strict=True))
