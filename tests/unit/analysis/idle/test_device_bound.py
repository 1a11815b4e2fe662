"""Limits of a program: the device while it is awaited."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.idle.device_bound import Limits
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING, Trace
from tests.support import make
from tests.support.program import Program
from tests.support.simulate import Op, simulate


def whole(trace: Trace) -> Limits:
    window = intervals.union(trace.steps.start_ns, trace.steps.end_ns)
    return device_bound.find_limits(trace, window)


def kernels_of(trace: Trace) -> intervals.Set:
    return intervals.union(trace.kernels.start_ns, trace.kernels.end_ns)


def test_host_bound_program_gains_nothing_from_faster_kernels() -> None:
    """A host-bound program gains nothing from faster kernels."""
    run = Program()
    for _ in range(50):
        run.op("aten::mm", 100, kernel=20)
    found = whole(run.trace())
    assert intervals.length(found.of_device(kernels_of(run.trace()))) <= 21_000, "only the last"


def test_waiting_program_gains_the_wait() -> None:
    """The host is done after 50 x 10 µs and waits for 50 x 100 µs of work."""
    run = Program()
    for _ in range(3):
        for _ in range(50):
            run.op("aten::mm", 10, kernel=100)
        run.wait()
    trace = run.trace()
    found = whole(trace)
    saved = intervals.length(found.of_device(kernels_of(trace)))
    assert saved == pytest.approx(3 * (50 * 100 - 50 * 11) * 1000, rel=0.02)


def test_a_skew_of_clocks_hides_no_wait() -> None:
    """The device's clock is late: all waits return before the end of what they wait for."""

    def saved(late_us: float) -> float:
        run = Program()
        for _ in range(5):
            for _ in range(20):
                run.op("aten::mm", 10, kernel=100)
            run.copy("DtoH", 20)
            run.rest(100)
        device = [e for e in run.events if e["cat"] in ("kernel", "gpu_memcpy")]
        for event in device:
            event["ts"] += late_us
        trace = run.trace()
        return intervals.length(whole(trace).of_device(kernels_of(trace)))

    assert saved(0) > 5 * 20 * 60_000
    assert saved(1 + 0.5) == pytest.approx(saved(0), rel=0.01)


def test_inferred_times_count_as_they_are_estimated() -> None:
    """An instant is idle or busy; what is off lies within the bounds."""
    pair = [Op("aten::mm", 10_000, 2_000, kernel=20_000), Op("aten::view", 200_000, 200)]
    result = simulate(pair * 100)
    found, kernels = whole(result.trace), result.trace.kernels
    truth = intervals.union(result.start_ns, result.end_ns)
    both = intervals.length(found.all_idle) + intervals.length(found.busy)
    assert both == intervals.length(found.window)
    wrong = intervals.length(intervals.intersect(found.all_idle, truth))
    assert wrong <= int((kernels.start_bound_ns + kernels.duration_bound_ns).sum())
    assert wrong < 0.1 * intervals.length(truth)


def test_where_an_activity_has_no_bounds_nothing_is_idle() -> None:
    pair = [Op("aten::mm", 10_000, 2_000, kernel=20_000), Op("aten::view", 200_000, 200)]
    trace = simulate(pair * 50).trace
    start_bound = trace.kernels.start_bound_ns.copy()
    start_bound[7] = MISSING
    kernels = replace(trace.kernels, start_bound_ns=start_bound)
    found = whole(replace(trace, kernels=kernels))
    assert intervals.length(whole(trace).all_idle) > 0
    assert intervals.length(found.all_idle) == 0
    assert intervals.length(found.busy) < intervals.length(whole(trace).busy)


def test_waits_are_calls_copies_and_reads() -> None:
    """Calls, copies and reads are waits."""
    run = Program()
    run.op("aten::mm", 10, kernel=500)
    run.wait("cudaDeviceSynchronize")
    run.wait("cudaStreamWaitEvent")
    run.wait("cudaEventQuery")
    with run.around("aten::copy_"):
        run.copy("DtoH", 50)
        run.copy("HtoD", 50, blocking=False)
    trace = run.trace()
    waits = whole(trace).waits
    names = [trace.text(trace.launches.name[row]) for row in waits.launch]
    assert names == ["cudaDeviceSynchronize", "cudaMemcpyAsync"]
    assert (np.diff(waits.start_ns) > 0).all()


def test_without_device_times_only_a_host_alone_is_judged() -> None:
    """Without device times only host-only programs have limits."""
    host = make.trace(make.op("aten::mm", 0, 100))
    found = whole(host)
    assert (found.known, intervals.length(found.all_idle)) == ("host", 100_000)
    device = make.trace(make.op("aten::mm", 0, 100), make.memory(5, 8, 8))
    found = whole(device)
    assert (found.known, intervals.length(found.all_idle)) == ("none", 0)


def test_activities_of_no_length_give_no_limits() -> None:
    """Activities without length give no limits."""
    trace = make.trace(make.op("aten::mm", 0, 100), make.kernel("a", 10, 10), make.step(1, 0, 90))
    found = whole(trace)
    assert (found.known, intervals.length(found.all_idle)) == ("none", 0)


def test_a_blocked_launch_is_a_wait() -> None:
    """The queue is full: the host is as far ahead as it may be."""
    events = [make.op("aten::mm", 0, 10, id=1), make.launch(1, 2, 1), make.kernel("a", 10, 5000, 1)]
    events += [make.op("aten::mm", 20, 4000, id=2), make.launch(30, 3990, 2)]
    events += [make.kernel("b", 5000, 5010, 2)]
    trace = make.trace(*events)
    assert intervals.length(whole(trace).of_device(kernels_of(trace))) > 3_900_000


def test_threads_without_launches_have_no_waits() -> None:
    """Threads that pin memory or watch collectives do not count."""
    run = Program()
    run.op("aten::mm", 10, kernel=500)
    run.wait()
    watching = {"thread": 9, "correlation": 77}
    run.events.append(make.span("cuda_runtime", "cudaEventSynchronize", 0, 600, **watching))
    waits = whole(run.trace()).waits
    assert len(waits) == 1


def test_the_thread_that_hands_its_launches_to_a_queue_waits() -> None:
    """Another thread launches for it; a third one only watches."""
    calls = [
        make.span("cuda_runtime", "cudaDeviceSynchronize", 30, 60),
        make.span("cuda_runtime", "cudaDeviceSynchronize", 30, 60, thread=3),
        make.span("cuda_runtime", "cudaLaunchKernel", 12, 14, thread=2, correlation=1,
                  **{"External id": 7}),
    ]  # fmt: skip
    trace = make.trace(
        make.op("aten::mm", 0, 10, id=7),
        *calls,
        make.kernel("gemm", 20, 50, 1, **{"External id": 7}),
    )
    waits = device_bound.find_waits(trace)
    assert trace.launches.thread[waits.launch].tolist() == [trace.ops.thread[0]]
