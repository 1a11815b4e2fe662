"""Kernels whose end event was recorded late, because the thread was preempted before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_privateuse1.trace import uncertainty
from tb_privateuse1.trace.sum_bounds import GUESSED
from tests.support.simulate import (
    Op,
    Result,
    inside,
    linear,
    simulate,
    start_errors,
    step,
)

PAUSE_NS = 28_000_000
LAYERS = [linear(20_000, 150_000)] * 4
READ = Op("aten::_local_scalar_dense", 3_000, 1_000, 1_500, blocking=True)
EDGE = Op("tb_privateuse1::window_start", 3_000, 1_000, blocking=True, category="user_annotation")
CLOCK = Op("tb_privateuse1::clock", 1_000, 500, category="user_annotation")
TIMES: dict[str, dict[str, Any]] = {"elapsed": {}, "events": {"event_times": (5_000_000_000, 0.0)}}
"""Without and with device times of the events."""


def errors(result: Result) -> np.ndarray:
    """How far each duration is from the truth, less its bound."""
    kernels = result.trace.kernels
    error = np.abs(kernels.end_ns - kernels.start_ns - (result.end_ns - result.start_ns))
    return np.asarray(error - kernels.duration_bound_ns)


@pytest.mark.parametrize("before", [(), LAYERS], ids=["idle device", "busy device"])
def test_a_pause_behind_an_operator_without_its_like_is_no_certain_work(
    before: list[Op],
) -> None:
    """As in a loop with a growing cache: no other call has the same shapes."""
    held = Op("aten::bmm", 20_000, 1_000, 7_400, held=PAUSE_NS)
    program = [step(i, *LAYERS, READ) for i in range(4)]
    program += [step(4, *before, held, *LAYERS, READ)]
    result = simulate(program)
    assert (errors(result) <= 0).all()
    lengths = result.trace.kernels.end_ns - result.trace.kernels.start_ns
    assert lengths.max() < PAUSE_NS / 4


def test_work_behind_which_the_program_pauses_each_time_is_work() -> None:
    """A scheduler does not prefer a place: the thread waits for this work."""
    long = Op("aten::bmm", 20_000, 1_000, 3_000_000)
    rest = Op("wait", 3_200_000, 1_000, category="user_annotation")
    program = [step(i, *LAYERS, long, rest, READ) for i in range(6)]
    result = simulate(program)
    lengths = np.sort(result.trace.kernels.end_ns - result.trace.kernels.start_ns)
    assert (errors(result) <= 0).all()
    assert (np.abs(lengths[-6:] - 3_000_000) < 10_000).all()


def whole(result: Result) -> tuple[int, int]:
    """How far the sum of all durations is from the truth, and its bound."""
    kernels = result.trace.kernels
    error = kernels.end_ns.sum() - kernels.start_ns.sum() - (result.end_ns - result.start_ns).sum()
    bound = uncertainty.union_bound(kernels)
    assert bound is not None
    return abs(int(error)), bound


@pytest.mark.parametrize("held", [0, 17_000], ids=["prompt", "slow"])
@pytest.mark.parametrize("times", TIMES)
def test_a_pause_behind_a_known_launch_is_no_certain_work(times: str, held: int) -> None:
    """The device was busy at the launch, and done long before the operator's end."""
    pauses = 1_000, 1_000, 4_000_000

    def root(i: int) -> Op:
        late = held if i == 2 else 0
        return Op("aten::_foreach_sqrt", 20_000, pauses[i], 400_000, held=late, size=64)

    steps = [step(i, *LAYERS, root(i), *LAYERS) for i in range(3)]
    program = [EDGE, CLOCK, CLOCK, *steps, EDGE, CLOCK, CLOCK]
    result = simulate(program, record_launches=True, **TIMES[times])
    assert (errors(result) <= 0).all()
    error, bound = whole(result)
    assert error <= bound


