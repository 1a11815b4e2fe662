"""Findings on ranks that are missing or cannot be compared with the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tb_privateuse1.analysis.ranks.collectives import MatchedCalls, RankPart
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import MISSING

_MOST_LISTED = 10
"""Runs of ranks in a sentence: it counts the others."""


def rank_notes(
    numbers: Sequence[int],
    parts: Sequence[RankPart],
    calls: MatchedCalls,
    *,
    absent: Sequence[int],
    unread: Sequence[int],
    world: int | None,
    apart: int,
) -> Iterator[Finding]:
    """Yield a finding for everything that is missing or not comparable.

    ``numbers`` are the parts' ranks; ``absent`` and ``unread`` the ranks without a part; ``apart``
    is the number of dropped matches.
    """
    if absent:
        ranks = listed(absent)
        message = say("Ranks {ranks} of {world} have no trace here.", ranks=ranks, world=world)
        if len(absent) == 1:
            message = say("Rank {ranks} of {world} has no trace here.", ranks=ranks, world=world)
        yield Finding("ranks_missing", message, say("Figures are of the others."), len(absent))
    if unread:
        message = say("Ranks {ranks} cannot be shown.", ranks=listed(unread))
        if len(unread) == 1:
            message = say("Rank {ranks} cannot be shown.", ranks=unread[0])
        yield Finding("ranks_unread", message, say("The table says why."), len(unread))
    lengths = Counter(len(part.steps.names) for part in parts)
    if len(lengths) > 1:
        usual = lengths.most_common(1)[0][0]
        odd = [r for r, part in zip(numbers, parts, strict=True) if len(part.steps.names) != usual]
        ranks = listed(odd)
        message = say(
            "Ranks {ranks} have not {count} steps as the others do.", ranks=ranks, count=usual
        )
        if len(odd) == 1:
            message = say(
                "Rank {ranks} has not {count} steps as the others do.", ranks=ranks, count=usual
            )
        yield Finding("steps_differ", message, say("Means are over each rank's own."), len(odd))
    if calls.uneven:
        message = say("Ranks made different numbers of some collectives in a step.")
        hint = say("These calls cannot be matched across ranks, so their waiting is unknown.")
        yield Finding("collectives_uneven", message, hint, calls.uneven)
    if apart:
        message = say(
            "{count} collectives that are the same by their number ended apart.", count=apart
        )
        hint = say("They are not compared: a trace may lack some, or they are of different groups.")
        yield Finding("collectives_apart", message, hint, apart)
    if len(parts) == 1:
        hint = say("Put the traces of all ranks into one directory: each is named by its rank.")
        message = say("Only one rank is here: who waits for whom is not known.")
        yield Finding("one_rank", message, hint, severity="info")
    if parts and not len(calls.step):
        yield _no_communication(parts)


def _no_communication(parts: Sequence[RankPart]) -> Finding:
    if not any(part.entries for part in parts):
        return Finding("no_communication", say("No communication was recorded."), severity="info")
    if any((part.steps.computation_ns != MISSING).any() for part in parts):
        message = say("The traces contain no communication.")
        hint = say("The flight recorders list collectives, but not how long they took.")
        return Finding("no_communication", message, hint, severity="info")
    message = say("Flight recorders have no durations: no figure of communication is known.")
    hint = say("Traces of the same ranks have them.")
    return Finding("no_durations", message, hint, severity="info")


def listed(ranks: Sequence[int]) -> str:
    """Return ranks in words, which are in order: ``3``, ``0, 2 to 7``."""
    ends: list[list[int]] = []
    for rank in ranks:
        if ends and ends[-1][1] == rank - 1:
            ends[-1][1] = rank
        else:
            ends.append([rank, rank])
    parts = [part for first, last in ends[:_MOST_LISTED] for part in _range(first, last)]
    listed = join_list(parts)
    if len(ends) > _MOST_LISTED:
        listed = say("{names} and {count} more", names=listed, count=len(ends) - _MOST_LISTED)
    return listed


def _range(first: int, last: int) -> list[str]:
    if last <= first + 1:
        return [str(rank) for rank in range(first, last + 1)]
    return [say("{a} to {b}", a=first, b=last)]
