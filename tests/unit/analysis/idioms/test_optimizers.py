"""What one fused kernel would leave of an optimizer's updates."""

import numpy as np
import pytest

from tb_privateuse1.analysis.idioms.optimizers import Updates, updates
from tb_privateuse1.trace.model import Trace
from tests.support.sized import FP32, SizedProgram, full


def _updates(trace: Trace) -> Updates:
    found = updates(trace, np.ones(len(trace.ops), np.bool_))
    assert found is not None
    return found


def adam(*, by_hand: bool) -> Trace:
    """Four parameters of two sizes; by hand some operators run several times for each."""
    run = SizedProgram()
    with run.step():
        for size in (1024, 1024, 2048, 2048):
            one = full(size, 1024, dtype=FP32)
            run.run("aten::mul_", one, "0.9")
            run.run("aten::addcmul_", one, one, one, "1")
            run.run("aten::sqrt", one)
            for _ in range(3 if by_hand else 1):
                run.run("aten::add_", one, one, "1")
                run.run("aten::div", one, one)
        run.wait()
    return run.trace()


def test_an_operator_that_runs_several_times_for_a_parameter_counts_it_once() -> None:
    plain, by_hand = (_updates(adam(by_hand=flag)) for flag in (False, True))
    assert by_hand.fused_ns == pytest.approx(plain.fused_ns, rel=0.01)
    assert by_hand.share > plain.share


def test_a_fused_kernel_may_be_faster_than_any_that_was_recorded() -> None:
    found = _updates(adam(by_hand=True))
    assert found.share < found.most <= 1.0
