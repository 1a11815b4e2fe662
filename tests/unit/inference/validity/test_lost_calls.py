"""Recordings that have the driver's calls without those of the runtime."""

from __future__ import annotations

from tb_privateuse1.analysis.recording.phases import phases
from tests.support.make import Event, kernel, launch, op, step, trace
from tests.support.quality import found, sure


def program(*, runtime: bool) -> list[Event]:
    """A step of 1000 us whose work takes 100: the profiler's own range ends at 200."""
    driver = launch(20, 25, 1) | {"cat": "cuda_driver", "name": "cuLaunchKernel"}
    wait = launch(90, 100, 2) | {"name": "cudaDeviceSynchronize"}
    span = op("PyTorch Profiler (0)", -50, 200) | {"cat": "Trace", "pid": "Spans"}
    events = [step(1, 0, 1000), op("mm", 10, 80, id=1), driver, kernel("gemm", 30, 60, 1), span]
    return [*events, wait] if runtime else events


def test_the_drivers_calls_alone_are_said() -> None:
    assert found(trace(*program(runtime=True)), "missing_runtime_calls") is None
    finding = sure(trace(*program(runtime=False)), "missing_runtime_calls")
    assert "1 calls of the device's driver" in str(finding.message)
    assert set(finding.affects) >= {"totals", "steps"}


def test_calls_of_the_runtime_alone_are_no_finding() -> None:
    events = [op("mm", 10, 80, id=1), launch(20, 25, 1), kernel("gemm", 30, 60, 1)]
    assert found(trace(*events), "missing_runtime_calls") is None


def test_a_step_behind_the_profilers_range_ends_with_the_profiler() -> None:
    for runtime, work_us in ((True, 100), (False, 80)):
        *_, last = phases(trace(*program(runtime=runtime)))
        assert (last.kind, last.start_ns, last.end_ns) == ("profiler_stop", work_us * 1000, 10**6)
    whole = [event for event in program(runtime=False) if event["cat"] != "Trace"]
    assert [phase.kind for phase in phases(trace(*whole))] == ["steady"]