@pytest.mark.parametrize("late", [8_000, 17_000])
@pytest.mark.parametrize("before", [(), LAYERS], ids=["idle device", "busy device"])
def test_work_does_not_end_by_chance_with_the_pause_inside_its_operator(
    before: list[Op], late: int
) -> None:
    """A thread records the next event slowly behind a pause: its time shows when, not the work's.

    Elapsed times do not show so short a wait, and their bound is that of hidden work.
    """
    step_ops = [step(i, *before, Op("aten::lt", 10_000, 1_000, 5_000, size=8)) for i in range(6)]
    paused = Op("aten::lt", 10_000, PAUSE_NS, 5_000, size=8, held=late)
    program = [EDGE, CLOCK, CLOCK, *step_ops, step(6, *before, paused), EDGE, CLOCK, CLOCK]
    measured, elapsed = (simulate(program, record_launches=True, **TIMES[one])
                         for one in ("events", "elapsed"))  # fmt: skip
    assert (errors(measured) <= 0).all()
    error, bound = whole(measured)
    assert error <= bound < 1.1 * whole(elapsed)[1]


def test_work_launched_behind_the_pause_ends_with_its_operator() -> None:
    """The operator launches twice, and the pause lies between: the second end is no chance."""

    def add(i: int) -> Op:
        pause, held = (PAUSE_NS, 17_000) if i == 4 else (1_000, 0)
        return Op("aten::_foreach_add_", 20_000, pause, 18_000, size=64, again=True, held=held)

    program = [step(i, *LAYERS, add(i), READ) for i in range(6)]
    program = [EDGE, CLOCK, CLOCK, *program, EDGE, CLOCK, CLOCK]
    result = simulate(program, record_launches=True, **TIMES["events"])
    assert (errors(result) <= 0).all()
    error, bound = whole(result)
    assert error <= bound


@pytest.mark.parametrize("times", TIMES)
def test_what_all_calls_show_is_not_replaced_by_other_shapes(times: str) -> None:
    small = [Op("aten::addmm", 20_000, 1_000, 110_000, size=8)] * 4
    large = Op("aten::addmm", 20_000, 1_000, 966_000, size=64)
    program = [EDGE, CLOCK, CLOCK, *(step(i, large, *small, READ) for i in range(3)), EDGE]
    result = simulate([*program, CLOCK, CLOCK], record_launches=True, **TIMES[times])
    kernels = result.trace.kernels
    error = np.abs(kernels.end_ns - kernels.start_ns - (result.end_ns - result.start_ns))
    assert error.max() < 10_000
    assert (errors(result) <= 0).all()


@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("times", TIMES)
def test_guesses_of_equal_work_are_wrong_together(times: str, calls: int) -> None:
    """Nothing shows how long it takes: all calls hide behind a host that is held up."""
    hidden = Op("aten::addmm", 20_000, 1_000_000, 966_000, size=64)
    steps = [step(i, *([hidden] if i < calls else []), *LAYERS, READ) for i in range(4)]
    result = simulate([EDGE, CLOCK, CLOCK, *steps, EDGE, CLOCK, CLOCK], **TIMES[times])
    kernels = result.trace.kernels
    assert (kernels.error_group <= GUESSED)[result.end_ns - result.start_ns == 966_000].all()
    assert (errors(result) <= 0).all()
    error, bound = whole(result)
    assert 0.9e6 * calls < error <= bound


@pytest.mark.parametrize("late_ns", [18_000, 30_000])
def test_of_two_stamps_that_contradict_each_other_either_may_be_late(late_ns: int) -> None:
    """The thread was preempted behind the last wait; the step may have begun long before it did.

    What is cut from 40 elapsed times hides the pause if the step's own time counts for less.
    """
    inner = Op("aten::mm", 20_000, 1_000, 150_250)
    layers = [Op("aten::matmul", 700, 700, children=(inner,))] * 40
    work = Op("train", 20_000, 20_000, rest=300_000, children=layers, category="user_annotation")
    late = Op("tb_privateuse1::window_end", 3_000, 1_000, blocking=True,
              category="user_annotation", held=late_ns)  # fmt: skip
    result = simulate([EDGE, CLOCK, CLOCK, work, late, CLOCK, CLOCK])
    basis = result.trace.meta.grounds
    assert basis is not None
    assert basis.counts["late_stamps"]
    assert inside(result)
    assert max(start_errors(result)) < late_ns / 2
