"""The critical path: by hand, and as long as the step on every trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1.analysis.simulation import critical_path, dependency_graph
from tb_privateuse1.trace.model import Trace
from tests.support.critical_pieces import pieces_of
from tests.support.make import annotation, frame, kernel, launch, op, span, step, trace
from tests.support.repeats import sampled
from tests.support.shared_traces import TRACES, load, needs_traces
from tests.unit.analysis.simulation.test_dependency_graph import backward, waiting


def test_through_host_and_device() -> None:
    """The path leads through host and device."""
    assert pieces_of(waiting()) == [
        ("python", "ProfilerStep#1", 0, 10),
        ("dispatch", "aten::mm", 10, 12),
        ("launch_call", "cudaLaunchKernel", 12, 15),
        ("launch_latency", "mm", 15, 17),
        ("kernel", "mm", 17, 57),
        ("queued_gap", "add", 57, 58),
        ("kernel", "add", 58, 78),
        ("synchronization", "cudaStreamSynchronize", 78, 80),
        ("python", "ProfilerStep#1", 80, 100),
    ]


def test_through_threads() -> None:
    """The path leads through hand-offs of threads."""
    assert pieces_of(backward()) == [
        ("python", "ProfilerStep#1", 0, 10),
        ("dispatch", "aten::mm", 10, 30),
        ("python", "", 30, 40),
        ("dispatch", "autograd::engine::evaluate_function: MmBackward0", 40, 80),
        ("python", "ProfilerStep#1", 80, 85),
        ("dispatch", "aten::add_", 85, 95),
        ("python", "ProfilerStep#1", 95, 100),
    ]


def test_a_host_that_is_too_slow() -> None:
    """The device only matters behind the host's last launch."""
    made = trace(
        step(1, 0, 50),
        op("aten::mm", 10, 20),
        launch(12, 15, 1),
        kernel("mm", 17, 25, 1),
        op("aten::add", 30, 40),
        launch(32, 34, 2),
        kernel("add", 36, 60, 2),
    )
    assert pieces_of(made) == [
        ("python", "ProfilerStep#1", 0, 10),
        ("dispatch", "aten::mm", 10, 12),
        ("launch_call", "cudaLaunchKernel", 12, 15),
        ("dispatch", "aten::mm", 15, 20),
        ("python", "ProfilerStep#1", 20, 30),
        ("dispatch", "aten::add", 30, 32),
        ("launch_call", "cudaLaunchKernel", 32, 34),
        ("launch_latency", "add", 34, 36),
        ("kernel", "add", 36, 60),
    ]


def test_nested_and_equal_ranges() -> None:
    """Nested and equal ranges split the host's time."""
    made = trace(
        op("outer", 0, 30), op("inner", 10, 20), op("deepest", 10, 20), frame("f", 0, 40),
        op("after", 30, 40),
    )  # fmt: skip
    assert pieces_of(made) == [
        ("dispatch", "outer", 0, 10),
        ("dispatch", "deepest", 10, 20),
        ("dispatch", "outer", 20, 30),
        ("dispatch", "after", 30, 40),
    ]


def tiles(made: Trace) -> None:
    """Check that the pieces of each step tile its window."""
    path = critical_path.find_critical_path(made, dependency_graph.build_graph(made))
    for step_, (start, end) in enumerate(
        zip(made.steps.start_ns.tolist(), made.steps.end_ns.tolist(), strict=True)
    ):
        own = path.take(path.step == step_)
        assert [start, *own.end_ns.tolist()] == [*own.start_ns.tolist(), end]


@pytest.mark.parametrize("made", [waiting(), backward()])
def test_it_is_as_long_as_the_step(made: Trace) -> None:
    """The path is as long as the step."""
    tiles(made)


@needs_traces
@pytest.mark.parametrize("path", sampled(TRACES), ids=lambda p: p.parent.name)
def test_it_is_as_long_as_every_real_step(path: Path) -> None:
    """The path is as long as each step of real traces."""
    tiles(load(path))


def test_work_from_before_the_recording() -> None:
    """The first kernel starts late: the device decides from the step's beginning."""
    made = trace(
        step(1, 0, 9000), op("aten::mm", 0, 30), launch(1, 2, 1), kernel("a", 8000, 8010, 1),
        launch(3, 4, 2), kernel("b", 8011, 9020, 2),
    )  # fmt: skip
    assert pieces_of(made)[:2] == [("before_recording", "a", 0, 8000), ("kernel", "a", 8000, 8010)]


def test_a_wait_without_a_reason_is_blocked_in_its_call() -> None:
    """The name of the piece is the call's."""
    made = trace(
        step(1, 0, 1000), op("aten::mm", 0, 30), launch(1, 2, 1), kernel("a", 5, 10, 1),
        span("cuda_runtime", "cudaStreamSynchronize", 200, 900),
    )  # fmt: skip
    assert ("synchronization", "cudaStreamSynchronize", 220, 900) in pieces_of(made)


def test_a_full_queue() -> None:
    """A launch of a millisecond returns behind an activity of its stream."""
    made = trace(
        op("aten::mm", 0, 10), launch(1, 3, 1), kernel("mm", 6, 900, 1),
        op("aten::mm", 20, 1105), launch(21, 1100, 2), kernel("mm", 1101, 1200, 2),
    )  # fmt: skip
    assert ("launch_call", "cudaLaunchKernel", 900, 1100) in pieces_of(made)


def test_a_collective_and_a_copy() -> None:
    """What is no kernel of a computation is exposed there: it decides when the step ends."""
    made = trace(
        op("aten::mm", 0, 10),
        *(launch(1 + n, 2 + n, n) for n in range(1, 4)),
        kernel("ncclDevKernel_AllReduce_Sum_f32", 10, 110, 1),
        kernel("Memcpy HtoD (Pinned -> Device)", 111, 211, 2, category="gpu_memcpy"),
        kernel("Memset (Device)", 212, 412, 3, category="gpu_memset"),
    )
    assert [piece[:2] for piece in pieces_of(made) if piece[0] != "queued_gap"][-3:] == [
        ("exposed_communication", "ncclDevKernel_AllReduce_Sum_f32"),
        ("exposed_copy", "Memcpy HtoD (Pinned -> Device)"),
        ("exposed_fill", "Memset (Device)"),
    ]


def test_operators_in_the_data_loader() -> None:
    """They prepare the next batch."""
    made = trace(
        step(1, 0, 100),
        annotation("enumerate(DataLoader)#x.__next__", 0, 50),
        op("aten::stack", 10, 30),
        op("aten::mm", 60, 90),
    )
    assert [piece[:2] for piece in pieces_of(made)][:3] == [
        ("input", "enumerate(DataLoader)#x.__next__"),
        ("input", "aten::stack"),
        ("input", "enumerate(DataLoader)#x.__next__"),
    ]


def test_an_empty_trace() -> None:
    """An empty trace has no path."""
    assert pieces_of(Trace()) == []
