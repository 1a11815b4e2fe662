"""Backends whose elapsed times are sums of kernels: a queue whose events cost time between them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import simulate
from tests.support.simulate import Machine, Op, step

US = 1_000
RELU = Op("aten::relu", 5 * US, 700, 40 * US)
VIEW = Op("aten::t", 5 * US, 600, children=[Op("aten::transpose", 900, 400)] * 4)


@pytest.mark.parametrize("mark", [100, 300, 550])
def test_starts_hold_where_nothing_shows_what_events_cost(mark: int) -> None:
    """Work-free ranges read 0 on such a backend, which says nothing of their events' cost."""
    machine = Machine(mark=mark)
    per_step = [RELU, VIEW, VIEW] * 20
    for number in range(4):
        machine.run(step(number, *per_step))
    size = len(machine.executed) // 4
    elapsed = dict.fromkeys(machine.executed, 0.0)
    for number, (start, end) in machine.kernels.items():
        outer = (number - 1) // size * size + 1
        elapsed[number] += (end - start) / US
        elapsed[outer] += (end - start) / US
    sums: dict[int, float | None] = dict(elapsed)
    trace = simulate.infer_from(
        machine.events, sums, elapsed_kind="kernel_sum", launch_latency_ns=simulate.LATENCY
    )
    assert "elapsed_kernel_sum" in {f.code for f in trace.meta.findings}
    kernels = trace.kernels
    true = np.array([start for start, _ in machine.kernels.values()]) - trace.base_ns
    assert (np.abs(kernels.start_ns - true) <= kernels.start_bound_ns).mean() >= 0.95
