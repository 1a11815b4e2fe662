"""Edges of the graph by recorded events, and by time where none is recorded."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.simulation import (
    baseline,
    changes,
    dependency_graph,
    excerpt,
    launches_and_waits,
    prediction,
    stream_edges,
)
from tb_privateuse1.trace.model import Trace
from tests.support.make import Event, kernel, launch, op, span, step, trace
from tests.unit.inference.test_event_waits import call, sync

WAIT = (call("cudaStreamWaitEvent", 8, 4), sync("Stream Wait Event", 4, 8, wait_on=7, record=2))


def independent(*more: Event) -> Trace:
    """The second stream begins long after the event for which it waits: its host was late."""
    return trace(
        step(1, 0, 200),
        op("aten::mm", 0, 100, id=1),
        launch(0, 2, 1), kernel("first", 6, 30, 1, stream=7),
        call("cudaEventRecord", 3, 2),
        launch(60, 62, 3), kernel("second", 66, 90, 3, stream=8),
        span("cuda_runtime", "cudaDeviceSynchronize", 70, 92),
        *more,
    )  # fmt: skip


def edges(made: Trace) -> list[tuple[str, str]]:
    submission = launches_and_waits.find_submissions(made, device_bound.find_waits(made))
    source, target = stream_edges.wait_edges(made, submission.at_ns)
    name = made.kernels.name
    return [
        (made.text(name[one]), made.text(name[other]))
        for one, other in zip(source, target, strict=True)
    ]


def gain(made: Trace, line: str) -> int:
    base = baseline.replay_baseline(made, dependency_graph.build_graph(made))
    graph = dependency_graph.build_graph(made)
    found = prediction.predict(made, graph, base, changes.parse_changes(made, line))
    return found.mean(np.array([0])).gain_ns


def test_a_recorded_wait_is_an_edge() -> None:
    assert edges(independent(*WAIT)) == [("first", "second")]
    assert edges(independent()) == []


def test_a_recorded_wait_holds_where_time_shows_none() -> None:
    """A first kernel of four times its length delays the second stream: only the event says so."""
    line = "kernel:first=4"
    assert gain(independent(), line) == -12_000  # the wait for the device is later
    assert gain(independent(*WAIT), line) == -36_000


def test_replays_are_as_recorded() -> None:
    for made in (independent(), independent(*WAIT)):
        graph = dependency_graph.build_graph(made)
        base = baseline.replay_baseline(made, graph)
        length = made.steps.end_ns - made.steps.start_ns
        assert base.held.tolist() == length.tolist()


def two_ends(*more: Event) -> Trace:
    """A call returns near the ends of activities on two streams."""
    return trace(
        step(1, 0, 100),
        op("aten::mm", 0, 90, id=1),
        launch(0, 2, 1), kernel("first", 6, 49, 1, stream=7),
        call("cudaEventRecord", 3, 2),
        launch(4, 5, 3), kernel("second", 8, 50, 3, stream=8),
        call("cudaEventSynchronize", 10, 4, 51),
        *more,
    )  # fmt: skip


def awaited(made: Trace) -> list[str]:
    waits = dependency_graph.build_graph(made).waits
    return [made.text(made.kernels.name[row]) for row in waits.kernel]


def test_the_host_waits_for_the_recorded_stream() -> None:
    recorded = two_ends(sync("Event Sync", 4, wait_on=7, record=2))
    assert awaited(two_ends()) == ["second"]
    assert awaited(recorded) == ["first"]


def test_a_wait_for_a_stream_without_work_waits_for_nothing() -> None:
    """What was launched behind the event is not waited for."""
    made = trace(
        step(1, 0, 100),
        op("aten::mm", 0, 90, id=1),
        call("cudaEventRecord", 0, 2),
        launch(4, 5, 3), kernel("later", 8, 50, 3, stream=7),
        call("cudaEventSynchronize", 10, 4, 51), sync("Event Sync", 4, wait_on=7, record=2),
    )  # fmt: skip
    assert awaited(made) == []


def test_an_excerpt_keeps_its_waits() -> None:
    parts = [(100 * i, 10 * i) for i in range(1, 4)]
    events = [
        event
        for at, id in parts
        for event in (
            step(id, at, at + 100), op("aten::mm", at, at + 90, id=id),
            launch(at, at + 2, id + 1), kernel("first", at + 6, at + 30, id + 1, stream=7),
            call("cudaEventRecord", at + 3, id + 2),
            call("cudaStreamWaitEvent", at + 5, id + 3),
            sync("Stream Wait Event", id + 3, 8, wait_on=7, record=id + 2),
            launch(at + 8, at + 9, id + 4), kernel("second", at + 31, at + 50, id + 4, stream=8),
        )
    ]  # fmt: skip
    made = trace(*events)
    size = len(made.ops) + len(made.launches) + len(made.kernels)
    part = excerpt.cut_excerpt(made, np.arange(3), size // 2)
    assert part is not None
    assert len(part.trace.event_waits) == len(part.steps) == 1
    assert edges(part.trace) == [("first", "second")]
