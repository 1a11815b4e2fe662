"""Causes of delays, in traces of a few events (times in µs)."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.analysis.simulation import baseline, dependency_graph
from tb_privateuse1.analysis.simulation.delays import DELAYS
from tb_privateuse1.analysis.simulation.dependency_graph import Graph
from tb_privateuse1.trace.model import NONE, Trace
from tests.support.make import Event, kernel, launch, op, span, step, trace


def causes(graph: Graph) -> list[tuple[str, int, int]]:
    """Return the cause of each delay, when it ends, and its length in µs."""
    return [
        (DELAYS[graph.delay_cause[node]], int(graph.time_ns[node]) // 1000,
         int(graph.weights.delay[node]) // 1000)
        for node in np.flatnonzero(graph.delay_cause != NONE).tolist()
    ]  # fmt: skip


def prompt(*numbers: int) -> list[Event]:
    """Return launches every 100 µs whose kernels start 5 µs later."""
    return [
        event
        for n in numbers
        for event in (
            op("aten::mm", 100 * n, 100 * n + 10),
            launch(100 * n + 1, 100 * n + 4, n),
            kernel("mm", 100 * n + 6, 100 * n + 26, n),
        )
    ]


def replay_error_us(made: Trace) -> int:
    """Return by how much the replay of what is known misses the recording."""
    base = baseline.replay_baseline(made, dependency_graph.build_graph(made))
    return int((base.bare - base.held).sum()) // 1000


def test_a_wait_that_nothing_recorded_explains_is_blocked() -> None:
    """The call lasts 400 µs, though all work is done."""
    made = trace(*prompt(1, 2), span("cuda_runtime", "cudaStreamSynchronize", 300, 700))
    assert causes(dependency_graph.build_graph(made)) == [("blocked", 600, 380)]
    assert replay_error_us(made) == 0


def test_a_wait_before_all_launches_is_for_work_from_before_the_recording() -> None:
    """Nothing was launched in the recording: the wait ends when it did."""
    wait = span("cuda_runtime", "cudaDeviceSynchronize", 2, 90)
    graph = dependency_graph.build_graph(trace(op("aten::mm", 0, 95), wait, *prompt(1, 2)))
    assert causes(graph) == [("before_recording", 90, 0)]
    assert graph.weights.at[graph.wait_end].tolist() == [90_000]


def test_a_first_copy_does_not_wait_for_work_from_before_the_recording() -> None:
    """The call returns 12 µs before its copy ends. It moves with the code before it."""
    call = span("cuda_runtime", "cudaMemcpyAsync", 5001, 8400, correlation=9)
    copy = kernel("Memcpy HtoD", 5170, 8412, 9, category="gpu_memcpy")
    later = prompt(100, 101, 102)
    made = trace(op("aten::ones", 0, 10), op("aten::copy_", 5000, 8405), call, copy, *later)
    assert "before_recording" not in {
        name for name, _, _ in causes(dependency_graph.build_graph(made))
    }


def test_a_late_start_on_a_free_stream_is_unattributed() -> None:
    """The kernel starts 80 µs behind its launch, and nothing ran."""
    late = (op("aten::mm", 300, 310), launch(301, 304, 9), kernel("mm", 386, 400, 9))
    made = trace(*prompt(1, 2), *late)
    assert causes(dependency_graph.build_graph(made)) == [("unattributed", 286, 65)]
    assert replay_error_us(made) == -65


def test_activities_without_a_launch() -> None:
    """Before the first one with a launch they are from before the recording, later unknown."""
    made = trace(kernel("old", 0, 40), *prompt(1, 2), kernel("lost", 300, 310))
    graph = dependency_graph.build_graph(made)
    assert causes(graph) == [("before_recording", 0, 0), ("unknown_launch", 300, 74)]
    assert replay_error_us(made) == 0


def graph_replay(middle_us: int) -> Trace:
    """Build two replays of a graph of three kernels on two streams, with recorded gaps."""
    events: list[Event] = []
    for n in range(2):
        at = 400 * n
        events += [
            step(n, at, at + 400),
            op("aten::replay", at + 5, at + 40),
            span("cuda_runtime", "cudaGraphLaunch", at + 10, at + 35, correlation=n + 1),
            kernel("first", at + 60, at + 100, n + 1),
            kernel("middle", at + 130, at + 130 + middle_us, n + 1, stream=9),
            kernel("last", at + 170 + middle_us, at + 190 + middle_us, n + 1),
            span("cuda_runtime", "cudaStreamSynchronize", at + 50, at + 195 + middle_us),
        ]
    return trace(*events)


def test_a_graph_keeps_its_inner_gaps() -> None:
    """The gaps inside of a graph are no delays, and a shorter kernel moves those behind it."""
    made = graph_replay(100)
    graph = dependency_graph.build_graph(made)
    assert causes(graph) == []
    n = len(graph.points)
    weights = graph.weights
    length = weights.length.copy()
    length[n:][made.kernels.name == made.strings.index("middle")] -= 50_000
    shorter = replace(weights, length=length)
    moved = graph.network.replay(shorter)[n:]
    first = made.kernels.start_ns[:3].tolist()
    assert moved[:3].tolist() == [first[0], first[1], first[2] - 50_000]
