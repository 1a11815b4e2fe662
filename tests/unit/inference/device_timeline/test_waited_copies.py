"""A copy that the host waited for is as long as the wait; work of other shapes must fit."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.inference.device_timeline.duration_catalogue import (
    Instances,
    typical_durations,
)
from tests.support import simulate
from tests.support.simulate import Op, step

US = 1_000


def test_a_copy_that_waits_on_an_idle_device_is_as_long_as_its_wait() -> None:
    """Its host time equals its device time, so that only other operators' tells the wait."""
    copy = Op("aten::_copy_from", 3 * US, 2 * US, 3_000 * US, blocking=True)
    layer = Op("aten::mm", 20 * US, 3 * US, 10 * US)
    result = simulate.simulate([step(i, copy, *[layer] * 20) for i in range(3)])
    kernels = result.trace.kernels
    length, true = kernels.end_ns - kernels.start_ns, result.end_ns - result.start_ns
    long = true > 1_000 * US
    assert long.sum() == 3
    assert (np.abs(length - true)[long] < 200 * US).all()
    assert (np.abs(length - true) <= kernels.duration_bound_ns).all()


def test_work_on_other_shapes_that_cannot_fit_tells_nothing() -> None:
    """Three fills of a large tensor say nothing of one that hides in 5 us."""
    at = np.arange(5)
    instances = Instances(
        key=np.array([0, 0, 0, 1, 2]),
        name=np.zeros(5, np.int64),
        shaped=np.ones(5, np.bool_),
        length=np.array([40, 40, 40, 2, 30]) * US,
        low=np.array([39, 39, 39, 0, 0]) * US,
        high=np.array([41, 41, 41, 5, 60]) * US,
        seen=np.array([True, True, True, False, False]),
        at=at,
    )
    assert typical_durations(instances).length.tolist() == [40 * US] * 3 + [-1, 40 * US]
