"""Explain the change of the step between two traces: reasons that sum to it, with a rest.

Each reason owns the cells (``time_cells``) of its group, so no time counts twice. A group is a
reason if its change exceeds the noise of the steps and the bounds of inferred times. All other
groups are the rest.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.account import bounds as account_bounds
from tb_privateuse1.analysis.account.classes import ClassName
from tb_privateuse1.analysis.account.classification import KINDS
from tb_privateuse1.analysis.account.table import has_account
from tb_privateuse1.analysis.comparison import significance
from tb_privateuse1.analysis.comparison.reason_groups import Group, Groups, ReasonKind, group_cells
from tb_privateuse1.analysis.comparison.reason_texts import Texts
from tb_privateuse1.analysis.comparison.significance import Sample, Verdict
from tb_privateuse1.analysis.comparison.time_cells import Cells, Side, divide
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import F64, I64

_MOST = 12
"""Reasons; the rest has the smaller ones."""

_LEAST = 0.01
"""A reason's change as a share of the changes of all groups, whatever their signs."""


class Reason(Struct, frozen=True):
    """A part of the change of the step; times are per step."""

    kind: ReasonKind
    sentence: str
    time_class: ClassName
    base_ns: int
    now_ns: int
    change_ns: int
    change_share: float | None
    """The change as a share of the change of the step; null if that is 0."""
    noise_ns: int | None
    bound_ns: int | None
    verdict: Verdict
    """``longer`` or ``shorter``; ``unknown`` with fewer than two steps of either trace."""
    base_calls: float | None
    now_calls: float | None
    """Kernels, copies or calls of the host per step; null where nothing is counted."""
    operator: str | None
    """The operator with the most of it, which is a row of the comparison by operators."""
    event: str | None
    """The name of the call, the copy or the frame with the most of it."""


class Explanation(Struct, frozen=True):
    """Why the step changed: the reasons and the rest sum to ``change_ns``."""

    change_ns: int
    reasons: tuple[Reason, ...]
    """The largest change first."""
    rest_ns: int
    rest_noise_ns: int | None
    rest_groups: int
    """Parts of the step that are in the rest: their changes are small, or within the noise."""
    batch: tuple[str, str] | None
    """The first dimension of most inputs that have other shapes, in the base and now."""


def explain_change(
    base: Trace,
    now: Trace,
    base_steps: I64,
    now_steps: I64,
    times: tuple[intervals.Set, intervals.Set],
    *,
    repeats: bool = False,
) -> Explanation | None:
    """Return the reasons for the change between the chosen steps, rows of each trace's ``steps``.

    Of the steps, ``times`` count: those of the base and those of ``now``. ``repeats`` says that the
    n-th steps of both are of the same name.
    None without steps, or where the device's times of a trace are not known.
    """
    if not (len(base_steps) and len(now_steps) and has_account(base) and has_account(now)):
        return None
    cells = divide(base, now, base_steps, now_steps, times)
    groups = _join_small_speeds(cells, _split_opposites(cells, group_cells(cells), repeats))
    old, new = _samples(cells, groups.of_cell, len(groups.keys))
    spread = significance.noise(old, new, repeats=repeats)
    changes = _Changes(old, new, spread, _bounds(cells, groups))
    chosen = changes.chosen()
    rest = np.full(len(groups.keys) + 1, 0)
    rest[chosen] = NONE
    left = _samples(cells, rest[groups.of_cell], 1)
    whole = _mean_length(now, now_steps, times[1]) - _mean_length(base, base_steps, times[0])
    texts = Texts(cells, groups)
    reasons = tuple(_reason(texts, changes, groups.keys[group], group, whole) for group in chosen)
    noise = significance.noise(*left, repeats=repeats)
    return Explanation(
        change_ns=whole,
        reasons=reasons,
        rest_ns=whole - sum(reason.change_ns for reason in reasons),
        rest_noise_ns=None if noise is None else round(float(noise[0])),
        rest_groups=len(groups.keys) - len(chosen),
        batch=groups.inputs.size if groups.inputs.is_batch else None,
    )


def _mean_length(trace: Trace, steps: I64, time: intervals.Set) -> int:
    rows = trace.steps
    length = intervals.covered_length(time, rows.start_ns[steps], rows.end_ns[steps])
    return round(float(length.sum()) / len(steps))


def _samples(cells: Cells, group: I64, groups: int) -> tuple[Sample, Sample]:
    old, new = (
        significance.sample_row(group[side.cell], side.step, side.ns, groups, len(side.steps))
        for side in (cells.base, cells.now)
    )
    return old, new


