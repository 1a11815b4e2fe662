"""Clocks that are far from the others are named with their host."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.ranks.clock_alignment import Clocks
from tb_privateuse1.analysis.ranks.clock_notes import clock_notes
from tb_privateuse1.analysis.ranks.collectives import RankPart, reduce_trace
from tb_privateuse1.trace.model import MISSING, Trace

MS = 1_000_000


def messages(offsets_ns: list[int], hosts: list[str | None], residual_ns: int = 1000) -> list[str]:
    part = reduce_trace(Trace())
    parts: list[RankPart] = [replace(part, hostname=host) for host in hosts]
    offset = np.array(offsets_ns)
    residual = np.full(len(offset), residual_ns)
    clocks = Clocks(offset, offset, residual, np.ones_like(offset), np.zeros(0, np.bool_))
    return [note.message for note in clock_notes(range(len(parts)), parts, clocks)]


def test_a_host_far_off_is_one_note() -> None:
    offsets = [0, 0, 0, 100, -2500 * MS, -2500 * MS - 50]
    assert messages(offsets, ["a", "a", "b", "b", "c", "c"]) == [
        "The clock of host c (ranks 4, 5) is 2.50 s behind the others."
    ]


@pytest.mark.parametrize(("off_ms", "speaks"), [(9, False), (11, True)])
def test_from_ten_milliseconds_if_the_others_agree(off_ms: int, speaks: bool) -> None:
    said = messages([0, 0, 0, off_ms * MS], [None] * 4)
    assert said == (
        [f"The clock of rank 3 is {off_ms:.1f} ms ahead of the others."] if speaks else []
    )


def test_where_all_differ_only_a_second_is_far() -> None:
    drift = [0, 40 * MS, -60 * MS, 90 * MS]
    assert messages(drift, [None] * 4) == []
    assert len(messages([*drift, 1500 * MS], [None] * 5)) == 1


def test_a_clock_that_cannot_be_compared_is_not_named() -> None:
    assert messages([0, 0, 0, 50 * MS], [None] * 4, residual_ns=20 * MS) == []
    assert messages([0, int(MISSING)], [None] * 2) == []


def test_of_many_clocks_the_farthest_are_named_and_the_others_counted() -> None:
    offsets = [n * 1500 * MS * (-1) ** n for n in range(100)]
    said = messages(offsets, [f"node{n // 2}" for n in range(100)])
    assert len(said) == 21
    assert "rank" in said[0]
    assert said[-1].endswith(" more clocks are far from the others, by less.")
    assert "(ranks 98)" in said[-3] or "(ranks 98)" in said[-2]
