"""Tabulate the open collectives of a run: which ranks joined, and which are missing."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tb_privateuse1.analysis.ranks import open_collectives, open_texts, recorder_entries
from tb_privateuse1.analysis.ranks.collectives import RankPart
from tb_privateuse1.analysis.ranks.open_collectives import OpenCollective


class OpenCollectiveRow(Struct, frozen=True):
    """A collective that had not ended on all ranks when they wrote their flight recorders."""

    title: str
    explanation: str
    collective: OpenCollective


def find_open(parts: Sequence[RankPart], numbers: Sequence[int]) -> tuple[OpenCollective, ...]:
    """Return the open collectives of a run, causes first; none without dumps."""
    with_dump = [number for part, number in zip(parts, numbers, strict=True) if part.entries]
    if not with_dump:
        return ()
    entries = recorder_entries.join_entries([part.entries for part in parts if part.entries])
    return open_collectives.open_collectives(entries, with_dump)


def open_rows(found: Sequence[OpenCollective]) -> tuple[OpenCollectiveRow, ...]:
    """Return the rows of open collectives."""
    return tuple(
        OpenCollectiveRow(open_texts.title(one), open_texts.explanation(one), one) for one in found
    )
