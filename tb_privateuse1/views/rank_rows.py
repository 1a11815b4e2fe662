"""The rows of the view of all ranks: one for each rank, and one for each step of a rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account.classes import ClassName
from tb_privateuse1.analysis.account.table import StepClass, step_class
from tb_privateuse1.analysis.ranks import clock_alignment
from tb_privateuse1.analysis.ranks import steps as ranks_steps
from tb_privateuse1.analysis.ranks.arrivals import Blame
from tb_privateuse1.analysis.ranks.collectives import RankPart
from tb_privateuse1.analysis.ranks.group_sums import RunFigures
from tb_privateuse1.analysis.ranks.steps import RankSteps
from tb_privateuse1.trace.model import MISSING, Timeline
from tb_privateuse1.trace.table import I64
from tb_privateuse1.views.reduced_traces import Rank


class RankRow(Struct, frozen=True):
    """One rank: means over its steps. Times are null where nothing was read."""

    rank: int
    worker: str
    host: str | None
    timeline: Timeline | None
    """How its device times are known; null where nothing was read."""
    missing_streams: tuple[str, ...]
    """Streams whose work has no times: times of the device are lower bounds, its idle time is an
    upper one."""
    on_host: bool
    """Without a device: the operators are the computation."""
    steps: int
    step_ns: int | None
    computation_ns: int | None
    communication_ns: int | None
    overlap_ns: int | None
    exposed_ns: int | None
    """Communication that no computation hides."""
    copy_ns: int | None
    idle_ns: int | None
    idle_classes: tuple[StepClass, ...]
    """What the idle time goes to, the longest class first; without a device, known ones only."""
    transferring_ns: int | None
    """Of the communication calls: what the last one to come takes."""
    synchronizing_ns: int | None
    """Of the communication calls: waiting for the last one to come."""
    step_bound_ns: int | None
    computation_bound_ns: int | None
    communication_bound_ns: int | None
    overlap_bound_ns: int | None
    exposed_bound_ns: int | None
    copy_bound_ns: int | None
    idle_bound_ns: int | None
    """How far off these means may be; 0 if measured, null if that is not known."""
    last: int
    """In how many collectives it was among the last, for whom the others have waited."""
    caused_ns: int
    """How long each other rank has waited for it in these, on average and in all."""
    clock_offset_ns: int | None
    """How far its clock is ahead of the lowest rank's, by the ends of common collectives."""
    clock_residual_ns: int | None
    """95 % of these ends agree to this; null where a rank has none in common with others."""
    problem: str | None
    """Why there is nothing to show."""


class RankStep(Struct, frozen=True):
    """A step of one rank. Computation, exposed communication, copies and idle time sum to it.

    Null is what is not known: all of these without device times; if a stream is missing, what the
    others did not do.
    """

    rank: int
    step: str
    duration_ns: int
    computation_ns: int | None
    communication_ns: int | None
    overlap_ns: int | None
    exposed_ns: int | None
    copy_ns: int | None
    idle_ns: int | None
    transferring_ns: int | None
    """Null if no call of the step could be matched with those of other ranks."""
    synchronizing_ns: int | None
    incomplete: bool
    """In no mean: cut off by the end of the recording, primed, or not in the window."""
    duration_bound_ns: int | None
    computation_bound_ns: int | None
    communication_bound_ns: int | None
    overlap_bound_ns: int | None
    exposed_bound_ns: int | None
    copy_bound_ns: int | None
    idle_bound_ns: int | None
    """How far off these may be; 0 if measured, null if that is not known."""


def rank_step_rows(
    steps: RankSteps, rows: I64, numbers: Sequence[int], names: tuple[str, ...]
) -> tuple[RankStep, ...]:
    """Return these rows of the table of steps; ``numbers`` are the ranks, by part."""
    columns = {name: _known(getattr(steps, name)[rows]) for name in ranks_steps.TIMES}
    columns |= {f"{name}_bound_ns": _known(ns[rows]) for name, ns in steps.bounds.items()}
    return tuple(
        RankStep(rank=numbers[rank], step=names[step], incomplete=cut, **dict(times))
        for rank, step, cut, times in zip(
            steps.rank[rows].tolist(),
            steps.step[rows].tolist(),
            steps.incomplete[rows].tolist(),
            (zip(columns, row, strict=True) for row in zip(*columns.values(), strict=True)),
            strict=True,
        )
    )


def rank_rows(
    ranks: Sequence[Rank],
    read: Sequence[Rank],
    run: RunFigures,
    blamed: Blame,
    aligned: clock_alignment.Clocks,
) -> tuple[RankRow, ...]:
    """Return the rows of ``ranks``; ``read`` are those that have parts, as ``run`` has them."""
    steps, counted = run.steps, run.counted
    idle = ranks_steps.idle_means(run.parts, steps, counted)
    means = ranks_steps.step_means(steps, counted, len(read))
    means["step_ns"] = means.pop("duration_ns")
    bounds = ranks_steps.mean_bounds(steps, counted, len(read))
    bounds["step"] = bounds.pop("duration")
    means |= {f"{name}_bound_ns": values for name, values in bounds.items()}
    means["clock_offset_ns"] = _known(aligned.offset_ns)
    means["clock_residual_ns"] = _known(aligned.residual_ns)
    numbers = np.bincount(steps.rank[counted], minlength=len(read)).tolist()
    place = {rank.rank: i for i, rank in enumerate(read)}
    return tuple(_row(r, place.get(r.rank), means, numbers, blamed, idle) for r in ranks)


def _classes(times: dict[ClassName, int]) -> tuple[StepClass, ...]:
    """Return classes of idle time, the longest first."""
    longest_first = sorted(times.items(), key=lambda one: -one[1])
    return tuple(step_class(name, ns) for name, ns in longest_first)


def _known(values: I64) -> list[int | None]:
    return [None if value == MISSING else value for value in values.tolist()]


def _row(
    rank: Rank,
    at: int | None,
    means: dict[str, list[int | None]],
    numbers: Sequence[int],
    blamed: Blame,
    idle: Sequence[dict[ClassName, int]],
) -> RankRow:
    part: RankPart | None = None if at is None else rank.part
    return RankRow(
        rank=rank.rank,
        worker=rank.worker,
        host=part.hostname if part else None,
        timeline=part.timeline if part else None,
        missing_streams=part.missing if part else (),
        on_host=bool(part and part.on_host),
        steps=0 if at is None else numbers[at],
        **{name: None if at is None else values[at] for name, values in means.items()},
        idle_classes=() if at is None else _classes(idle[at]),
        last=0 if at is None else int(blamed.last[at]),
        caused_ns=0 if at is None else int(blamed.caused_ns[at]),
        problem=None if rank.problem is None else rank.problem.message,
    )
