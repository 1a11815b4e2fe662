"""Launches and waits of host threads, in traces of a few events (times in µs)."""

from __future__ import annotations

from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.simulation import launches_and_waits
from tb_privateuse1.trace.model import NONE, Trace
from tests.support.make import kernel, launch, op, span, trace


def submitted(made: Trace) -> list[int]:
    """Return when each activity was submitted."""
    found = launches_and_waits.find_submissions(made, device_bound.find_waits(made))
    return (found.at_ns // 1000).tolist()


def waits(made: Trace) -> list[tuple[int, int, list[int]]]:
    """Return start, end and awaited activities of each wait."""
    calls = device_bound.find_waits(made)
    found = launches_and_waits.find_waits(
        made, launches_and_waits.find_submissions(made, calls), calls
    )
    return [
        (int(a) // 1000, int(b) // 1000, found.kernel[found.wait == i].tolist())
        for i, (a, b) in enumerate(zip(found.start_ns, found.end_ns, strict=True))
    ]


def test_a_launch_submits_at_its_start() -> None:
    """An activity without a launch has its own start."""
    made = trace(op("a", 0, 10), launch(2, 4, 1), kernel("k", 7, 9, 1), kernel("x", 20, 22))
    found = launches_and_waits.find_submissions(made, device_bound.find_waits(made))
    assert submitted(made) == [2, 20]
    assert found.thread.tolist() == [made.launches.thread[0], NONE]


def test_a_blocked_launch_submits_at_its_end() -> None:
    """A launch of half a millisecond waited for a place in the queue."""
    made = trace(
        op("a", 0, 800), launch(1, 3, 1), launch(10, 700, 2),
        kernel("k", 5, 690, 1), kernel("k", 702, 710, 2),
    )  # fmt: skip
    assert submitted(made) == [1, 700]
    assert waits(made) == [(10, 700, [0])]


def test_a_synchronization_waits_for_the_latest_activity() -> None:
    """The wait ends behind the last activity launched before it."""
    made = trace(
        op("a", 0, 10), launch(1, 2, 1), launch(3, 4, 2), kernel("k", 5, 30, 1),
        kernel("k", 30, 50, 2), span("cuda_runtime", "cudaStreamSynchronize", 12, 52),
    )  # fmt: skip
    assert waits(made) == [(12, 52, [1])]


def test_a_call_that_drains_the_device_is_a_wait() -> None:
    """The call frees memory: it returns as the kernel has ended."""
    for until, awaited in ((205, [0]), (400, None)):
        made = trace(
            op("a", 0, 10), launch(1, 2, 1), kernel("k", 5, 200, 1),
            span("cuda_runtime", "cudaFree", 20, until), op("b", 500, 510),
        )  # fmt: skip
        assert waits(made) == ([] if awaited is None else [(20, until, awaited)])


def test_thread_starts() -> None:
    """Each thread with operators or calls starts with the first one."""
    made = trace(op("a", 5, 9), launch(3, 4, 1), op("b", 20, 30, thread=2))
    threads, starts = launches_and_waits.thread_starts(made)
    first = min(starts.tolist())
    assert [(start - first) // 1000 for start in starts.tolist()] == [0, 17]
    assert len(threads) == 2


def waited(first_us: float) -> int:
    """Return when the copy of a waiting operator is submitted, behind work of ``first_us``."""
    made = trace(
        op("aten::mm", 0, 10, id=1), op("aten::_local_scalar_dense", 20, 100, id=2),
        elapsed={1: first_us, 2: 2.0},
    )  # fmt: skip
    return submitted(made)[1]


def test_an_operator_that_waits_submits_late_on_an_idle_stream() -> None:
    """Behind other work it submits as it begins; on an idle stream nothing else was late."""
    assert waited(75.0) == 20
    assert waited(2.0) > 50


def test_a_wait_includes_what_is_in_a_task_queue() -> None:
    """The queue's thread launches the second kernel only while the host waits already."""
    linked = [{"External id": number, "correlation": number} for number in (1, 2)]
    made = trace(
        op("aten::mm", 0, 10, id=1),
        op("aten::mm", 10, 20, id=2),
        span("cuda_runtime", "cudaLaunchKernel", 12, 14, thread=2, **linked[0]),
        span("cuda_runtime", "cudaLaunchKernel", 40, 42, thread=2, **linked[1]),
        span("cuda_runtime", "cudaDeviceSynchronize", 25, 70),
        kernel("gemm", 16, 20, 1),
        kernel("gemm", 44, 68, 2),
    )
    assert waits(made) == [(25, 70, [1])]
