"""Dependencies in traces of a few events; the recording is its own replay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tb_privateuse1.analysis.simulation import baseline, dependency_graph
from tb_privateuse1.analysis.simulation.delays import DELAYS
from tb_privateuse1.analysis.simulation.dependency_graph import (
    GUESS,
    LAUNCH,
    STREAM,
    TURN,
    WAIT,
    Graph,
)
from tb_privateuse1.analysis.simulation.replay import NEVER
from tb_privateuse1.trace.model import Trace
from tests.support.make import annotation, kernel, launch, op, span, step, trace
from tests.support.repeats import sampled
from tests.support.shared_traces import TRACES, load, needs_traces


def waiting() -> Trace:
    """Build a step that launches two kernels and waits: the device determines its end."""
    return trace(
        step(1, 0, 100),
        op("aten::mm", 10, 20, id=1),
        launch(12, 15, 1),
        kernel("mm", 17, 57, 1),
        op("aten::add", 30, 40, id=2),
        launch(32, 34, 2),
        kernel("add", 58, 78, 2),
        span("cuda_runtime", "cudaStreamSynchronize", 50, 80),
    )


def backward(engine: str = "autograd::engine::evaluate_function: MmBackward0") -> Trace:
    """Build a main thread that waits while autograd's thread works."""
    return trace(
        step(1, 0, 100),
        op("aten::mm", 10, 30, id=1),
        op(engine, 40, 80, id=2, thread=2),
        op("aten::add_", 85, 95, id=3),
    )


