"""The part of a kernel within a window: exact if it was measured, else within its bounds."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.trace import uncertainty
from tb_privateuse1.trace.model import Kernels
from tests.support.make import kernel, launch, op, trace

US = 1000


def kernels(start_bound_ns: int, duration_bound_ns: int) -> Kernels:
    """One kernel from 100 to 200 us."""
    made = trace(op("aten::mm", 0, 50), launch(10, 20, 1), kernel("gemm", 100, 200, 1))
    return replace(
        made.kernels,
        start_ns=made.kernels.start_ns * 0 + 100 * US,
        end_ns=made.kernels.end_ns * 0 + 200 * US,
        start_bound_ns=np.array([start_bound_ns]),
        duration_bound_ns=np.array([duration_bound_ns]),
    )


@pytest.mark.parametrize(
    ("window", "part"),
    [((0, 300), 100), ((150, 300), 50), ((0, 120), 20), ((130, 140), 10), ((200, 300), 0),
     ((0, 100), 0), ((100, 200), 100)],
)  # fmt: skip
def test_a_measured_one_has_an_exact_part(window: tuple[int, int], part: int) -> None:
    least, most = uncertainty.length_inside(kernels(0, 0), window[0] * US, window[1] * US)
    assert (least.tolist(), most.tolist()) == ([part * US], [part * US])


@pytest.mark.parametrize(
    ("window", "least", "most"),
    [
        ((0, 300), 90, 110),  # whole, wherever it lies: the error of its length alone
        ((150, 300), 30, 70),  # it may end 10 + 10 us sooner or later
        ((0, 120), 10, 30),  # and begin 10 us sooner or later
        ((205, 300), 0, 15),
        ((230, 300), 0, 0),
    ],
)
def test_an_inferred_one_has_bounds(window: tuple[int, int], least: int, most: int) -> None:
    found = uncertainty.length_inside(kernels(10 * US, 10 * US), window[0] * US, window[1] * US)
    assert [part.tolist() for part in found] == [[least * US], [most * US]]
