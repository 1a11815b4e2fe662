"""Estimated event times between their bounds, in a backlog."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.inference.device_timeline import likely_path
from tests.support import simulate
from tests.support.simulate import Op, inside, linear, start_errors, step

US = 1_000


def test_of_a_backlog_tied_at_its_end_the_path_keeps_the_elapsed_times() -> None:
    """Roundings of hundreds of operators even out; their worst sum is a hundred times that."""
    ops = [linear(6 * US, int(ns)) for ns in np.random.default_rng(7).integers(55_000, 65_000, 60)]
    read = Op("aten::_local_scalar_dense", 3 * US, 500, 2 * US, blocking=True)
    program = [step(0, *ops), Op("aten::item", US, 500, children=(read,)), step(1, *ops)]
    result = simulate.simulate(program, backlog=3_000 * US)
    assert inside(result)
    assert max(start_errors(result)) < 12 * US


def test_an_unknown_backlog_is_the_least_one() -> None:
    """Nothing ties the device to the host: it is as far ahead as the elapsed times allow."""
    ops = [linear(40 * US, 20 * US)] * 12
    result = simulate.simulate([step(0, *ops)])
    assert inside(result)
    assert np.median(start_errors(result)) < 3 * US


def test_a_backlog_that_ends_before_the_next_event_is_due_leaves_idle_time() -> None:
    """The second event is 50 us late, and the third due 300 us behind it: the device idles."""
    low = np.array([0, 150, 400, 460]) * US
    prompt = np.array([0, 100, 450, 440]) * US
    assert likely_path.surely_late(low, prompt).tolist() == [False, False, False, False]
    assert likely_path.surely_late(low + 50 * US, prompt).tolist() == [True, False, False, True]