def edges(graph: Graph, kind: int) -> list[tuple[int, int, int]]:
    """Return the edges of a kind: the times of both ends and the gap, in µs."""
    rows = np.flatnonzero(graph.edges.kind == kind)
    source, target = graph.edges.source[rows], graph.edges.target[rows]
    ends = graph.time_ns[source] + graph.weights.length[source]
    return [
        (int(a) // 1000, int(b) // 1000, int(gap) // 1000)
        for a, b, gap in zip(ends, graph.time_ns[target], graph.weights.edge_gap[rows], strict=True)
    ]


def test_launches_and_waits() -> None:
    """Launches and waits are edges."""
    graph = dependency_graph.build_graph(waiting())
    # The second launch met a busy stream: it needs no more than the first one did.
    assert edges(graph, LAUNCH) == [(12, 17, 5), (32, 58, 5)]
    assert edges(graph, WAIT) == [(78, 80, 2)]
    assert graph.latency_ns == 5000
    assert not graph.weights.delay.any()


def test_a_stream_is_in_order() -> None:
    """A stream is a chain."""
    graph = dependency_graph.build_graph(waiting())
    n = len(graph.points)
    assert graph.before[n:].tolist() == [-1, n]
    assert graph.weights.gap[n:].tolist() == [0, 1000]


def test_a_call_that_waited_for_nothing_takes_its_time() -> None:
    """A wait without an activity takes its own time."""
    graph = dependency_graph.build_graph(
        trace(
            step(1, 0, 100),
            op("aten::mm", 10, 20),
            launch(12, 15, 1),
            kernel("mm", 17, 30, 1),
            span("cuda_runtime", "cudaDeviceSynchronize", 50, 54),
        )
    )
    end = np.flatnonzero(graph.points.at_ns == 54_000)
    assert graph.points.gap_ns[end].tolist() == [4000]


def test_a_copy_is_waited_for_by_its_call() -> None:
    """A blocking copy's call waits for it."""
    graph = dependency_graph.build_graph(
        trace(
            step(1, 0, 100),
            op("aten::copy_", 10, 60),
            span("cuda_runtime", "cudaMemcpyAsync", 12, 55, correlation=1),
            kernel("Memcpy DtoH", 20, 50, 1, category="gpu_memcpy"),
            op("aten::mm", 5, 8),
            launch(6, 7, 2),
            kernel("mm", 15, 53, 2, stream=9),
        )
    )
    assert edges(graph, WAIT) == [(50, 55, 5)]


@pytest.mark.parametrize("name", ["autograd::engine::evaluate_function: MmBackward0", "MmBackward"])
def test_turns_of_threads(name: str) -> None:
    """A hand-off has two edges; old torch does not name the engine."""
    graph = dependency_graph.build_graph(backward(name))
    assert edges(graph, TURN) == [(30, 40, 10), (80, 85, 5)]


def test_a_thread_that_works_meanwhile_waits_for_nobody() -> None:
    """A busy thread does not hand off."""
    t = trace(
        step(1, 0, 100),
        op("aten::mm", 10, 30),
        op("autograd::engine::evaluate_function: MmBackward0", 25, 80, thread=2),
        op("aten::add_", 85, 95),
    )
    assert edges(dependency_graph.build_graph(t), TURN) == []


def test_streams_that_follow_each_other() -> None:
    """The second stream's kernel, launched long before, starts as the first one's ends."""
    graph = dependency_graph.build_graph(
        trace(
            step(1, 0, 100),
            op("aten::mm", 0, 30),
            launch(1, 2, 1),
            kernel("a", 5, 10, 1, stream=9),
            launch(3, 4, 2),
            kernel("b", 7, 60, 2, stream=7),
            launch(12, 13, 3),
            kernel("c", 62, 70, 3, stream=9),
        )
    )
    assert (60, 62, 2) in edges(graph, STREAM)


def test_what_began_before_the_recording() -> None:
    """The first kernel waited for the warm-up's work: it starts no earlier, whatever changes."""
    graph = dependency_graph.build_graph(
        trace(
            step(1, 0, 9000),
            op("aten::mm", 0, 30),
            launch(1, 2, 1),
            kernel("a", 8000, 8010, 1),
            launch(3, 4, 2),
            kernel("b", 8011, 8020, 2),
        )
    )
    n = len(graph.points)
    assert DELAYS[graph.delay_cause[n]] == "before_recording"
    assert graph.weights.at[n:].tolist() == [8_000_000, NEVER]
    assert graph.weights.delay[n:].tolist() == [0, 0]


def test_overlapping_activities_of_a_stream() -> None:
    """Overlapping activities are in several chains."""
    graph = dependency_graph.build_graph(
        trace(step(1, 0, 99), op("x", 1, 9), launch(2, 3, 1), kernel("a", 5, 50, 1),
              launch(3, 4, 2), kernel("b", 7, 52, 2), launch(5, 6, 3), kernel("c", 55, 60, 3))
    )  # fmt: skip
    n = len(graph.points)
    assert graph.before[n:].tolist() == [-1, -1, n]


@pytest.mark.parametrize(
    "made", [waiting(), backward(), Trace(), trace(annotation("x", 1, 2)), trace(op("x", 1, 2))]
)
def test_the_recording_is_its_own_replay(made: Trace) -> None:
    """The replay of small traces is the recording."""
    check(made)


@needs_traces
@pytest.mark.parametrize("path", sampled(TRACES), ids=lambda p: p.parent.name)
def test_a_real_recording_is_its_own_replay(path: Path) -> None:
    """The replay of real traces is the recording."""
    check(load(path))


def check(made: Trace) -> None:
    """Check that every event is at its time, and every step as long as recorded."""
    graph = dependency_graph.build_graph(made)
    for column in (
        graph.weights.length,
        graph.weights.gap,
        graph.weights.delay,
        graph.weights.edge_gap[graph.edges.kind != GUESS],
    ):
        assert (column >= 0).all()
    assert graph.network.replay(graph.weights).tolist() == graph.time_ns.tolist()
    steps = made.steps
    if len(steps) and graph.step_first.min() >= 0:
        length = steps.end_ns - steps.start_ns
        assert baseline.replay_baseline(made, graph).held.tolist() == length.tolist()
