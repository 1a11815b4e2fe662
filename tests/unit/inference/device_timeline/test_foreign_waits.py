"""Where the ranks communicate on a stream of their own, a long single kernel may be a wait."""

from __future__ import annotations

import pytest

from tb_privateuse1.trace import uncertainty
from tb_privateuse1.trace.model import MISSING
from tests.support import simulate
from tests.support.simulate import Op, linear, step

US = 1_000
LAYERS = [linear(8 * US, 80 * US)] * 8


@pytest.mark.parametrize(("group", "known"), [("nccl", False), ("gloo", True)])
def test_a_long_single_kernel_beside_communication_has_no_bound(group: str, *, known: bool) -> None:
    """Eight equal ones tell their length; gloo communicates on the host."""
    reduce = Op(f"{group}:all_reduce", 3 * US, US, category="user_annotation")
    wait = Op("aten::mul", 8 * US, US, 60_000 * US)
    trace = simulate.simulate([step(0, *LAYERS, reduce, wait, *LAYERS)]).trace
    lost = trace.kernels.duration_bound_ns == MISSING
    assert lost.sum() == (0 if known else 1)
    assert (uncertainty.union_bound(trace.kernels) is not None) == known
