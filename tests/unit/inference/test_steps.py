"""Which instants belong to which step."""

from __future__ import annotations

import pytest

from tb_privateuse1.trace.model import OPERATOR
from tb_privateuse1.views.operators import operators
from tests.support.make import kernel, launch, op, span, step, trace


def test_a_step_ends_with_its_last_activity_and_the_next_begins_there() -> None:
    t = trace(
        step(3, 0, 100), step(4, 100, 200), op("a", 10, 20), launch(11, 12, 1),
        kernel("k", 90, 130, 1), op("b", 110, 120), launch(111, 112, 2), kernel("k", 150, 180, 2),
    )  # fmt: skip
    assert [t.text(n) for n in t.steps.name] == ["ProfilerStep#3", "ProfilerStep#4"]
    assert t.steps.start_ns.tolist() == [0, 130_000]
    assert t.steps.end_ns.tolist() == [130_000, 200_000]
    assert t.steps.host_end_ns.tolist() == [100_000, 200_000]
    assert t.kernels.step.tolist() == [0, 1]
    assert t.steps.incomplete.tolist() == [False, False]


def test_the_devices_copy_of_a_step_is_no_step() -> None:
    t = trace(step(1, 0, 100), span("gpu_user_annotation", "ProfilerStep#1", 5, 150))
    assert len(t.steps) == 1


def test_without_steps_one_step_over_everything() -> None:
    t = trace(op("a", 10, 20), op("b", 30, 70))
    assert [t.text(n) for n in t.steps.name] == ["whole trace"]
    assert (t.steps.start_ns.tolist(), t.steps.end_ns.tolist()) == ([0], [60_000])
    assert t.ops.step.tolist() == [0, 0]


def test_a_last_step_with_far_fewer_activities_is_incomplete() -> None:
    events = [step(1, 0, 100), step(2, 100, 200)]
    for i in range(5):
        events += [launch(10 + i, 11 + i, i + 1), kernel("k", 20 + i, 21 + i, i + 1)]
    events += [launch(110, 111, 9), kernel("k", 120, 121, 9)]
    assert trace(*events).steps.incomplete.tolist() == [False, True]


def test_activities_without_a_launch_go_to_the_step_they_run_in() -> None:
    t = trace(step(1, 0, 100), step(2, 100, 200), kernel("k", 120, 230), kernel("k", 500, 501))
    assert t.kernels.step.tolist() == [1, -1]
    assert t.steps.end_ns.tolist() == [100_000, 200_000]


def test_an_operator_outside_all_steps_has_none() -> None:
    t = trace(op("warm-up", 0, 5), step(1, 10, 20), op("a", 12, 13))
    assert sorted(t.ops.step.tolist()) == [-1, 0, 0]


@pytest.mark.parametrize("category", ["cpu_op", "operator", "user_annotation", "profiler_step"])
def test_a_step_of_any_category_is_a_step_and_no_operator(category: str) -> None:
    t = trace(span(category, "ProfilerStep#7", 0, 100), op("a", 10, 20))
    assert [t.text(n) for n in t.steps.name] == ["ProfilerStep#7"]
    assert [t.text(n) for n in t.ops.name[t.ops.kind == OPERATOR]] == ["a"]
    assert operators(t).rows[0].name == "a"
    assert t.ops.step.tolist() == [0, 0]


def test_a_step_in_two_categories_counts_once() -> None:
    t = trace(step(1, 0, 100), span("cpu_op", "ProfilerStep#1", 0, 100), op("a", 10, 20))
    assert len(t.steps) == 1
    assert (t.ops.kind == OPERATOR).sum() == 1
