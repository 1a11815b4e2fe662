"""A processor as a device: which operators work, when, and for how long."""

from __future__ import annotations

from typing import Any

from tb_privateuse1.analysis.operators.host_activities import with_host_activities
from tests.support.program import Program


def names(run: Program) -> list[str]:
    trace = with_host_activities(run.trace())
    return [trace.text(name) for name in trace.kernels.name.tolist()]


def lengths_us(run: Program) -> list[float]:
    kernels = with_host_activities(run.trace()).kernels
    return ((kernels.end_ns - kernels.start_ns) / 1e3).tolist()


def test_all_who_ask_get_one_trace() -> None:
    run = Program()
    with run.step():
        run.op("aten::relu", 50)
    trace = run.trace()
    assert with_host_activities(trace) is with_host_activities(trace)


def test_the_innermost_operator_of_a_kind_works() -> None:
    run = Program()
    with run.step(), run.around("aten::linear"), run.around("aten::addmm"):
        run.op("aten::addmm", 50)
    assert names(run) == ["aten::addmm"]


def test_views_and_nodes_of_autograd_do_not_work() -> None:
    run = Program()
    with run.step():
        run.op("aten::view", 5)
        run.op("aten::empty", 5)
        run.op("AddBackward0", 5)
        run.op("aten::add", 5)
    assert names(run) == ["aten::add"]


def test_an_operator_that_only_calls_others_and_calls_none_does_nothing() -> None:
    run = Program()
    with run.step():
        run.op("aten::to", 1)
        run.op("aten::relu", 5)
    assert names(run) == ["aten::relu"]


def test_the_copy_of_a_bias_is_part_of_its_product() -> None:
    run = Program()
    with run.step():
        run.rest(1)
        with run.around("aten::addmm", host=40):
            run.op("aten::copy_", 100)
    assert names(run) == ["aten::addmm"]


def test_the_longest_own_time_is_the_work() -> None:
    run = Program()
    with run.step():
        run.rest(1)
        with run.around("aten::native_layer_norm", host=30):
            run.op("aten::empty", 5)
            run.rest(60)
    assert lengths_us(run) == [90.0]


def test_a_call_far_longer_than_its_equals_was_interrupted() -> None:
    run = Program()
    for length in (10, 10, 10, 10, 4000):
        with run.step():
            run.rest(1)
            run.op("aten::mul", length)
    assert lengths_us(run) == [10.0, 10.0, 10.0, 10.0, 30.0]


def test_a_thread_is_a_stream_and_steps_stay() -> None:
    run = Program()
    for _ in range(2):
        with run.step():
            run.rest(1)
            run.op("aten::mul", 10)
    trace = with_host_activities(run.trace())
    assert trace.kernels.step.tolist() == [0, 1]
    assert trace.kernels.lane.tolist() == trace.ops.thread[trace.kernels.op].tolist()
    assert len(trace.lanes) == len(trace.threads)


def test_calls_with_other_strides_are_other_calls() -> None:
    """Inputs in jumps take longer each time: nothing interrupted these."""
    run = Program()
    for _ in range(5):
        with run.step():
            for strides, length in (([[64, 1]], 10), ([[1, 64]], 100)):
                run.rest(1)
                recorded: dict[str, Any] = {"Input Dims": [[64, 64]], "Input Strides": strides}
                run.op("aten::mul", length, **recorded)
    assert lengths_us(run) == [10.0, 100.0] * 5
