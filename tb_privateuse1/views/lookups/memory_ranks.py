"""The memory of all ranks beside each other: each one's peak by category, in the same step."""

from __future__ import annotations

from msgspec import Struct

from tb_privateuse1.analysis.memory.categories import CATEGORIES
from tb_privateuse1.analysis.memory.rank_peaks import Peak, RankMemory, rank_memory
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.views.reduced_traces import Rank
from tb_privateuse1.views.result import Result
from tb_privateuse1.views.shared_options import StepOption
from tb_privateuse1.views.signature import reduces


class MemoryOfRank(Struct, frozen=True):
    """The peak of one rank; figures are null where its trace does not have them."""

    rank: int
    worker: str
    device: str | None
    capacity_bytes: int | None
    step: str | None
    """In which the peak is; null outside of all steps."""
    peak_at_ns: int | None
    """On the rank's own clock."""
    peak_bytes: int | None
    peak_reserved_bytes: int | None
    above_least_bytes: int | None
    """More than the rank with the lowest peak."""
    parameters_bytes: int | None
    """Alive at the peak, as all categories: they sum to it."""
    optimizer_state_bytes: int | None
    gradients_bytes: int | None
    activations_bytes: int | None
    inputs_bytes: int | None
    temporaries_bytes: int | None
    unknown_bytes: int | None
    problem: Finding | None
    """Why the rank has no figures."""


class MemoryRanks(Result, frozen=True):
    """The result of the lookup: a row for each rank, by number."""

    rows: tuple[MemoryOfRank, ...]
    fullest: int | None
    """The rank with the highest peak; the first of equal ones."""
    steps: tuple[str, ...]
    """Those that all ranks with totals of memory have."""
    without_totals: tuple[int, ...]
    """The ranks that were read and have no totals of memory: they are not compared."""


@reduces(rank_memory)
def memory_ranks(ranks: tuple[Rank, ...], *, step: StepOption = None) -> MemoryRanks:
    """The peak of each rank's memory by category, of the recording or of the same step of all.

    Raises TraceError ``unknown_step``.
    """
    read = [(one.rank, one.part) for one in ranks if isinstance(one.part, RankMemory)]
    common = _common_steps([part for _, part in read if part.whole is not None])
    wanted = None if step is None else next((n for n in common if n.endswith(f"#{step}")), None)
    if step is not None and wanted is None:
        message = say("There is no step {step} that all ranks have.", step=step)
        raise TraceError("unknown_step", message)
    peaks = [_peak(one, wanted) for one in ranks]
    known = [peak.bytes for _, peak in peaks if peak is not None]
    rows = tuple(
        _row(one, name, peak, min(known, default=0))
        for one, (name, peak) in zip(ranks, peaks, strict=True)
    )
    full = (row.rank for row in rows if known and row.peak_bytes == max(known))
    without = tuple(rank for rank, part in read if part.whole is None)
    return MemoryRanks(rows, next(full, None), common, without)


def _common_steps(parts: list[RankMemory]) -> tuple[str, ...]:
    named = [[name for name, _ in part.steps] for part in parts]
    if not named:
        return ()
    shared = set(named[0]).intersection(*named)
    return tuple(name for name in named[0] if name in shared)


def _peak(one: Rank, wanted: str | None) -> tuple[str | None, Peak | None]:
    """Return the peak of a rank in a step, or of its recording, and the step that it is in."""
    part = one.part
    if not isinstance(part, RankMemory):
        return None, None
    if wanted is not None:
        return next(((name, peak) for name, peak in part.steps if name == wanted), (None, None))
    return part.whole_step, part.whole


def _row(one: Rank, step: str | None, peak: Peak | None, least: int) -> MemoryOfRank:
    part = one.part if isinstance(one.part, RankMemory) else None
    split = peak.categories if peak is not None and peak.categories else [None] * len(CATEGORIES)
    problem = one.problem
    if problem is None and peak is None:
        message = say("Its recording has no totals of memory (profile_memory=True).")
        problem = Finding("no_memory", message, severity="info")
    return MemoryOfRank(
        rank=one.rank,
        worker=one.worker,
        device=part.device if part else None,
        capacity_bytes=part.capacity_bytes if part else None,
        step=step,
        peak_at_ns=peak.at_ns if peak else None,
        peak_bytes=peak.bytes if peak else None,
        peak_reserved_bytes=peak.reserved_bytes if peak else None,
        above_least_bytes=peak.bytes - least if peak else None,
        **{f"{name}_bytes": size for name, size in zip(CATEGORIES, split, strict=True)},
        problem=problem,
    )
