"""Findings about missing ranks and collectives that cannot be compared."""

from __future__ import annotations

from pathlib import Path

import pytest

import tb_privateuse1 as tbp
from tb_privateuse1.analysis.ranks import collectives
from tb_privateuse1.analysis.ranks.notes import rank_notes
from tb_privateuse1.trace.model import Trace
from tests.support import trace_files
from tests.support.flight_recorders import Rank
from tests.support.make import document, op, step, trace
from tests.unit.analysis.ranks.test_collectives import one


def notes(
    *ranks: Trace, absent: tuple[int, ...] = (), unread: tuple[int, ...] = (), apart: int = 0
) -> dict[str, tuple[int | None, str]]:
    """Return count and message of each finding by its code."""
    parts = [collectives.reduce_trace(rank) for rank in ranks]
    found = rank_notes(
        range(len(parts)), parts, collectives.match_calls(parts),
        absent=absent, unread=unread, world=8, apart=apart,
    )  # fmt: skip
    return {note.code: (note.count, str(note.message)) for note in found}


def test_complete_ranks_have_no_notes() -> None:
    """Equal ranks with matched collectives have no findings."""
    assert notes(one(10), one(20)) == {}


@pytest.mark.parametrize(
    ("absent", "words"),
    [
        ((3,), "Rank 3 of 8 has no trace here."),
        ((1, 3, 4, 5), "Ranks 1, 3 to 5 of 8 have no trace here."),
        (tuple(range(0, 24, 2)), "and 2 more"),
    ],
)
def test_absent_ranks_are_named(absent: tuple[int, ...], words: str) -> None:
    """Consecutive ranks are a range; only ten ranges are named."""
    count, message = notes(one(10), one(20), absent=absent)["ranks_missing"]
    assert count == len(absent)
    assert words in message


def test_unreadable_ranks_are_counted() -> None:
    """A rank whose trace cannot be read is a finding of its own."""
    assert notes(one(10), one(20), unread=(2, 5))["ranks_unread"][0] == 2


def test_uneven_and_wrong_matches_are_counted() -> None:
    """Different numbers of calls and dropped matches are findings."""
    assert notes(one(10, 20), one(10), apart=3).keys() == {
        "collectives_uneven", "collectives_apart",
    }  # fmt: skip


def test_steps_that_differ() -> None:
    """The rank with an unusual number of steps is named."""
    two = trace(step(1, 0, 10), step(2, 10, 20))
    found = notes(two, two, trace(step(1, 0, 10)))
    assert found["steps_differ"] == (1, "Rank 2 has not 2 steps as the others do.")
    assert found["no_communication"][0] is None


def test_one_rank_alone() -> None:
    """With one rank nothing can be compared."""
    assert notes(one(10)).keys() == {"one_rank"}


def test_flight_recorders_do_not_hide_that_traces_are_there(tmp_path: Path) -> None:
    """Only where no trace has durations does a note ask for traces."""
    for rank in (0, 1):
        for folder in ("dumps", "both"):
            Rank(rank, {"0": (0, 1)}).call().dump(tmp_path / folder)
        events = step(1, 0, 10), op("aten::mm", 1, 5)
        told = {"backend": "nccl", "rank": rank, "world_size": 2}
        path = tmp_path / "both" / f"host_{rank}.1.pt.trace.json"
        trace_files.write(path, document(*events, distributedInfo=told))
    found = {
        folder: {
            note.code: str(note.message) for note in tbp.open(tmp_path / folder).distributed().notes
        }
        for folder in ("dumps", "both")
    }
    assert "no_durations" in found["dumps"]
    assert "no_durations" not in found["both"]
    assert found["both"]["no_communication"] == "The traces contain no communication."
