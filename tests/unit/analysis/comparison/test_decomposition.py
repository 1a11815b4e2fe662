"""Operators that launch several kernels in one trace, and few in another one."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.comparison.decomposition import Decomposition, decompositions
from tb_privateuse1.trace.model import Trace
from tests.support.program import Program


def layers(parts: int, *, optimizer: int = 1, us: float = 10) -> Trace:
    """Return four steps of a product, a norm of several kernels, and an optimizer."""
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=100)
            with run.around("aten::layer_norm"), run.around("aten::native_layer_norm"):
                for i in range(parts):
                    run.op(f"aten::part_{i}", 5, kernel=us)
            with run.range("Optimizer.step#AdamW.step"):
                run.rest(1)
                for _ in range(optimizer):
                    run.op("aten::_foreach_add_" if optimizer > 1 else "aten::_fused_adamw_",
                           5, kernel=us)  # fmt: skip
            run.wait()
    return run.trace()


def compared(base: Trace, now: Trace) -> tuple[Decomposition, ...]:
    return decompositions(base, now, np.arange(4), np.arange(4))


def test_the_innermost_operator_that_both_have_is_named() -> None:
    (found,) = compared(layers(1), layers(5))
    assert (found.name, found.base_kernels, found.now_kernels) == ("aten::native_layer_norm", 1, 5)
    assert found.share == 50 / 160


def test_an_optimizer_without_its_fused_form_is_named() -> None:
    (found,) = compared(layers(1), layers(1, optimizer=6))
    assert found.name == "Optimizer.step#AdamW.step"


def test_as_many_or_two_are_no_difference() -> None:
    assert compared(layers(5), layers(5)) == ()
    assert compared(layers(5), layers(1)) == ()
    assert compared(layers(1), layers(2)) == ()


def test_little_time_is_no_matter() -> None:
    assert compared(layers(1, us=0.1), layers(5, us=0.1)) == ()


def test_without_kernels_nothing_is_known() -> None:
    assert decompositions(Trace(), Trace(), np.arange(0), np.arange(0)) == ()
