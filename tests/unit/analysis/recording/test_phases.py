"""Phases of recordings: each kind by its mechanism, and steady where no event shows another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.analysis.recording.capture_and_compilation import compilations
from tb_privateuse1.analysis.recording.phases import Phase, phases
from tb_privateuse1.trace.model import Trace
from tests.support import make
from tests.support.program import Program, device_bound


def unsteady(trace: Trace) -> list[Phase]:
    """The phases that are not steady; all of them tile the recording."""
    found = phases(trace)
    edges = [0, *(phase.end_ns for phase in found)]
    assert [phase.start_ns for phase in found] == edges[:-1]
    assert edges[-1] == trace.end_ns
    assert all(phase.start_ns < phase.end_ns for phase in found)
    assert all(bool(phase.rows) == (phase.table is not None) for phase in found)
    return [phase for phase in found if phase.kind != "steady"]


def called(name: str, start: float, end: float, correlation: int = -1) -> make.Event:
    """A call of the runtime."""
    return make.span("cuda_runtime", name, start, end, correlation=correlation)


def steps(run: Program, count: int) -> Program:
    """Add steps of the same work to a program."""
    for _ in range(count):
        with run.step():
            for _ in range(5):
                run.op("aten::mm", 10, kernel=50)
            run.wait()
    return run


def slow_launch(name: str, us: float, waiting: float = 0) -> Program:
    """A program whose first launch takes long; its kernel starts ``waiting`` µs later."""
    run = Program()
    with run.step():
        start, run.now = run.now, run.now + us
        run.launched += 1
        run.events.append(make.launch(start, run.now, run.launched))
        begin = run.now + waiting
        run.events.append(make.kernel(name, begin, begin + 50, run.launched))
        run.device = begin + 50
        run.events.append(make.op("aten::mm", start, run.now))
    return steps(run, 3)


def test_a_program_without_any_is_steady() -> None:
    assert unsteady(device_bound().trace()) == []


def test_an_empty_trace_has_no_phases() -> None:
    assert phases(Trace()) == ()


def test_the_first_launch_of_a_kernel_loads_it() -> None:
    (found,) = unsteady(slow_launch("gemm", 20_000).trace())
    assert (found.kind, found.start_ns, found.end_ns) == ("startup", 0, 20_000_000)
    assert (found.table, found.rows) == ("launches", (0,))
    assert "cudaLaunchKernel took 20.0 ms, a later one 1.00 µs" in found.sentence


def test_a_launch_that_waits_for_a_place_in_the_queue_is_no_startup() -> None:
    found = unsteady(slow_launch("gemm", 2_000, waiting=30_000).trace())
    assert "startup" not in {phase.kind for phase in found}


def test_a_later_long_launch_is_no_startup() -> None:
    run = steps(Program(), 2)
    start, run.now = run.now, run.now + 20_000
    with run.step():
        run.events.append(make.launch(start, run.now, 1000))
        run.events.append(make.kernel("gemm", run.now, run.now + 50, 1000))
        run.device = run.now + 50
    assert unsteady(steps(run, 2).trace()) == []


def test_a_lone_long_call_of_the_runtime_is_startup() -> None:
    run = Program()
    with run.step():
        run.events.append(called("cudaMalloc", 0, 5000))
        run.now = 5000
    (found,) = unsteady(steps(run, 3).trace())
    assert (found.kind, found.end_ns) == ("startup", 5_000_000)


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("cudaStreamBeginCapture", "cudaStreamEndCapture"),
        ("hipStreamBeginCapture", "hipStreamEndCapture"),
        ("aclmdlRICaptureBegin", "aclmdlRICaptureEnd"),
        ("musaStreamBeginCapture_v2", "musaStreamEndCapture"),
    ],
)
def test_launches_between_begin_and_end_are_a_capture(begin: str, end: str) -> None:
    launches = [make.launch(100 + 10 * i, 105 + 10 * i, i) for i in range(20)]
    t = make.trace(
        make.op("aten::mm", 0, 500), make.launch(1, 2, 90), make.kernel("gemm", 2, 5, 90),
        called(begin, 50, 60), *launches, called(end, 400, 410),
    )  # fmt: skip
    (found, *_) = unsteady(t)
    assert (found.kind, found.start_ns, found.end_ns) == ("capture", 50_000, 410_000)
    assert begin in found.sentence


def test_launches_without_activity_before_an_instantiation_are_a_capture() -> None:
    launches = [make.launch(100 + 10 * i, 105 + 10 * i, i) for i in range(20)]
    t = make.trace(
        make.op("aten::mm", 0, 500), make.launch(1, 2, 90), make.kernel("gemm", 2, 5, 90),
        *launches, called("cudaGraphInstantiate", 400, 410),
    )  # fmt: skip
    (found,) = unsteady(t)
    assert (found.kind, found.start_ns, found.end_ns) == ("capture", 100_000, 410_000)


def test_the_question_whether_a_stream_captures_is_no_capture() -> None:
    run = steps(Program(), 2)
    run.events.append(called("cudaStreamIsCapturing", 5, 6))
    run.events.append(called("cudaStreamGetCaptureInfo_v2", 7, 8))
    assert unsteady(run.trace()) == []


def test_compilation_before_the_first_clean_step_is_a_phase() -> None:
    run = Program()
    with run.step(), run.range("compile_fx_inner (dynamo_timed)"):
        run.rest(5000)
    (found,) = unsteady(steps(run, 3).trace())
    assert (found.kind, found.start_ns, found.end_ns) == ("compilation", 0, 5_000_000)


@pytest.mark.parametrize("launches", [True, False])
def test_a_call_that_compiles_and_launches_is_no_compilation(launches: bool) -> None:
    """``aclopCompileAndExecute`` also launches what it compiled long ago."""
    call = make.launch(10, 50, 7) | {"name": "aclopCompileAndExecute"}
    spans, _, _, calls = compilations(
        make.trace(call, make.kernel("conv", 60, 90, 7 if launches else 8))
    )
    assert len(spans[0]) == len(calls) == (0 if launches else 1)


def test_compilation_in_the_loop_is_the_program() -> None:
    run = steps(Program(), 2)
    with run.step(), run.range("compile_fx_inner (dynamo_timed)"):
        run.rest(5000)
    assert unsteady(steps(run, 2).trace()) == []


def test_compilation_in_every_step_is_the_program() -> None:
    run = Program()
    for _ in range(3):
        with run.step(), run.range("compile_fx_inner (dynamo_timed)"):
            run.op("aten::mm", 2000, kernel=50)
    assert unsteady(run.trace()) == []


def test_activities_from_before_the_first_launch_are_a_drain() -> None:
    early = [make.kernel("gemm", 100 * i, 100 * i + 90) for i in range(10)]
    run = Program()
    run.now, run.device = 50, 1000
    found, *_ = unsteady(make.trace(*early, *steps(run, 2).events))
    assert (found.kind, found.start_ns, found.end_ns) == ("drain", 0, 990_000)
    assert found.table == "kernels"


def test_a_monitor_that_waits_is_no_drain() -> None:
    """Only threads that drive the device can wait for work from before the recording."""
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=20)
            run.rest(900)
    wait = make.span("cuda_runtime", "cudaEventSynchronize", 3, run.now - 3, thread=8)
    run.events.append(wait)
    assert unsteady(run.trace()) == []


def test_a_first_wait_on_an_idle_device_is_a_drain() -> None:
    run = Program()
    with run.step():
        run.op("aten::mm", 10, kernel=50)
        run.events.append(called("hipMemcpyWithStream", run.now + 100, run.now + 9100, 500))
        done = run.now + 9100
        copy = make.kernel("Memcpy HtoD", done - 20, done, 500, category="gpu_memcpy")
        run.events.append(copy)
        run.now = run.device = done
    (found,) = unsteady(steps(run, 3).trace())
    assert (found.kind, found.start_ns) == ("drain", 111_000)
    assert found.end_ns == round((done - 20) * 1000)
    assert "hipMemcpyWithStream" in found.sentence


def test_waits_that_recur_on_an_idle_device_are_the_program() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=50)
            run.wait()
            run.events.append(called("cudaDeviceSynchronize", run.now, run.now + 2000))
            run.rest(2000)
    assert unsteady(run.trace()) == []


def test_the_profilers_synchronization_is_its_stop() -> None:
    run = steps(Program(), 3)
    end = run.now
    run.events.append(called("cudaDeviceSynchronize", end + 10, end + 800))
    (found,) = unsteady(run.trace())
    assert (found.kind, found.start_ns) == ("profiler_stop", round(end * 1000))
    assert found.table == "launches"


def stays_open(waits: str, last: str) -> Trace:
    """Steps that end with one wait, the last one with another; it stays open behind that."""
    run = Program()
    for number in range(4):
        with run.step():
            for _ in range(5):
                run.op("aten::mm", 100, kernel=50)
            for name in filter(None, [waits, last if number == 3 else ""]):
                run.wait(name)
            run.rest(5000 if number == 3 else 0)
    return run.trace()


def test_a_last_step_that_stays_open_behind_a_synchronization_is_a_stop() -> None:
    (found,) = unsteady(stays_open("", "cudaDeviceSynchronize"))
    assert (found.kind, found.start_ns, found.table) == ("profiler_stop", 2_071_000, "launches")


def test_a_last_step_without_the_profilers_synchronization_is_its_own() -> None:
    assert unsteady(stays_open("", "")) == []
    assert unsteady(stays_open("cudaStreamSynchronize", "")) == []


def test_a_first_iteration_ten_times_as_long_is_startup() -> None:
    run = Program()
    for number in range(5):
        with run.step():
            for _ in range(20):
                run.op("aten::mm", 200 if number == 0 else 10, kernel=5)
    (found,) = unsteady(run.trace())
    assert (found.kind, found.start_ns, found.end_ns) == ("startup", 0, 4_020_000)
    assert "The first iteration took 4.02 ms, later ones 220 µs at most" in found.sentence


def test_a_pause_at_the_end_of_each_step_is_the_program() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=50)
            run.rest(5000)
    assert unsteady(run.trace()) == []


def test_work_that_the_last_synchronization_awaits_is_steady() -> None:
    run = Program()
    for _ in range(50):
        run.op("aten::mm", 2, kernel=100)
    run.wait("cudaDeviceSynchronize")
    assert unsteady(run.trace()) == []


@pytest.mark.long
@given(st.lists(st.tuples(st.integers(1, 300), st.integers(1, 300)), min_size=1, max_size=12))
def test_ordinary_programs_are_steady_and_a_waiting_thread_changes_nothing(
    work: list[tuple[int, int]],
) -> None:
    run = Program()
    for host, device in work:
        with run.step():
            run.op("aten::mm", host, kernel=device)
            run.wait()
    alone = run.trace()
    run.events.append(make.frame("threading.py(327): wait", 0, run.now, thread=99))
    assert unsteady(alone) == []
    assert unsteady(run.trace()) == []