class _Changes(Struct, frozen=True):
    """The change of each group."""

    old: Sample
    new: Sample
    noise: F64 | None
    bound_ns: F64
    """nan where it is not known."""

    def verdict(self, group: int) -> tuple[Verdict, int | None, int | None]:
        """Return the verdict on a group, its noise and its bound."""
        noise, bound = self.noise, self.bound_ns[group]
        spread = None if noise is None else round(float(noise[group]))
        error = None if np.isnan(bound) else round(float(bound))
        change = round(float(self.new.mean[group])) - round(float(self.old.mean[group]))
        return significance.verdict(change, spread, error), spread, error

    def chosen(self) -> list[int]:
        """Return the groups that are reasons, the largest change first."""
        change = self.new.mean - self.old.mean
        size = np.abs(change)
        order = np.argsort(-size, kind="stable")
        found = []
        for group in order[size[order] >= _LEAST * max(float(size.sum()), 1)].tolist():
            verdict, noise, bound = self.verdict(group)
            unsure = verdict == "unknown" and noise is None and bound is not None
            if verdict in ("longer", "shorter") or unsure:
                found.append(group)
        return found[:_MOST]


def _bounds(cells: Cells, groups: Groups) -> F64:
    """Return by group the bounds of both sides; nan where one is not known."""
    total = np.zeros(len(groups.keys))
    on_device = np.array([one.time_class in KINDS for one in groups.keys], np.bool_)
    for side in (cells.base, cells.now):
        device = side.bounds(groups.of_cell, len(groups.keys)).astype(np.float64)
        idle = _idle_bounds(side, groups)
        bound = np.where(on_device, device, idle)
        total += np.where(bound == float(MISSING), np.nan, bound)
    return total


def _idle_bounds(side: Side, groups: Groups) -> F64:
    bounds = account_bounds.step_bounds(side.trace)
    means = {
        name: float(MISSING) if (ns[side.steps] == MISSING).any() else float(ns[side.steps].mean())
        for name, ns in bounds.items()
    }
    return np.array([means[one.time_class] for one in groups.keys])


def _split_opposites(cells: Cells, groups: Groups, repeats: bool) -> Groups:
    """Split off the cells that change significantly, and against the sign of their group.

    Half precision, say, is faster in products and slower in an operator without a kernel for it.
    """
    old, new = _samples(cells, groups.of_cell, len(groups.keys))
    whole = (new.mean - old.mean)[groups.of_cell]
    old, new = _samples(cells, np.arange(len(cells.keys)), len(cells.keys))
    own, noise = new.mean - old.mean, significance.noise(old, new, repeats=repeats)
    mixed = np.isin(groups.of_cell, [i for i, k in enumerate(groups.keys) if k.kind in _MIXED])
    split = mixed & (own * whole < 0) & (np.abs(own) > (0 if noise is None else noise))
    number = {key: i for i, key in enumerate(groups.keys)}
    of_cell = groups.of_cell.copy()
    for cell in np.flatnonzero(split).tolist():
        key = replace(groups.keys[of_cell[cell]], is_opposite=True)
        of_cell[cell] = number.setdefault(key, len(number))
    return Groups(list(number), of_cell, groups.inputs)


_MIXED: tuple[ReasonKind, ...] = ("types", "shapes", "device")
_OWN = 0.05
"""A unit at another speed is a reason of its own with this share of the changes of all groups."""


def _join_small_speeds(cells: Cells, groups: Groups) -> Groups:
    """Join the units at another speed that change little: all together may be much."""
    old, new = _samples(cells, groups.of_cell, len(groups.keys))
    size = np.abs(new.mean - old.mean)
    least = _OWN * float(size.sum())
    number: dict[Group, int] = {}
    into = np.empty(len(groups.keys), np.int64)
    for i, group in enumerate(groups.keys):
        is_small = group.kind == "speed" and size[i] < least
        key = Group("speed", time_class=group.time_class) if is_small else group
        into[i] = number.setdefault(key, len(number))
    return Groups(list(number), into[groups.of_cell], groups.inputs)


def _reason(texts: Texts, changes: _Changes, key: Group, group: int, whole_ns: int) -> Reason:
    verdict, noise, bound = changes.verdict(group)
    before, after = round(float(changes.old.mean[group])), round(float(changes.new.mean[group]))
    words = texts.of(key, group, before, after)
    return Reason(
        kind=key.kind,
        sentence=words.sentence,
        time_class=key.time_class,
        base_ns=before,
        now_ns=after,
        change_ns=after - before,
        change_share=(after - before) / whole_ns if whole_ns else None,
        noise_ns=noise,
        bound_ns=bound,
        verdict=verdict,
        base_calls=words.calls[0],
        now_calls=words.calls[1],
        operator=words.operator,
        event=words.event,
    )
