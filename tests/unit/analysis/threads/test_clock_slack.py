"""The disagreement of both clocks, from what cannot be (times in µs)."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.threads.clock_slack import clock_slack_ns
from tb_privateuse1.trace.model import Trace
from tests.support import make
from tests.support.make import kernel, launch, op, span, trace


def copies(late: float, latency: float = 8) -> Trace:
    """Return a trace of blocking copies that end ``late`` µs behind the return of their call."""
    events: list[make.Event] = []
    for i in range(10):
        at = 1000 * i
        events += [
            op("aten::mm", at, at + 20),
            launch(at + 5, at + 10, 2 * i),
            kernel("gemm", at + 5 + latency, at + 300, 2 * i),
            span("cuda_runtime", "cudaMemcpyAsync", at + 30, at + 400, correlation=2 * i + 1),
            kernel("Memcpy DtoH (Device -> Pageable)", at + 305, at + 400 + late, 2 * i + 1,
                   category="gpu_memcpy"),
        ]  # fmt: skip
    return trace(*events)


@pytest.mark.parametrize(("late", "slack"), [(-3, 0), (0, 0), (2, 2000), (4.5, 4500)])
def test_a_copy_cannot_end_behind_its_wait(late: float, slack: int) -> None:
    assert clock_slack_ns(copies(late)) == slack


def test_clocks_cannot_disagree_by_more_than_the_shortest_launch() -> None:
    """What ends later than that is a copy that nobody waits for."""
    assert clock_slack_ns(copies(12, latency=8)) == 0


def test_an_activity_cannot_start_before_its_launch() -> None:
    def early(by: float, count: int = 5) -> Trace:
        events: list[make.Event] = [op("a", 0, 5000)]
        for i in range(count):
            at = 1000 * i + 100
            events += [launch(at, at + 5, i), kernel("k", at - by, at + 60, i)]
        return trace(*events)

    assert clock_slack_ns(early(3)) == 3000
    assert clock_slack_ns(early(46)) == 0, "a wrong link"
    assert clock_slack_ns(early(3, count=2)) == 0, "too few"


def test_without_launches_there_is_no_evidence() -> None:
    assert (clock_slack_ns(Trace()), clock_slack_ns(trace(kernel("k", 0, 10)))) == (0, 0)
