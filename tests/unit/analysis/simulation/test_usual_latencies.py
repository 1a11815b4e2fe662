"""Usual latencies of a trace: launch gaps without outliers, pauses of streams, returns of waits."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.simulation import usual_latencies
from tb_privateuse1.analysis.simulation.launches_and_waits import Submissions
from tb_privateuse1.trace.model import NONE, Trace
from tests.support.make import kernel, op, trace


def submission(*at_us: int) -> Submissions:
    """Return submissions of one thread at these times."""
    return Submissions(np.zeros(len(at_us), np.int32), np.array(at_us, np.int64) * 1000)


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        ([], (0, 0)),
        ([5_000] * 10, (5_000, 5_000)),
        ([1_000] * 99 + [900_000], (1_000, 1_000)),
        ([1_000] * 50 + [900_000] * 40, (1_000, 4_000)),
        ([100] * 50 + [900_000] * 40, (100, 2_000)),
    ],
)
def test_the_usual_maximum_ignores_outliers(gaps: list[int], expected: tuple[int, int]) -> None:
    """It is the 95th percentile, at most 4 medians or 2 µs."""
    assert usual_latencies.typical_and_most(np.array(gaps, np.int64)) == expected


def two() -> Trace:
    """Return two activities of one stream, with a pause of 2 µs."""
    return trace(kernel("a", 0, 10), kernel("b", 12, 20))


def test_a_launch_to_a_free_stream_takes_the_whole_gap() -> None:
    """Behind other work the latency is at most the usual one."""
    made = trace(op("o", 0, 1), kernel("a", 10, 20), kernel("b", 40, 50), kernel("c", 50, 60))
    known, before = np.arange(3), np.array([NONE, 0, 1])
    latency, typical = usual_latencies.launch_latencies(made, submission(5, 35, 36), known, before)
    assert latency.tolist() == [5_000, 5_000, 5_000]
    assert typical == 5_000


def test_a_stream_is_a_chain_with_pauses() -> None:
    """Each activity has a predecessor and a pause."""
    before, gap, most = usual_latencies.stream_gaps(two().kernels, submission(0, 1))
    assert before.tolist() == [NONE, 0]
    assert gap.tolist() == [0, 2_000]
    assert most == 2_000


def test_overlapping_activities_are_in_several_chains() -> None:
    """An activity that starts before its predecessor ends begins another chain."""
    kernels = trace(kernel("a", 0, 10), kernel("b", 5, 15), kernel("c", 10, 20)).kernels
    before, _, _ = usual_latencies.stream_gaps(kernels, submission(0, 0, 0))
    assert before.tolist() == [NONE, NONE, 0]
    assert usual_latencies.chain_of(before).tolist() == [0, 1, 0]


def test_an_unexplained_start_behind_another_stream_is_an_edge() -> None:
    """The start on stream 8 waited for the end on stream 7."""
    kernels = trace(kernel("a", 0, 10), kernel("b", 11, 20, stream=8)).kernels
    ended, begun, pause = usual_latencies.between_streams(kernels, np.array([0, 9_000]), 0)
    assert (ended.tolist(), begun.tolist(), pause.tolist()) == ([0], [1], [1_000])
    none, _, _ = usual_latencies.between_streams(kernels, np.zeros(2, np.int64), 0)
    assert none.tolist() == []
