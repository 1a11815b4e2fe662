"""Steps that several threads of a process have at the same time."""

from __future__ import annotations

from tests.support.make import Event, kernel, launch, op, step, trace
from tests.support.quality import found, sure


def thread_of_steps(thread: int, shift: float = 0, first: int = 0, pid: int = 1) -> list[Event]:
    """Five steps of 100 us on a thread: an operator in each launches a kernel on its own stream."""
    events: list[Event] = []
    for i in range(5):
        t = 5_000_000 + 100 * i + shift
        host = [
            step(first + i, t, t + 95),
            op("aten::mm", t + 5, t + 50, id=100 * thread + i),
            launch(t + 10, t + 15, 1000 * thread + i),
        ]
        events += [event | {"tid": thread, "pid": pid} for event in host]
        events.append(kernel("gemm", t + 20, t + 60, 1000 * thread + i, stream=6 + thread))
    return events


def test_steps_of_one_thread_count_and_have_the_work_of_all() -> None:
    t = trace(*thread_of_steps(1), *thread_of_steps(2, 7))
    finding = sure(t, "concurrent_steps")
    assert (finding.count, "5 of 10" in str(finding.message)) == (5, True)
    assert [t.text(name) for name in t.steps.name] == [f"ProfilerStep#{i}" for i in range(5)]
    assert (t.steps.end_ns - t.steps.start_ns).tolist() == [95_000] * 5
    assert sorted(t.kernels.step.tolist()) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert found(t, "repeated_steps") is None


def test_two_profilers_count_from_different_numbers() -> None:
    t = trace(*thread_of_steps(1), *thread_of_steps(2, 7, first=40))
    assert sure(t, "concurrent_steps").count == 5
    assert len(t.steps) == 5


def test_threads_that_take_turns_and_processes_stay() -> None:
    assert len(trace(*thread_of_steps(1), *thread_of_steps(2, 1000, first=5)).steps) == 10
    joined = trace(*thread_of_steps(1), *thread_of_steps(2, 7, pid=2))
    assert found(joined, "concurrent_steps") is None
    assert sure(joined, "joined_recordings").count == 2
