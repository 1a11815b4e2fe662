"""Causes of idle time on the critical path equal those of the account of time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from tb_privateuse1.analysis.account import classification
from tb_privateuse1.analysis.account.classes import IDLE, NAMES, NUMBER
from tb_privateuse1.analysis.simulation import critical_path, dependency_graph
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tests.support.critical_pieces import pieces_of
from tests.support.make import annotation, frame, kernel, launch, op, span, step, trace
from tests.support.repeats import sampled
from tests.support.shared_traces import TRACES, load, needs_traces
from tests.unit.analysis.account.test_properties import ACTIONS, Action, program


def idle_classes(made: Trace) -> tuple[dict[str, int], dict[str, int]]:
    """Return by class the path's time in which nothing runs, and the account's, of all steps."""
    account = classification.class_sets(made)
    running = [times for name, times in account.items() if name not in IDLE]
    busy = intervals.union(
        np.concatenate([np.empty(0, np.int64), *(t[0] for t in running)]),
        np.concatenate([np.empty(0, np.int64), *(t[1] for t in running)]),
    )
    path = critical_path.find_critical_path(made, dependency_graph.build_graph(made))
    free = path.end_ns - path.start_ns - intervals.covered_length(busy, path.start_ns, path.end_ns)
    steps = made.steps
    return (
        {
            name: int(free[path.time_class == number].sum())
            for number, name in enumerate(NAMES)
            if free[path.time_class == number].any()
        },
        {
            name: length
            for name, times in account.items()
            if name in IDLE
            and (length := int(intervals.covered_length(times, steps.start_ns, steps.end_ns).sum()))
        },
    )


@pytest.mark.long
@given(ACTIONS)
def test_idle_time_has_the_classes_of_the_account(actions: list[Action]) -> None:
    """Where nothing runs on the device, each instant of the path has the account's class."""
    of_path, of_account = idle_classes(program(actions).trace())
    assert of_path == of_account


def test_what_the_host_does_is_named_by_its_call() -> None:
    """Waits and calls name themselves; operators and Python the innermost range."""
    made = trace(
        step(1, 0, 100),
        annotation("enumerate(DataLoader)#it", 0, 20),
        op("aten::stack", 5, 10),
        op("aten::to", 20, 60), op("aten::copy_", 30, 55),
        span("cuda_runtime", "cudaMalloc", 35, 45),
        frame("<built-in method acquire of _thread.lock object>", 70, 80),
        annotation("## loss ##", 85, 95),
    )  # fmt: skip
    assert pieces_of(made) == [
        ("input", "enumerate(DataLoader)#it", 0, 5),
        ("input", "aten::stack", 5, 10),
        ("input", "enumerate(DataLoader)#it", 10, 20),
        ("dispatch", "aten::to", 20, 30),
        ("dispatch", "aten::copy_", 30, 35),
        ("device_memory", "cudaMalloc", 35, 45),
        ("dispatch", "aten::copy_", 45, 55),
        ("dispatch", "aten::to", 55, 60),
        ("python", "ProfilerStep#1", 60, 70),
        ("file_or_lock", "<built-in method acquire of _thread.lock object>", 70, 80),
        ("python", "ProfilerStep#1", 80, 85),
        ("python", "## loss ##", 85, 95),
        ("python", "ProfilerStep#1", 95, 100),
    ]


def test_a_stalled_queue_has_the_host_s_call() -> None:
    """An activity that is late without a reason: the account says what the host waits for."""
    made = trace(
        step(1, 0, 4000),
        op("aten::mm", 0, 30), launch(1, 2, 1), kernel("a", 5, 10, 1),
        launch(3, 4, 2), kernel("b", 3000, 3010, 2),
        span("cuda_runtime", "cudaStreamSynchronize", 200, 3020),
    )  # fmt: skip
    assert ("synchronization", "cudaStreamSynchronize", 200, 3000) in pieces_of(made)


def test_the_launch_binds_where_it_returned_last() -> None:
    """Launch and stream explain a start alike: what was over last decides."""
    made = trace(
        op("aten::mm", 0, 10), launch(1, 3, 1), kernel("a", 3, 9, 1),
        op("aten::mm", 10, 20), launch(11, 13, 2), kernel("b", 13, 40, 2),
    )  # fmt: skip
    assert [piece[0] for piece in pieces_of(made)] == [
        "dispatch", "launch_call", "dispatch", "dispatch", "launch_call", "kernel",
    ]  # fmt: skip


_LEAST_EXPLAINED = 0.95


@needs_traces
@pytest.mark.parametrize("path", sampled(TRACES), ids=lambda p: p.parent.name)
def test_real_paths_are_explained(path: Path) -> None:
    """Less than 5 % of the path of all steps is unattributed."""
    made = load(path)
    found = critical_path.find_critical_path(made, dependency_graph.build_graph(made))
    length = found.end_ns - found.start_ns
    explained = int(length[found.time_class != NUMBER["unattributed"]].sum())
    assert explained >= _LEAST_EXPLAINED * int(length.sum())
