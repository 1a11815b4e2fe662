"""All ranks of a run: computation and communication, collectives, and who keeps whom waiting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.bandwidth import CollectiveRow, collectives
from tb_privateuse1.ranks import Part, StepPart, Together, together
from tb_privateuse1.stragglers import CAUSES, Blame, Straggler, blame, stragglers
from tb_privateuse1.tables import Result
from tb_privateuse1.trace import I64, NONE, Finding, Timeline, TraceError
from tb_privateuse1.version import __version__
from tb_privateuse1.views.base import Provenance, Rank, sums


@dataclass(frozen=True)
class RankRow:
    """One rank: means over its steps. Times are null where nothing was read."""

    rank: int
    worker: str
    host: str | None
    timeline: Timeline | None
    """How its device times are known; null where nothing was read."""
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
    transferring_ns: int | None
    """Of the communication calls: what the last one to come takes."""
    synchronising_ns: int | None
    """Of the communication calls: waiting for the last one to come."""
    last: int
    """In how many collectives the others have waited for it."""
    caused_ns: int
    """How long each other rank has waited for it in these, on average and in all."""
    problem: str | None
    """Why there is nothing to show."""


@dataclass(frozen=True)
class RankStep:
    """A step of one rank. Computation, exposed communication, copies and idle time sum to it."""

    rank: int
    step: str
    duration_ns: int
    computation_ns: int
    communication_ns: int
    overlap_ns: int
    exposed_ns: int
    copy_ns: int
    idle_ns: int
    transferring_ns: int | None
    """Null if no call of the step could be matched with those of other ranks."""
    synchronising_ns: int | None
    incomplete: bool


@dataclass(frozen=True)
class Distributed(Result):
    """The result of the view."""

    provenance: Provenance
    rows: tuple[RankRow, ...]
    steps: tuple[RankStep, ...]
    collectives: tuple[CollectiveRow, ...]
    stragglers: tuple[Straggler, ...]
    world_size: int | None
    notes: tuple[Finding, ...]


@dataclass(frozen=True)
class _Waits:
    """Sums of one rank's calls, by step; ``matched`` is the number of those that others have."""

    transferring: I64
    synchronising: I64
    matched: I64


def distributed(ranks: tuple[Rank, ...], *, step: int | None = None) -> Distributed:
    """Every rank's computation and communication, the collectives, and the stragglers.

    Of one step, or of the complete ones. Raises TraceError ``unknown_step``.
    """
    read = [r for r in ranks if isinstance(r.part, Part)]
    parts: list[Part] = [r.part for r in read]
    calls = together(parts)
    wanted = _wanted(calls.step_names, step)
    waits = [_waits(calls, i) for i in range(len(parts))]
    in_step = np.isin(calls.step, wanted) if step is not None else calls.step >= NONE
    blamed = blame(calls, in_step, len(parts))
    steps = tuple(
        row
        for i, rank in enumerate(read)
        for row in _rank_steps(rank.rank, parts[i], calls, waits[i], wanted)
    )
    place = {rank.rank: i for i, rank in enumerate(read)}
    rows = tuple(
        _row(r, [s for s in steps if s.rank == r.rank], blamed, place.get(r.rank)) for r in ranks
    )
    known = [part.world_size for part in parts if part.world_size]
    world = max(known) if known else None
    return Distributed(
        provenance=_provenance(parts),
        rows=rows,
        steps=steps,
        collectives=collectives(calls, in_step),
        stragglers=stragglers(blamed, {r.rank: _figures(r) for r in rows if r.rank in place}),
        world_size=world,
        notes=tuple(_notes(ranks, parts, calls, world)),
    )


def _wanted(names: tuple[str, ...], step: int | None) -> list[int]:
    if step is None:
        return list(range(len(names)))
    found = [i for i, name in enumerate(names) if name.rpartition("#")[2] == str(step)]
    if not found:
        have = ", ".join(names[:20]) or "none"
        raise TraceError("unknown_step", f"No rank has a step {step}.", f"They have: {have}.")
    return found


def _provenance(parts: Sequence[Part]) -> Provenance:
    timelines = {part.timeline for part in parts}
    whole: Timeline = "none"
    for timeline in ("measured", "inferred"):  # one inferred rank makes the figures inferred
        if timeline in timelines:
            whole = "measured" if timeline == "measured" else "inferred"
    return Provenance(whole, tuple(f for part in parts for f in part.files), __version__, ())


def _waits(calls: Together, rank: int) -> _Waits:
    mine = calls.rank == rank
    step = np.where(mine, calls.step, NONE)
    n = len(calls.step_names)
    waiting = sums(step, calls.duration_ns - calls.transfer_ns, n)
    matched = sums(step, (calls.match >= 0).astype(np.int64), n)
    return _Waits(sums(step, calls.transfer_ns, n), waiting, matched)


