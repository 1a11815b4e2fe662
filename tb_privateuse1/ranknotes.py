"""What is missing of a run's ranks, or cannot be compared, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tb_privateuse1.findings import Finding
from tb_privateuse1.ranks import Part, Together


def notes(
    numbers: Sequence[int],
    parts: Sequence[Part],
    calls: Together,
    *,
    absent: Sequence[int],
    unread: Sequence[int],
    world: int | None,
    apart: int,
) -> Iterator[Finding]:
    """What is not there, or not comparable; its ranks are named.

    ``numbers`` are the parts' ranks; ``absent`` and ``unread`` those without a part; ``apart`` is
    how many matches were undone.
    """
    if absent:
        message = f"{_listed(absent)} of {world} {_have(absent)} no trace here."
        yield Finding("ranks_missing", message, "Figures are of the others.", len(absent))
    if unread:
        message = f"{_listed(unread)} cannot be shown."
        yield Finding("ranks_unread", message, "The table says why.", len(unread))
    lengths = Counter(len(part.steps.names) for part in parts)
    if len(lengths) > 1:
        usual = lengths.most_common(1)[0][0]
        odd = [r for r, part in zip(numbers, parts, strict=True) if len(part.steps.names) != usual]
        message = f"{_listed(odd)} {_have(odd)} not {usual} steps as the others do."
        yield Finding("steps_differ", message, "Means are over each rank's own.", len(odd))
    if calls.uneven:
        message = "Ranks made different numbers of some collectives in a step."
        hint = "Those cannot be told from one another, and say nothing about waiting."
        yield Finding("collectives_uneven", message, hint, calls.uneven)
    if apart:
        message = f"{apart} collectives that are the same by their number ended apart."
        hint = "They are not compared: a trace may lack some, or they are of different groups."
        yield Finding("collectives_apart", message, hint, apart)
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
