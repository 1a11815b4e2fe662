"""Device times of events that the backend measured: bounds, clocks that drift, and refused ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.inference.device_timeline.event_times import fit_clock
from tests.support.repeats import repeats
from tests.support.simulate import Op, Result, linear, simulate, step

FAR = 5_000_000_000
"""The device's clock began long before the recording."""
EDGE = Op("tb_privateuse1::window_start", 3_000, 1_000, blocking=True, category="user_annotation")
READ = Op("tb_privateuse1::clock", 1_000, 500, category="user_annotation")
CLOCK_NS = 1_500
"""What the clock may be off: an event's cost, and the time from an operator's end to its record."""
SLOW, QUICK = [linear(20_000, 150_000)] * 4, [linear(40_000, 3_000)] * 4


def steps(*layers: Op, count: int = 6) -> list[Op]:
    """A recording between two waits, as the capture makes it."""
    inside = [step(i, *layers) for i in range(count)]
    return [EDGE, READ, READ, *inside, EDGE, READ, READ]


def errors(result: Result) -> np.ndarray:
    """The error of each start, signed, in ns."""
    return np.asarray(result.trace.kernels.start_ns - result.start_ns)


@pytest.mark.parametrize("layers", [SLOW, QUICK, SLOW + QUICK], ids=["slow", "quick", "both"])
@pytest.mark.parametrize("ppm", [0.0, 40.0, -300.0])
def test_starts_are_measured(layers: list[Op], ppm: float) -> None:
    """With any origin and drift of the device's clock, and no worse than without."""
    with_times = simulate(steps(*layers), event_times=(FAR, ppm))
    without = simulate(steps(*layers))
    off, before = np.abs(errors(with_times)), np.abs(errors(without))
    kernels = with_times.trace.kernels
    assert len(kernels) == len(with_times.ids)
    assert (off <= kernels.start_bound_ns).all()
    length = with_times.end_ns - with_times.start_ns
    wrong = np.abs(kernels.end_ns - kernels.start_ns - length)
    assert (wrong <= kernels.duration_bound_ns).all()
    assert np.median(off) <= max(np.median(before), CLOCK_NS)
    bound, wider = (np.median(one.trace.kernels.start_bound_ns) for one in (with_times, without))
    assert bound <= wider + CLOCK_NS


def test_a_backlog_of_any_length_is_measured() -> None:
    """Elapsed times alone leave it open; here its bound is that of the clock."""
    result = simulate(steps(*SLOW, count=20), event_times=(FAR, 0.0))
    kernels = result.trace.kernels
    assert kernels.start_ns[-1] - result.trace.ops.start_ns[kernels.op[-1]] > 5_000_000
    assert np.abs(errors(result)).max() <= 2_000
    assert kernels.start_bound_ns[1:].max() <= 5_000  # the first one finds an idle device


def test_a_thread_that_was_preempted_moves_no_start() -> None:
    """The event is late, but its device time is known: only the kernel before it is longer."""
    held = Op("aten::view", 3_000, 500, held=2_000_000)
    result = simulate(steps(*SLOW, held, *SLOW), event_times=(FAR, 0.0))
    assert (np.abs(errors(result)) <= result.trace.kernels.start_bound_ns).all()
    assert np.median(np.abs(errors(result))) <= CLOCK_NS


def test_without_a_wait_or_an_idle_device_the_clock_is_not_tied() -> None:
    """Then elapsed times count, which bound what they can."""
    program = [step(i, *SLOW) for i in range(6)]
    result = simulate(program, backlog=50_000_000, event_times=(FAR, 0.0))
    plain = simulate(program, backlog=50_000_000)
    assert (
        result.trace.kernels.start_bound_ns.tolist() == plain.trace.kernels.start_bound_ns.tolist()
    )


@pytest.mark.parametrize("ppm", [0.0, 60.0])
def test_a_clock_that_is_tied_at_one_end_has_a_bound_for_its_drift(ppm: float) -> None:
    """Behind a growing backlog any drift is possible: the least one counts."""
    program = [EDGE, READ, READ, *(step(i, *SLOW) for i in range(20))]
    result = simulate(program, event_times=(FAR, ppm))
    assert (np.abs(errors(result)) <= result.trace.kernels.start_bound_ns).all()
    assert np.median(np.abs(errors(result))) <= CLOCK_NS + ppm


def test_times_that_contradict_the_elapsed_ones_are_not_used() -> None:
    """Microseconds, or those of other events."""
    plain = simulate(steps(*SLOW)).trace
    count = len(plain.ops)
    wrong: dict[str, Any] = {"first_ns": list(range(count)), "second_ns": list(range(9, count + 9))}
    trace = simulate(steps(*SLOW), **wrong).trace
    assert "event_times_wrong" in {one.code for one in trace.meta.findings}
    assert trace.kernels.start_ns.tolist() == plain.kernels.start_ns.tolist()


@pytest.mark.parametrize("lost", ["first_ns", "second_ns"])
def test_a_lost_time_lies_between_its_neighbors(lost: str) -> None:
    full = simulate(steps(*SLOW), event_times=(FAR, 0.0))
    at = len(full.trace.ops) // 2
    facts = {name: getattr(full, name) for name in ("first_ns", "second_ns")}
    facts[lost][at] = None
    result = simulate(steps(*SLOW), **facts)
    assert (np.abs(errors(result)) <= result.trace.kernels.start_bound_ns).all()


@settings(max_examples=repeats(50), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**7)), min_size=1, max_size=60),
    st.floats(-300, 300),
    st.integers(-(10**15), 10**15),
)
def test_no_event_is_executed_before_its_record(
    events: list[tuple[int, int]], ppm: float, origin: int
) -> None:
    """Whatever the backlogs are. Exact where the first and last event found an idle device."""
    events = [(0, 0), *sorted(events), (10**9, 0)]
    host, backlog = (np.array(column, np.int64) for column in zip(*events, strict=True))
    device = np.rint((host + backlog) * (1 + ppm / 1e6)).astype(np.int64) - origin
    idle = np.zeros(len(host), np.bool_)
    idle[[0, -1]] = True
    clock = fit_clock(device, host, idle)
    assert clock is not None
    on_host = clock.on_host(device)
    assert (on_host >= host - 5).all()
    assert np.abs(on_host - host - backlog).max() <= 300 + np.abs(ppm) / 1e6 * 10**7
    assert fit_clock(device, host, np.zeros(len(host), np.bool_)) is None
