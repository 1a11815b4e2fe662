"""A device that works in batches holds back the events of calls that waited for it."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from msgspec.structs import replace

from tb_privateuse1.inference.device_timeline import event_pipeline
from tb_privateuse1.inference.device_timeline.late_ends import works_in_batches
from tests.support import simulate
from tests.support.simulate import Op, linear, step

US = 1_000
READ = Op("aten::_local_scalar_dense", 3 * US, 500, 2 * US, blocking=True)
PROGRAM = [step(i, *[linear(8 * US, 30 * US)] * 6, READ) for i in range(5)]


def cautious_of(late_ns: int) -> tuple[Any, Any]:
    """The stream and its cautious solution, with all events so much later."""
    kept: list[Any] = []
    solve = event_pipeline.solve_cautious

    def keep(stream: Any, prior: Any) -> Any:
        kept.append((stream, solve(stream, prior)))
        return kept[-1][1]

    with mock.patch.object(event_pipeline, "solve_cautious", keep):
        simulate.simulate(PROGRAM)
    stream, cautious = kept[0]
    bounds = cautious.solution.bounds
    later = replace(bounds, low=bounds.low + late_ns)
    return works_in_batches(cautious.events, cautious.blocking, later, stream.c), cautious


def test_events_that_come_right_after_the_wait_are_of_a_prompt_device() -> None:
    batched, cautious = cautious_of(0)
    assert cautious.blocking.sum() == 5
    assert not batched.any()
    assert not cautious.batched.any()


def test_events_that_come_long_after_the_wait_are_of_batches() -> None:
    batched, cautious = cautious_of(100 * US)
    assert (batched == cautious.blocking).all()


@pytest.mark.parametrize("event_times", [None, (5_000_000, 20.0)])
def test_a_thread_that_loses_its_core_behind_each_wait_is_no_batch(
    event_times: tuple[int, float] | None,
) -> None:
    """It records the event of the read late, but before its next time stamp."""
    late = replace(READ, held=60 * US)
    program = [step(i, *[linear(8 * US, 30 * US)] * 6, late) for i in range(5)]
    trace = simulate.simulate(program, event_times=event_times).trace
    assert "device_batches" not in [finding.code for finding in trace.meta.findings]
    assert (trace.kernels.start_bound_ns > 0).all()


def test_nothing_bounds_starts_where_the_device_works_in_batches() -> None:
    """And the work before a held event is as short as any hidden work."""
    with mock.patch.object(
        event_pipeline.late_ends, "works_in_batches", lambda events, blocking, *_: blocking
    ):
        held = simulate.simulate(PROGRAM).trace
    assert "device_batches" in [finding.code for finding in held.meta.findings]
    assert (held.kernels.start_bound_ns < 0).all()
