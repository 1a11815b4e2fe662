"""Events that contradict each other are left out; noise is not a contradiction."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.inference.device_timeline.stream_solution import contradicted_ends


def ends(*excess: int) -> list[int]:
    return np.flatnonzero(contradicted_ends(np.array(excess))).tolist()


def test_events_that_agree_within_noise_contradict_nothing() -> None:
    assert ends(-5000, 0, 300, -20, 299) == []


def test_a_contradiction_ends_where_its_excess_is_largest() -> None:
    """Beyond its two ends it fades out over many events, which are not its reason."""
    assert ends(-900, 400, 2000, 9000, 9000, 9000, 5000, 1000, -900) == [2, 3, 5, 6]


def test_of_two_contradictions_that_overlap_both_are_told() -> None:
    assert ends(500, 9000, 500, 500, 8000, 500) == [0, 1, 2, 3, 4, 5]
    assert {1, 8} <= set(ends(0, 9000, 4000, 3000, 3000, 3000, 3000, 4000, 8000, 0))


def test_the_first_and_the_last_event_have_one_neighbor() -> None:
    assert ends(7000) == [0]
    assert ends(7000, -100) == [0, 1]
