"""A copy from pageable memory holds its host until the stream has come to it."""

from __future__ import annotations

import pytest

from tb_privateuse1.trace.model import Trace
from tests.support.make import kernel, launch, op, span, step, trace
from tests.unit.analysis.simulation.test_changes import gain


def program(back_us: float) -> Trace:
    """Build a kernel of 1 ms, and a copy whose call is in the queue from its start.

    ``back_us``: the call returns so much behind the start of the copy, which takes 100 us. The host
    works for another 300 us then, before the next kernel.
    """
    events = []
    for i in range(3):
        at = 2000.0 * i
        copied = at + 1010
        free = copied + back_us
        events += [
            step(i, at, at + 2000),
            op("aten::mm", at, at + 10), launch(at + 1, at + 5, 10 * i + 1),
            kernel("gemm", at + 10, at + 1010, 10 * i + 1),
            op("aten::copy_", at + 10, free),
            span("cuda_runtime", "cudaMemcpyAsync", at + 11, free - 1, correlation=10 * i + 2),
            kernel("Memcpy HtoD (Pageable -> Device)", copied, copied + 100, 10 * i + 2,
                   category="gpu_memcpy"),
            op("aten::add", free + 300, free + 310),
            launch(free + 301, free + 305, 10 * i + 3),
            kernel("add", free + 310, free + 500, 10 * i + 3),
        ]  # fmt: skip
    return trace(*events)


@pytest.mark.parametrize("back_us", [102, 60])
def test_the_host_is_as_early_as_the_stream(back_us: float) -> None:
    """The call returns behind its copy, or when the last part of it is staged."""
    made = program(back_us)
    assert gain(made, "kernel:gemm=0.5") == pytest.approx(3 * 500, rel=0.05)
