"""A device's busy time by family of kernels."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.counters.device_summary import device_summaries
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tests.support.make import kernel, op, trace


def test_families_tile_the_busy_time() -> None:
    """Time in which several activities run goes to the one that began first."""
    made = trace(
        op("aten::mm", 0, 9, 1), kernel("gemm", 10, 30, 1),
        kernel("ncclAllReduce", 20, 50, stream=9),
        kernel("elementwise_kernel", 25, 28, stream=8), kernel("gemm", 60, 80, 2),
    )  # fmt: skip
    (found,) = device_summaries(made)
    busy = {family.kind: family.busy_ns for family in found.families}
    assert busy == {"gemm": 40_000, "communication": 20_000}
    assert sum(busy.values()) == intervals.length(breakdown.busy(made.kernels))
    shares = found.shares(0, 100_000, 10)
    assert shares.shape == (2, 10)
    gemm = [0, 1, 1, 0, 0, 0, 1, 1, 0, 0]
    assert shares[0] == pytest.approx(np.array(gemm))
    assert shares[1] == pytest.approx(np.array([0, 0, 0, 1, 1, 0, 0, 0, 0, 0]))


def test_many_families_are_together() -> None:
    """The smallest of many are ``other``, which stands last."""
    names = ("gemm", "softmax", "layer_norm", "elementwise", "reduce", "index", "conv", "max_pool")
    ran = [kernel(name, 10 * i, 10 * i + 9 - i, i + 1) for i, name in enumerate(names)]
    (found,) = device_summaries(trace(*ran))
    assert len(found.families) == 7
    assert found.families[-1].kind == "other"
    times = [family.busy_ns for family in found.families[:-1]]
    assert times == sorted(times, reverse=True)


def test_without_a_device_there_is_none() -> None:
    """A trace of the host alone has no summary."""
    assert device_summaries(Trace()) == ()