def _rank_steps(
    rank: int, part: Part, calls: Together, waits: _Waits, wanted: list[int]
) -> list[RankStep]:
    rows = []
    for s in part.steps:
        at = calls.step_names.index(s.name)
        if at in wanted:
            rows.append(_rank_step(rank, s, waits, at))
    return rows


def _rank_step(rank: int, s: StepPart, waits: _Waits, at: int) -> RankStep:
    return RankStep(
        rank=rank,
        step=s.name,
        duration_ns=s.duration_ns,
        computation_ns=s.computation_ns,
        communication_ns=s.communication_ns,
        overlap_ns=s.overlap_ns,
        exposed_ns=s.communication_ns - s.overlap_ns,
        copy_ns=s.copy_ns,
        idle_ns=s.idle_ns,
        transferring_ns=int(waits.transferring[at]) if waits.matched[at] else None,
        synchronising_ns=int(waits.synchronising[at]) if waits.matched[at] else None,
        incomplete=s.incomplete,
    )


def _row(rank: Rank, steps: list[RankStep], blamed: Blame, at: int | None) -> RankRow:
    part: Part | None = rank.part
    counted = [s for s in steps if not s.incomplete] or steps

    def mean(name: str) -> int | None:
        values = [value for s in counted if (value := getattr(s, name)) is not None]
        return round(sum(values) / len(values)) if values else None

    return RankRow(
        rank=rank.rank,
        worker=rank.worker,
        host=part.hostname if part else None,
        timeline=part.timeline if part else None,
        on_host=bool(part and part.on_host),
        steps=len(counted),
        step_ns=mean("duration_ns"),
        computation_ns=mean("computation_ns"),
        communication_ns=mean("communication_ns"),
        overlap_ns=mean("overlap_ns"),
        exposed_ns=mean("exposed_ns"),
        copy_ns=mean("copy_ns"),
        idle_ns=mean("idle_ns"),
        transferring_ns=mean("transferring_ns"),
        synchronising_ns=mean("synchronising_ns"),
        last=int(blamed.last[at]) if at is not None else 0,
        caused_ns=int(blamed.caused_ns[at]) if at is not None else 0,
        problem=None if rank.problem is None else rank.problem.message,
    )


def _figures(row: RankRow) -> dict[str, int] | None:
    """The row's times by cause; None without steps."""
    found = {cause: getattr(row, f"{cause}_ns") for cause in CAUSES}
    return None if None in found.values() else found


def _notes(
    ranks: Sequence[Rank], parts: Sequence[Part], calls: Together, world: int | None
) -> Iterator[Finding]:
    """What is not there, or not comparable; its ranks are named."""
    absent = sorted(set(range(world or 0)) - {r.rank for r in ranks})
    if absent:
        message = f"{_listed(absent)} of {world} {_have(absent)} no trace here."
        yield Finding("ranks_missing", message, "Figures are of the others.", len(absent))
    unread = [r.rank for r in ranks if r.part is None]
    if unread:
        message = f"{_listed(unread)} cannot be shown."
        yield Finding("ranks_unread", message, "The table says why.", len(unread))
    numbers = Counter(len(part.steps) for part in parts)
    if len(numbers) > 1:
        usual = numbers.most_common(1)[0][0]
        shown = [r.rank for r in ranks if r.part is not None]
        odd = [rank for rank, part in zip(shown, parts, strict=True) if len(part.steps) != usual]
        message = f"{_listed(odd)} {_have(odd)} not {usual} steps as the others do."
        yield Finding("steps_differ", message, "Means are over each rank's own.", len(odd))
    if calls.uneven:
        message = "Ranks made different numbers of some collectives in a step."
        hint = "Those cannot be told from one another, and say nothing about waiting."
        yield Finding("collectives_uneven", message, hint, calls.uneven)
    if len(parts) == 1:
        hint = "Put the traces of all ranks into one directory: each is named by its rank."
        message = "Only one rank is here: who waits for whom is not known."
        yield Finding("one_rank", message, hint, severity="info")
    if parts and not len(calls.step):
        yield Finding("no_communication", "No communication was recorded.", severity="info")


def _have(ranks: Sequence[int]) -> str:
    return "has" if len(ranks) == 1 else "have"


def _listed(ranks: Sequence[int]) -> str:
    """``Rank 3``, ``Ranks 0, 2 to 7``."""
    ends: list[list[int]] = []
    for rank in ranks:
        if ends and ends[-1][1] == rank - 1:
            ends[-1][1] = rank
        else:
            ends.append([rank, rank])
    parts = [str(a) if a == b else f"{a} to {b}" for a, b in ends[:10]]
    more = f" and {len(ends) - 10} more" if len(ends) > 10 else ""
    return f"Rank{'s' if len(ranks) > 1 else ''} {', '.join(parts)}{more}"
