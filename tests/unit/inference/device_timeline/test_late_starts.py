"""A device that takes a varying time to begin a kernel, which no event shows."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.simulate import Op, linear, simulate, step

US = 1_000


@pytest.mark.parametrize("recorded", [False, True])
def test_bounds_allow_for_what_the_device_hesitates(recorded: bool) -> None:
    """Work of known length ends later than any launch in its segment explains."""
    rest = Op("rest", 300 * US, 0, category="user_annotation")
    behind, idle = linear(4 * US, 12 * US), linear(9 * US, 12 * US)
    program = [step(i, *[behind] * 12, rest, *[idle, rest] * 12) for i in range(4)]
    shapes = {"Input Dims": [[16, 16]]}
    result = simulate(program, hesitates=8 * US, shapes=shapes, record_launches=recorded)
    kernels = result.trace.kernels
    assert len(kernels) == len(result.start_ns)
    off = np.abs(kernels.start_ns - result.start_ns)
    assert (off <= kernels.start_bound_ns).mean() >= 0.95
    longer = kernels.end_ns - kernels.start_ns - (result.end_ns - result.start_ns)
    assert (np.abs(longer) <= kernels.duration_bound_ns).mean() >= 0.95
