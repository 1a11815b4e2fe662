"""Waits of collectives for other ranks."""

from __future__ import annotations

from tb_privateuse1.analysis.simulation.rank_waits import rank_waits_ns
from tests.support.make import kernel, launch, op, trace


def collectives(*lengths_us: int) -> list[int]:
    """Return the waits of all-reduces of these lengths, in µs."""
    events = []
    for n, length in enumerate(lengths_us):
        at = 1000 * n
        events += [
            op("aten::mm", at, at + 5),
            launch(at + 1, at + 3, n + 1),
            kernel("ncclDevKernel_AllReduce_Sum_f32", at + 10, at + 10 + length, n + 1),
        ]
    return (rank_waits_ns(trace(*events)) // 1000).tolist()


def test_the_shortest_of_a_kind_waits_least() -> None:
    """What others take longer is their wait."""
    assert collectives(100, 140, 100, 400) == [0, 40, 0, 300]


def test_of_few_collectives_nothing_is_known() -> None:
    """Two of a kind are not enough."""
    assert collectives(100, 400) == [0, 0]


def test_other_activities_wait_for_nobody() -> None:
    """Kernels that do not communicate have no such wait."""
    assert rank_waits_ns(trace(op("a", 0, 9), kernel("gemm", 1, 5))).tolist() == [0]
