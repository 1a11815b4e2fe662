"""Find ranks that make fewer calls of a collective than the other ranks of its group."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.ranks.chance import p_of_count
from tb_privateuse1.analysis.ranks.collectives import SYMMETRIC, Label
from tb_privateuse1.analysis.ranks.job import Job
from tb_privateuse1.trace.columns import following
from tb_privateuse1.trace.table import F64, I64, Bools

_MOST_MISSED = 0.5
"""If more than this share of a group misses a call in a step, the others make one too many."""


class MissedCalls(Struct, frozen=True):
    """A rank that misses collectives of a group in ``steps`` of ``of_steps``."""

    rows: I64
    others: I64
    """The other members."""
    group: str | None
    steps: int
    of_steps: int
    p_value: float


def find_missed_calls(job: Job, error_rate: float) -> list[MissedCalls]:
    """Return the ranks that miss calls in more steps than by chance.

    By chance, a recording loses events of any rank with the same probability: the share of all
    ranks and steps that lack a call. The number of steps of one rank is then binomial.
    """
    counts = _count(job)
    if counts is None:
        return []
    ranks, steps = len(job.parts), counts.calls.shape[1]
    lacks = np.zeros((ranks, steps), np.bool_)
    label_of = np.zeros(ranks, np.int64)
    for first, end in counts.uneven():
        missed = _lacking(counts.calls[first:end])
        rows = counts.rank[first:end]
        label_of[rows[missed.any(axis=1)]] = counts.label[first]
        lacks[rows] |= missed
    times = lacks.sum(axis=1).astype(np.float64)
    chance = float(lacks.mean())
    if not chance:
        return []
    p_value = np.minimum(p_of_count(times, steps, chance) * ranks, 1.0)
    found = []
    for row in np.flatnonzero(p_value <= error_rate).tolist():
        label = label_of[row]
        members = counts.rank[counts.label == label]
        found.append(
            MissedCalls(
                rows=np.array([row]),
                others=members[members != row],
                group=counts.names[label].group or None,
                steps=int(times[row]),
                of_steps=steps,
                p_value=float(p_value[row]),
            )
        )
    return found


class _Counts(Struct, frozen=True):
    """A row for each label and rank that makes such calls, by label."""

    names: list[Label]
    label: I64
    rank: I64
    calls: F64
    """By step; NaN where the rank lacks the step."""

    def uneven(self) -> list[tuple[int, int]]:
        """Return the first and the last row but one of labels with different numbers of calls."""
        first = np.flatnonzero(np.diff(self.label, prepend=-1))
        low, high = (f.reduceat(self.calls, first, axis=0) for f in (np.fmin, np.fmax))
        end = following(first, len(self.label))
        chosen = (low < high).any(axis=1)
        return list(zip(first[chosen].tolist(), end[chosen].tolist(), strict=True))


def _count(job: Job) -> _Counts | None:
    """Count the calls of each label and rank by step; None without steps or such calls."""
    calls, ranks = job.calls, len(job.parts)
    labels = {one: i for i, one in enumerate(dict.fromkeys(s.label for s in calls.shapes))}
    label = np.array([labels[one.label] for one in calls.shapes] + [0], np.int64)
    fits = np.array([s.label.kind in SYMMETRIC for s in calls.shapes] + [False], np.bool_)
    used = fits[calls.shape] & (calls.row >= 0)
    used[used] = job.counted[calls.row[used]]
    if not used.any():
        return None
    key = label[calls.shape[used]] * ranks + calls.rank[used]
    worlds = {part.world_size for part in job.parts if part.world_size}
    everybody = worlds or {ranks}  # some may have no recording
    whole = {label[i] for i, shape in enumerate(calls.shapes) if shape.group_size in everybody}
    whole &= set(np.unique(key // ranks).tolist())
    everyone = [one * ranks + np.arange(ranks) for one in sorted(whole)]
    pairs = np.unique(np.concatenate([key, *everyone]))
    columns = np.unique(job.steps.step[job.counted])
    cell = np.searchsorted(pairs, key) * len(columns)
    cell += np.searchsorted(columns, calls.step[used])
    count = np.bincount(cell, minlength=len(pairs) * len(columns)).astype(np.float64)
    count = count.reshape(len(pairs), len(columns))
    has_step = ~np.isnan(job.by_step(job.steps.step))
    count[~has_step[pairs % ranks]] = np.nan
    return _Counts(list(labels), pairs // ranks, pairs % ranks, count)


def _lacking(calls: F64) -> Bools:
    """Return which members (rows) make fewer calls in a step than most; none if many do."""
    known = ~np.isnan(calls)
    ordered = np.sort(calls, axis=0)  # NaN last
    middle = np.take_along_axis(ordered, (known.sum(axis=0) // 2)[None].clip(0, len(calls) - 1), 0)
    lacks = known & (calls < middle)
    lacks[:, lacks.sum(axis=0) > _MOST_MISSED * known.sum(axis=0)] = False
    return lacks
