"""FLOPs and bytes of optimizer steps."""

from __future__ import annotations

from tests.unit.analysis.work.calls import flops, tensor, work

LIST = [tensor(3, 4), tensor(5)]


def test_operations_per_parameter() -> None:
    assert flops("aten::_foreach_add_", LIST, LIST, 1) == 17
    assert flops("aten::_foreach_addcdiv_", LIST, LIST, LIST, -0.1) == 51
    assert flops("aten::_foreach_norm", LIST, 2) == 34
    steps = [tensor(), tensor()]
    assert flops("aten::_fused_adamw_", LIST, LIST, LIST, LIST, [], steps) == 14 * 17


def test_a_list_without_shapes_is_unknown() -> None:
    assert work("aten::_foreach_add_", [], 1) is None
