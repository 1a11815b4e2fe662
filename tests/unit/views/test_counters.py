"""Recorded counters by step and kernel."""

from __future__ import annotations

import pytest

from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.counters import CounterOfKernel, CounterOfStep, CounterRow, counters
from tests.support.make import Event, kernel, launch, op, step, trace


def value(ts: float, name: str = "Power", **args: float) -> Event:
    return {"ph": "C", "name": name, "pid": "GPU", "ts": ts, "args": args}


def some() -> Trace:
    """100 W while idle, 300 W while two kernels run, from 20 to 40 and from 60 to 80."""
    return trace(
        step(1, 0, 50), step(2, 50, 100), op("aten::mm", 5, 45), op("aten::mm", 52, 99),
        launch(6, 7, 1), launch(55, 56, 2), kernel("a", 20, 40, 1), kernel("b", 60, 80, 2),
        value(0, W=100), value(20, W=300), value(40, W=100), value(60, W=300), value(80, W=100),
        value(50, "Clock", MHz=900),
    )  # fmt: skip


def test_a_counter_has_means_while_the_device_works_and_while_it_does_not() -> None:
    result = counters(some())
    assert result.rows[0] == CounterRow(
        counter=0, name="Power · W", process="GPU", values=5, interval_ns=20_000,
        mean=180.0, min=100.0, max=300.0, busy_mean=300.0, idle_mean=100.0,
    )  # fmt: skip
    assert (result.counter, result.counter_name) == (0, "Power · W")
    clock = result.rows[1]
    assert (clock.values, clock.interval_ns, clock.mean) == (1, None, 900.0)
    assert (clock.busy_mean, clock.idle_mean) == (900.0, 900.0)


def test_of_a_step_only_its_window_counts() -> None:
    first = counters(some(), step=1)
    assert (first.rows[0].values, first.rows[0].mean) == (3, 180.0)
    assert (first.rows[1].values, first.rows[1].mean) == (0, None)
    assert [row.name for row in first.kernels] == ["a"]


def test_by_kernel_and_by_step() -> None:
    result = counters(some(), counter=0)
    assert result.kernels == (
        CounterOfKernel("a", 1, 20_000, 300.0, 1),
        CounterOfKernel("b", 1, 20_000, 300.0, 1),
    )
    assert [(one.step, one.mean) for one in result.steps] == [
        ("ProfilerStep#1", 180.0),
        ("ProfilerStep#2", 180.0),
    ]
    clock = counters(some(), counter=1)
    assert [one.name for one in clock.kernels] == ["b"]  # there is no value before
    assert clock.steps[0] == CounterOfStep("ProfilerStep#1", 50_000, None, None, None)


def test_without_counters_there_are_no_rows() -> None:
    result = counters(Trace())
    assert (result.rows, result.counter, result.kernels, result.steps) == ((), None, (), ())


@pytest.mark.parametrize("option", [{"step": 9}, {"counter": 7}, {"counter": -1}])
def test_what_is_not_there_is_an_error(option: dict[str, int]) -> None:
    with pytest.raises(TraceError, match="There is no"):
        counters(some(), **option)


def test_a_counter_is_not_set_beside_inferred_work() -> None:
    """The mean would look measured, and has no bound."""
    events = [op("aten::mm", 100 * i, 100 * i + 50, id=i + 1) for i in range(8)]
    made = trace(*events, value(0, W=5), elapsed={i + 1: 80.0 for i in range(8)})
    result = counters(made)
    assert result.provenance.timeline == "inferred"
    assert (result.rows[0].mean, result.rows[0].busy_mean, result.rows[0].idle_mean) == (
        5.0,
        None,
        None,
    )
    assert result.kernels == ()
