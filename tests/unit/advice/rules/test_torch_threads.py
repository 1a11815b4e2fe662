"""Threads of torch, and the processors of its host."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.advice.rules.torch_threads import RULE
from tb_privateuse1.trace.model import Trace
from tests.support.program import found
from tests.support.sized import FP32, SizedProgram, recorded

SIZE = 512


def trace(noted: Any, *, product_us: float = 1000, add_us: float = 1000) -> Trace:
    """A step of a product and a large sum, on a host."""
    run = SizedProgram()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", product_us, **recorded(((SIZE, SIZE), FP32), ((SIZE, SIZE), FP32)))
            run.op("aten::add", add_us, **recorded(((SIZE, SIZE), FP32), ((SIZE, SIZE), FP32)))
            run.rest(5)
    return run.trace(**({} if noted is None else {"torch_threads": noted}))


@pytest.mark.parametrize(("used", "processors"), [(1, 4), (64, 2)])
def test_threads_that_do_not_fit_have_no_price(used: int, processors: int) -> None:
    (row,) = found(RULE, trace({"intra_op": used, "processors": processors}))
    assert row.saving_ns is None
    assert row.title == f"torch uses {used} threads on {processors} processors"
    assert f"with {processors}" in row.how


@pytest.mark.parametrize(
    "noted",
    [
        None,
        {"intra_op": 4, "processors": 4},
        {"intra_op": 1},  # a job that does not say how many processes share the host
        {"intra_op": 0, "processors": 4},
        {"intra_op": "one", "processors": 4},
        "damaged",
    ],
)
def test_what_fits_or_is_not_known(noted: Any) -> None:
    assert found(RULE, trace(noted)) == []


def test_small_work_needs_no_threads() -> None:
    noted = {"intra_op": 1, "processors": 4}
    assert found(RULE, trace(noted, product_us=1, add_us=5000)) == []
