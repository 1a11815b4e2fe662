"""All ranks of a run: computation and communication, collectives, culprits of waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.advice import rank_engine
from tb_privateuse1.advice.rank_engine import RankAdvice
from tb_privateuse1.advice.rank_rules.rank_rule import RankContext
from tb_privateuse1.analysis.ranks import axes, clock_alignment, collectives
from tb_privateuse1.analysis.ranks import clock_notes as ranks_clock_notes
from tb_privateuse1.analysis.ranks import notes as ranks_notes
from tb_privateuse1.analysis.ranks import steps as ranks_steps
from tb_privateuse1.analysis.ranks.arrivals import Blame, assign_blame
from tb_privateuse1.analysis.ranks.axis_rows import AxisRow, GroupRow, axis_rows, group_rows
from tb_privateuse1.analysis.ranks.bandwidth import CollectiveRow, collective_rows
from tb_privateuse1.analysis.ranks.collectives import (
    MatchedCalls,
    RankPart,
    drop_matches,
    match_calls,
    of_whole_recording,
)
from tb_privateuse1.analysis.ranks.culprits import Culprit, find_culprits, least_cost_ns
from tb_privateuse1.analysis.ranks.expert_rows import ExpertRow, expert_rows
from tb_privateuse1.analysis.ranks.group_sums import RunFigures, sum_groups
from tb_privateuse1.analysis.ranks.job import Job
from tb_privateuse1.analysis.ranks.node_rows import NodeRow, node_rows
from tb_privateuse1.analysis.ranks.open_rows import OpenCollectiveRow, find_open, open_rows
from tb_privateuse1.analysis.ranks.pipeline_stages import StageRow, stage_rows
from tb_privateuse1.analysis.ranks.steps import Grid, Measure, RankSteps
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.memory_budget import size_bytes
from tb_privateuse1.trace.model import NONE, Timeline
from tb_privateuse1.trace.table import Bools
from tb_privateuse1.views.rank_rows import RankRow, RankStep, rank_rows, rank_step_rows
from tb_privateuse1.views.reduced_traces import Rank, keep
from tb_privateuse1.views.result import Provenance, Result
from tb_privateuse1.views.shared_options import RanksWindowOption, StepOption
from tb_privateuse1.views.signature import reduces

MOST_RANKS = 2000
"""Of more ranks the page lists those that matter: a chart with more bars cannot be read."""
_ROW_BYTES = 1000
"""About the memory of a row with its numbers."""


class Distributed(Result, frozen=True):
    """The result of the view."""

    provenance: Provenance
    rows: tuple[RankRow, ...]
    """All, or of more than ``MOST_RANKS`` those for whom the others waited longest."""
    rows_total: int
    steps: tuple[RankStep, ...]
    """All, or of more than ``limit`` those that took longest against the median of their step."""
    steps_total: int
    grid: Grid
    """Of the ranks in ``rows``."""
    collectives: tuple[CollectiveRow, ...]
    """All, or of more than ``limit`` those with the most time."""
    collectives_total: int
    culprits: tuple[Culprit, ...]
    """Who keeps the others waiting beyond chance, by all complete steps; the costliest first."""
    least_cost_ns: int | None
    """The least cost of a culprit; null if no two ranks met in a collective."""
    world_size: int | None
    notes: tuple[Finding, ...]
    advice: tuple[RankAdvice, ...]
    """The findings, the most severe first."""
    open_collectives: tuple[OpenCollectiveRow, ...] = ()
    """What had not ended on all ranks, causes first; of flight recorders."""
    axes: tuple[AxisRow, ...] = ()
    """The axes of parallelism, those with the most exposed communication first."""
    groups: tuple[GroupRow, ...] = ()
    """All process groups, or of more than ``limit`` those with the most time."""
    groups_total: int = 0
    nodes: tuple[NodeRow, ...] = ()
    """The ranks by host; none if no host name is recorded."""
    stages: tuple[StageRow, ...] = ()
    """The stages of pipelines; none without messages."""
    experts: tuple[ExpertRow, ...] = ()
    """Process groups with all-to-alls, the most uneven ones first."""


@reduces(collectives.reduce_trace)
def distributed(
    ranks: tuple[Rank, ...],
    *,
    step: StepOption = None,
    window: RanksWindowOption = "steady",
    measure: Annotated[Measure, "what the grid of ranks by steps shows"] = "step",
    limit: Annotated[int, "at most this many steps, and as many collectives"] = 2000,
) -> Distributed:
    """Every rank's computation and communication, the collectives, and who holds up the others.

    Of one step, or of the complete ones of each rank's window. Raises TraceError ``unknown_step``
    or ``bad_option``.
    """
    if limit < 0:
        raise TraceError("bad_option", say("limit must not be negative, not {limit}.", limit=limit))
    run = keep(ranks, window, lambda: _join(ranks, window), _weight)
    tables = keep(
        ranks, (window, step, limit), lambda: _tables(ranks, run, step, limit), _weight_of_tables
    )
    grid = ranks_steps.step_grid(
        run.steps, tables.chosen, run.calls.step_names, run.numbers, measure, tables.listed
    )
    return replace(tables.result, grid=grid)


class _Joined(Struct, frozen=True):
    """Joined values that are the same for all steps and measures."""

    read: Sequence[Rank]
    numbers: Sequence[int]
    calls: MatchedCalls
    aligned: clock_alignment.Clocks
    steps: RankSteps
    job: Job
    culprits: tuple[Culprit, ...]
    world: int | None
    groups: axes.RunGroups


class _Tables(Struct, frozen=True):
    """Tables that are the same for all measures: the result, with any grid, and what that is of."""

    result: Distributed
    chosen: Bools
    listed: frozenset[int]


def _weight(run: _Joined) -> int:
    return size_bytes((run.calls, run.steps))


def _weight_of_tables(tables: _Tables) -> int:
    result = tables.result
    rows = len(result.rows) + len(result.steps) + len(result.collectives) + len(result.groups)
    return _ROW_BYTES * rows + tables.chosen.nbytes


def _join(ranks: tuple[Rank, ...], window: RanksWindowOption) -> _Joined:
    read = [r for r in ranks if isinstance(r.part, RankPart)]
    parts, numbers = _parts(read, window), [r.rank for r in read]
    calls, aligned = _match_on_one_clock(parts)
    steps = ranks_steps.rank_steps(parts, calls)
    world = max((part.world_size for part in parts if part.world_size), default=None)
    job = _job(numbers, parts, calls, steps)
    groups = axes.find_groups(parts, numbers, calls, world)
    return _Joined(
        read, numbers, calls, aligned, steps, job, find_culprits(job), world, groups
    )  # fmt: skip


def _tables(ranks: tuple[Rank, ...], joined: _Joined, step: int | None, limit: int) -> _Tables:
    calls, steps, numbers, world = joined.calls, joined.steps, joined.numbers, joined.world
    parts, read, aligned = joined.job.parts, joined.read, joined.aligned
    wanted = _wanted(calls.step_names, step)
    in_step = wanted[calls.step] if step is not None else calls.step >= NONE
    blamed = assign_blame(calls, in_step, len(parts))
    chosen = wanted[steps.step]
    shown = ranks_steps.worst_steps(steps, chosen, limit)
    talk_total, talk = collective_rows(calls, in_step, numbers, limit)
    counted = ranks_steps.counted_steps(steps, chosen, len(read))
    run = RunFigures(parts, calls, in_step, steps, counted, joined.groups)
    case = _context(ranks, run, blamed, joined.culprits, talk, world)
    rows = _listed(ranks, read, blamed)
    result = Distributed(
        provenance=_provenance(parts),
        rows=rank_rows(rows, read, run, blamed, aligned),
        rows_total=len(ranks),
        steps=rank_step_rows(steps, shown, numbers, calls.step_names),
        steps_total=int(chosen.sum()),
        grid=Grid("step", (), (), 1, (), None),
        collectives=tuple(talk),
        collectives_total=talk_total,
        culprits=case.culprits,
        least_cost_ns=least_cost_ns(joined.job),
        world_size=world,
        notes=_notes(case, world, aligned),
        advice=rank_engine.advise_ranks(case),
        open_collectives=open_rows(case.open_collectives),
        **_by_group(run, numbers, limit),
    )
    return _Tables(result, chosen, frozenset(rank.rank for rank in rows))


def _context(
    ranks: Sequence[Rank],
    run: RunFigures,
    blamed: Blame,
    culprits: tuple[Culprit, ...],
    talk: Sequence[CollectiveRow],
    world: int | None,
) -> RankContext:
    """Return what rules of a job and its notes look at."""
    numbers = [rank.rank for rank in ranks if isinstance(rank.part, RankPart)]
    return RankContext(
        numbers=tuple(numbers),
        parts=run.parts,
        calls=run.calls,
        steps=run.steps,
        counted=run.counted,
        in_step=run.in_step,
        blamed=blamed,
        culprits=culprits,
        collectives=talk,
        absent=tuple(sorted(set(range(world or 0)) - {rank.rank for rank in ranks})),
        unread=tuple(rank.rank for rank in ranks if rank.part is None),
        open_collectives=find_open(run.parts, numbers),
    )


def _listed(ranks: Sequence[Rank], read: Sequence[Rank], blamed: Blame) -> Sequence[Rank]:
    if len(ranks) <= MOST_RANKS:
        return ranks
    caused = dict(zip([rank.rank for rank in read], blamed.caused_ns.tolist(), strict=True))
    worst = sorted(ranks, key=lambda rank: -caused.get(rank.rank, 0))[:MOST_RANKS]
    return sorted(worst, key=lambda rank: rank.rank)


def _parts(read: Sequence[Rank], window: RanksWindowOption) -> list[RankPart]:
    parts: list[RankPart] = [rank.part for rank in read]
    return [of_whole_recording(part) for part in parts] if window == "all" else parts


def _notes(
    case: RankContext, world: int | None, aligned: clock_alignment.Clocks
) -> tuple[Finding, ...]:
    """Return the notes on missing ranks, and on clocks."""
    notes = ranks_notes.rank_notes(
        case.numbers,
        case.parts,
        case.calls,
        absent=case.absent,
        unread=case.unread,
        world=world,
        apart=int(aligned.apart.sum()),
    )
    return (*notes, *ranks_clock_notes.clock_notes(case.numbers, case.parts, aligned))


def _job(
    numbers: Sequence[int], parts: list[RankPart], calls: MatchedCalls, steps: RankSteps
) -> Job:
    """Return what culprits are looked for in: all complete steps, whichever are chosen."""
    everything = np.ones(len(steps.step), np.bool_)
    counted = ranks_steps.counted_steps(steps, everything, len(parts))
    return Job(numbers, parts, calls, steps, counted)


def _by_group(run: RunFigures, numbers: Sequence[int], limit: int) -> dict[str, Any]:
    """Return the tables by axis of parallelism, process group, node, stage and exchange."""
    sums = sum_groups(run)
    return {
        "axes": axis_rows(run, sums),
        "groups": group_rows(run, sums, limit),
        "groups_total": len(run.groups.groups),
        "nodes": node_rows(run, numbers),
        "stages": stage_rows(run, numbers),
        "experts": expert_rows(run, numbers),
    }


def _match_on_one_clock(parts: Sequence[RankPart]) -> tuple[MatchedCalls, clock_alignment.Clocks]:
    """Match the ranks' calls and align their clocks; drop matches that no clocks bring together."""
    calls = match_calls(parts)
    aligned = clock_alignment.align_clocks(parts, calls)
    return drop_matches(calls, aligned.apart), aligned


def _wanted(names: tuple[str, ...], step: int | None) -> Bools:
    """By name of a step, whether it is chosen, and at the end that nothing is outside of steps."""
    number = None if step is None else str(step)
    found = [number is None or name.rpartition("#")[2] == number for name in names]
    if number is not None and not any(found):
        have = ", ".join(names[:20]) or say("none")
        message = say("No rank has a step {step}.", step=step)
        raise TraceError("unknown_step", message, say("They have: {have}.", have=have))
    return np.array([*found, False], np.bool_)


def _provenance(parts: Sequence[RankPart]) -> Provenance:
    timelines = {part.timeline for part in parts}
    whole: Timeline = "none"
    for timeline in ("measured", "inferred"):  # one inferred rank makes the figures inferred
        if timeline in timelines:
            whole = "measured" if timeline == "measured" else "inferred"
    missing = tuple(dict.fromkeys(stream for part in parts for stream in part.missing))
    files = tuple(f for part in parts for f in part.files)
    return Provenance(whole, missing, files, ())
