"""Compare what the ranks of a group receive in all-to-alls, and compute until they send it back.

A dispatch gives each expert its tokens, and a combine returns the results: the second reverses the
sizes of the first (``group_parts``). If routing is uneven, the rank with the most tokens holds up
the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.ranks.axes import Group
from tb_privateuse1.analysis.ranks.axis_rows import axis_title
from tb_privateuse1.analysis.ranks.collectives import RankPart
from tb_privateuse1.analysis.ranks.group_sums import RunFigures
from tb_privateuse1.trace import process_groups
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import group_rows, maxima, sums
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import F64, I32, I64, Bools


class ExpertRow(Struct, frozen=True):
    """The all-to-alls of one process group: means over the steps that two or more ranks have."""

    axis: str
    group: str
    ranks: str | None
    members: int
    """Ranks with such calls."""
    steps: int
    exchanges: float
    """Dispatches per rank and step; all-to-alls if none is reversed by the next one."""
    received_bytes: int | None
    """Per rank and step; null if sizes are not recorded."""
    most_bytes: int | None
    """Of the rank that received most in the step."""
    imbalance: float | None
    """The most over the mean of a step; 1 is even."""
    busiest_rank: int | None
    """The rank that received most in all, else computed longest."""
    computation_ns: int | None
    """Between dispatch and combine, per rank and step; null without pairs."""
    longest_ns: int | None
    """Of the rank that computed longest in the step."""
    computation_imbalance: float | None


class _Exchanges(Struct, frozen=True):
    """All-to-alls of all ranks as columns."""

    group: I32
    step: I32
    part: I32
    received_bytes: I64
    work_ns: I64


def expert_rows(run: RunFigures, numbers: Sequence[int]) -> tuple[ExpertRow, ...]:
    """Return the groups with all-to-alls, the most uneven ones first.

    ``numbers`` are the ranks of the parts.
    """
    table = _exchanges(run)
    rows = []
    for group in np.unique(table.group).tolist():
        row = _row(run, table, group, numbers)
        if row is not None:
            rows.append(row)
    return tuple(sorted(rows, key=lambda row: -(row.imbalance or row.computation_imbalance or 0)))


def _exchanges(run: RunFigures) -> _Exchanges:
    """Return the dispatches in counted steps; of ranks without pairs all all-to-alls."""
    call, received, work = ([np.empty(0, np.int64)] for _ in range(3))
    first = 0
    for part in run.parts:
        own = part.by_group
        if len(own.exchange_call):
            rows = own.exchange_call.astype(np.int64) + first
            chosen = lookup(run.counted, run.calls.row[rows], False) & _dispatches(part)
            call.append(rows[chosen])
            received.append(own.received_bytes[chosen])
            work.append(own.exchange_work_ns[chosen])
        first += len(part.calls.step)
    row = np.concatenate(call)
    return _Exchanges(
        run.groups.of_call[row],
        run.calls.step[row],
        run.calls.rank[row],
        np.concatenate(received),
        np.concatenate(work),
    )


def _dispatches(part: RankPart) -> Bools:
    paired: Bools = part.by_group.exchange_work_ns != MISSING
    return paired if paired.any() else ~paired


def _row(
    run: RunFigures, table: _Exchanges, index: int, numbers: Sequence[int]
) -> ExpertRow | None:
    mine = np.flatnonzero(table.group == index)
    first, cell = group_rows(table.step[mine], table.part[mine])
    step, part = table.step[mine][first], table.part[mine][first]
    ranks = np.bincount(step)
    shared = ranks[step] > 1
    if not shared.any():
        return None
    received = _cells(table.received_bytes[mine], cell, len(first))
    work = _cells(table.work_ns[mine], cell, len(first))
    step, part, received, work = step[shared], part[shared], received[shared], work[shared]
    group: Group = run.groups.groups[index]
    bytes_mean, bytes_most, imbalance = _imbalance(step, received)
    work_mean, work_longest, work_imbalance = _imbalance(step, work)
    judged = received if imbalance is not None else work
    return ExpertRow(
        axis=axis_title(run.groups.axes[run.groups.axis[index]]),
        group=group.name,
        ranks=None if group.runs is None else process_groups.text_of(group.runs),
        members=len(np.unique(part)),
        steps=len(np.unique(step)),
        exchanges=float(shared[cell].sum() / len(step)),
        received_bytes=bytes_mean,
        most_bytes=bytes_most,
        imbalance=imbalance,
        busiest_rank=_busiest(part, judged, numbers),
        computation_ns=work_mean,
        longest_ns=work_longest,
        computation_imbalance=work_imbalance,
    )


def _cells(values: I64, cell: I64, cells: int) -> I64:
    """Return the sum of each rank and step; ``MISSING`` where a value is not known."""
    lost = np.bincount(cell[values == MISSING], minlength=cells) > 0
    return np.where(lost, MISSING, sums(np.where(values == MISSING, NONE, cell), values, cells))


def _imbalance(step: I32, values: I64) -> tuple[int | None, int | None, float | None]:
    """Return mean, mean of each step's greatest, and the mean ratio of greatest and mean."""
    steps, place = np.unique(step, return_inverse=True)
    lost = np.bincount(place[values == MISSING], minlength=len(steps)) > 0
    fine = ~lost[place]
    if not fine.any():
        return None, None, None
    _, place = np.unique(step[fine], return_inverse=True)
    own = values[fine]
    count = np.bincount(place)
    mean: F64 = np.bincount(place, own) / count
    most = maxima(place, own, len(count))
    some = mean > 0
    ratio = float((most[some] / mean[some]).mean()) if some.any() else None
    return round(float(own.mean())), round(float(most.mean())), ratio


def _busiest(part: I32, values: I64, numbers: Sequence[int]) -> int | None:
    known = values != MISSING
    if not known.any():
        return None
    return numbers[int(np.argmax(np.bincount(part[known], values[known])))]
