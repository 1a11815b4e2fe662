"""Reasons for a rank being slow, in small traces."""

from __future__ import annotations

from tb_privateuse1.analysis.account.classes import IDLE
from tb_privateuse1.analysis.ranks import collectives
from tb_privateuse1.analysis.ranks.host_causes import HostParts
from tb_privateuse1.trace.model import Trace
from tests.support.make import Event, annotation, kernel, launch, op, span, step, trace

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
TOLD = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
        "Out msg nelems": 1000, "Group size": 2, "Process Group Name": "0"}  # fmt: skip


def host(t: Trace) -> HostParts:
    return collectives.reduce_trace(t).host


def test_idle_time_by_cause_without_communication() -> None:
    """Idle time by cause excludes communication."""
    found = host(
        trace(
            step(1, 0, 1000), annotation(LOADER, 0, 300), op("aten::mm", 300, 320),
            launch(310, 311, 1), kernel("gemm", 315, 500, 1),
            annotation("gloo:all_reduce", 600, 800, thread=7),
        )
    )  # fmt: skip
    assert set(found.idle) <= set(IDLE)
    assert found.idle["input"].tolist() == [300_000]
    assert "other_rank" not in found.idle
    part = collectives.reduce_trace(trace(step(1, 0, 10)))
    assert part.host.idle["input"].tolist() == [0]


def test_causes_sum_to_the_idle_time_of_the_step() -> None:
    """Causes sum to the step's idle time."""
    part = collectives.reduce_trace(
        trace(
            step(1, 0, 1000), op("aten::mm", 0, 20), launch(10, 11, 1), kernel("gemm", 30, 200, 1),
            annotation("gloo:all_reduce", 100, 400, thread=7), op("aten::mm", 500, 600),
            launch(590, 591, 2), kernel("gemm", 600, 700, 2),
        )
    )  # fmt: skip
    assert sum(int(c.sum()) for c in part.host.idle.values()) == int(part.steps.idle_ns.sum())


def test_without_a_device_only_the_loader_is_a_cause() -> None:
    """Without a device only data loading is a cause."""
    found = host(trace(step(1, 0, 100), annotation(LOADER, 0, 40), op("aten::mm", 30, 60)))
    assert {name: ns.tolist() for name, ns in found.idle.items()} == {"input": [30_000]}
    assert found.kernels == {}


def waits(returns: float, thread: int = 1) -> int:
    """Return the host's wait for a collective of 100 µs whose call returns this long after it."""
    events: list[Event] = [
        step(1, 0, 1000), op("aten::mm", 0, 9), launch(1, 2, 1), kernel("gemm", 10, 100, 1),
        op("c10d::allreduce_", 10, 30), launch(20, 21, 2),
        kernel("ncclAllReduce", 100, 200, 2, stream=9, **TOLD),
        span("cuda_runtime", "cudaStreamSynchronize", 50, 200 + returns, thread=thread),
    ]  # fmt: skip
    return int(host(trace(*events)).held_ns.sum())


def test_a_wait_that_returns_behind_a_collective_holds_the_host() -> None:
    """A wait that returns behind a collective counts."""
    assert (waits(1), waits(99), waits(101)) == (100_000, 100_000, 0)


def test_threads_without_launches_do_not_count() -> None:
    """Threads without launches do not count."""
    assert waits(1, thread=5) == 0


def test_kernels_per_complete_step() -> None:
    """Kernel times are means over complete steps."""
    both = [
        e
        for i in range(2)
        for e in (
            step(i, 1000 * i, 1000 * i + 900), op("aten::mm", 1000 * i, 1000 * i + 9),
            launch(1000 * i + 1, 1000 * i + 2, i), kernel("gemm", 1000 * i + 10, 1000 * i + 110, i),
        )
    ]  # fmt: skip
    assert host(trace(*both)).kernels == {"gemm": 100_000}
