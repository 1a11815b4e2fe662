"""Kernels whose end event was recorded late, because the thread was preempted before it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.simulate import Op, Result, linear, simulate, step

PAUSE_NS = 28_000_000
LAYERS = [linear(20_000, 150_000)] * 4
READ = Op("aten::_local_scalar_dense", 3_000, 1_000, 1_500, blocking=True)


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
