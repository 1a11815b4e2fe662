"""The parts of ranks in a cache directory, by their files alone."""

from __future__ import annotations

from pathlib import Path

from tb_privateuse1.analysis.ranks.collectives import RankPart
from tb_privateuse1.storage import arrow_file, part_file


def stored_parts(file: Path) -> tuple[RankPart, ...]:
    """Return the parts of a file, whatever it is of; none if it is damaged."""
    return arrow_file.read(file, part_file._KINDS, part_file.unpack) or ()
