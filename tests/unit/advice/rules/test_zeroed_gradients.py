"""Gradients that are filled with zeros."""

from typing import Any

import pytest

from tb_privateuse1.advice.rules.zeroed_gradients import RULE
from tests.support.program import Program, found


def program(fill: str, where: str = "range") -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=50)
            name = "Optimizer.zero_grad#SGD.zero_grad"
            if where == "range":
                with run.range(name):
                    _fills(run, fill)
            elif where == "frame":
                with run.frame("torch/nn/modules/module.py(2873): zero_grad"):
                    _fills(run, fill)
            else:
                _fills(run, fill)
    return run


def _fills(run: Program, fill: str) -> None:
    for _ in range(20):
        run.op(fill, 9, kernel=2)


@pytest.mark.parametrize("where", ["range", "frame"])
def test_they_are_found(where: str) -> None:
    (row,) = found(RULE, program("aten::zero_", where).trace())
    assert row.events == 60
    assert row.title.startswith("Gradients are filled with zeros, ")
    assert row.saving_ns is not None
    assert row.saving_ns > 3 * 110_000, "20 times 8 us less the product's 50"


def test_other_zeros_are_none_of_it() -> None:
    assert found(RULE, program("aten::zero_", where="elsewhere").trace()) == []


def test_dropped_gradients_are_fine() -> None:
    assert found(RULE, program("aten::detach").trace()) == []


@pytest.mark.parametrize("fill", ["aten::zero_", "aten::_foreach_zero_"])
def test_the_additions_of_the_first_batch_go_too(fill: str) -> None:
    run = Program()
    for _ in range(3):
        with run.step():
            with run.range("Optimizer.zero_grad#SGD.zero_grad"):
                run.rest(1)
                run.op(fill, 9, kernel=40)
            for _ in range(2):
                run.op("aten::mm", 10, kernel=5000)
                for _ in range(20):
                    with run.around("torch::autograd::AccumulateGrad"):
                        run.op("aten::add_", 9, kernel=100)
    (row,) = found(RULE, run.trace())
    assert "60 additions" in row.explanation
    assert row.saving_ns == pytest.approx(3 * 20 * 100_000, rel=0.15)


@pytest.mark.parametrize(("side", "may_vanish"), [(64, False), (512, True)])
@pytest.mark.parametrize("fill", ["aten::zero_", "aten::_foreach_zero_"])
def test_large_gradients_of_a_host_may_cost_new_pages_instead(
    fill: str, side: int, may_vanish: bool
) -> None:
    run = Program()
    gradient: dict[str, Any] = {"Input Dims": [[side, side]], "Input type": ["float"]}
    if "foreach" in fill:  # the size of each tensor counts, and not that of all
        gradient = {"Input Dims": [[[side, side]] * 40], "Input type": ["TensorList"]}
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 1000)
            with run.range("Optimizer.zero_grad#SGD.zero_grad"):
                for _ in range(20):
                    run.op(fill, 40, **gradient)
    (row,) = found(RULE, run.trace())
    assert row.saving_low_ns is not None
    assert row.saving_high_ns is not None
    assert (row.saving_low_ns == 0) == may_vanish
    assert row.saving_high_ns > 3 * 20 * 30_000
    assert ("new pages" in row.explanation) == may_vanish


@pytest.mark.parametrize(
    ("page_ns", "others", "is_found"),
    [
        (2000, {}, False),  # 20 gradients of 256 pages: 10 ms, where the fills take 0.8
        (100, {}, True),
        (2000, {"allocator": "jemalloc"}, True),
        (2000, {"settings": {"MALLOC_TRIM_THRESHOLD_": "4294967296"}}, True),
    ],
)
def test_new_pages_that_cost_more_than_the_fills(
    page_ns: int, others: dict[str, Any], is_found: bool
) -> None:
    """As in ``benchmarks/tried/zeroed.py``, which dropped gradients make slower."""
    run = Program()
    gradient: dict[str, Any] = {"Input Dims": [[512, 512]], "Input type": ["float"]}
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 1000)
            with run.range("Optimizer.zero_grad#SGD.zero_grad"):
                for _ in range(20):
                    run.op("aten::zero_", 40, **gradient)
    pages = {
        "faults": 0, "thread_faults": 0, "thread_user_ns": 0, "thread_system_ns": 0,
        "growth_bytes": 0, "page_bytes": 4096, "page_ns": page_ns, "allocator": "glibc 2.36",
    }  # fmt: skip
    assert bool(found(RULE, run.trace(memory_pages=pages | others))) == is_found
