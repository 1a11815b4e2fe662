"""Align the clocks of several ranks, so that the timeline can draw them side by side."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from tb_privateuse1.analysis.ranks import clock_alignment
from tb_privateuse1.analysis.ranks.collectives import match_calls, reduce_trace
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.views.reduced_traces import Rank
from tb_privateuse1.views.shared_options import chosen_ranks
from tb_privateuse1.views.signature import reduces


class RankClock(Struct, frozen=True):
    """The conversion of one rank's times to the reference's."""

    rank: int
    shift_ns: int | None
    """To be added to the times of its trace; null if no collectives tie it to the reference."""
    residual_ns: int | None
    """95 % of the ends of its collectives agree with those of the other ranks to this."""
    ties: int
    """Collectives that it has in common with others."""
    problem: str | None
    """Why nothing was read."""


class Clock(Struct, frozen=True):
    """The result of the lookup."""

    reference: int
    rows: tuple[RankClock, ...]


@reduces(reduce_trace)
def clock(
    ranks: tuple[Rank, ...],
    *,
    only: Annotated[str | None, "numbers of the ranks, separated by commas; all by default"] = None,
    to: Annotated[int | None, "the rank to compare with; by default the lowest"] = None,
) -> Clock:
    """The clocks of some ranks, their numbers with commas, by the collectives that these share.

    No other traces are read than theirs. Raises TraceError ``bad_option``.
    """
    wanted = chosen_ranks(only)
    here = [rank for rank in ranks if wanted is None or rank.rank in wanted]
    read = [rank for rank in here if rank.part is not None]
    parts = [rank.part for rank in read]
    found = clock_alignment.align_clocks(parts, match_calls(parts))
    place = {rank.rank: i for i, rank in enumerate(read)}
    reference = min((rank.rank for rank in here), default=0) if to is None else to
    at = place.get(reference)
    zero: int = int(MISSING) if at is None else int(found.shift_ns[at])

    def row(rank: Rank) -> RankClock:
        i = place.get(rank.rank)
        if i is None:
            problem = rank.problem.message if rank.problem else say("It cannot be read.")
            return RankClock(rank.rank, None, None, 0, problem)
        shift, residual = int(found.shift_ns[i]), int(found.residual_ns[i])
        tied = shift != MISSING and zero != MISSING
        return RankClock(
            rank.rank,
            shift - zero if tied else 0 if rank.rank == reference else None,
            residual if tied and residual != MISSING else None,
            int(found.ties[i]),
            None,
        )

    return Clock(reference, tuple(map(row, here)))
