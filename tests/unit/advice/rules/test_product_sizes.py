"""Products in half precision with sizes off the multiple."""

from typing import Any

import pytest

from tb_privateuse1.advice.rules import bias_before_norm, product_sizes
from tb_privateuse1.advice.rules.product_sizes import RULE
from tests.support.program import Program, found

A100 = [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}]


def program(inner: int, kind: str = "c10::Half", name: str = "aten::mm") -> Program:
    run = Program()
    shapes: list[Any] = [[64, inner], [inner, 128]]
    types = [kind, kind]
    if name == "aten::addmm":
        shapes, types = [[128], *shapes, [], []], [kind, *types, "Scalar", "Scalar"]
    for _ in range(3):
        with run.step():
            for _ in range(10):
                args = {"Input Dims": shapes, "Input type": types}
                run.op(name, 10, kernel=200, **args)
            run.wait()
    return run


def test_odd_sizes_are_found() -> None:
    for name in ("aten::mm", "aten::addmm"):
        (row,) = found(RULE, program(1001, name=name).trace(deviceProperties=A100))
        assert (row.events, row.saving_ns, row.severity) == (30, None, "note")


def test_multiples_are_fine() -> None:
    assert found(RULE, program(1000).trace(deviceProperties=A100)) == []


def test_full_precision_is_another_matter() -> None:
    assert found(RULE, program(1001, kind="float").trace(deviceProperties=A100)) == []


def test_without_the_vendors_data_nothing_is_said() -> None:
    assert found(RULE, program(1001).trace(deviceProperties=[{"name": "Gaudi2"}])) == []


@pytest.mark.parametrize("odd", ["7", "true", '"x"', "{}", '{"a": [1]}', "[7]", "[[1], 5, 6]"])
def test_a_shape_may_be_any_json(odd: str) -> None:
    for shapes, types in ((odd, '["c10::Half", "c10::Half"]'), ("[[3, 3], [3, 3]]", odd)):
        assert not product_sizes._is_odd(shapes, types, "aten::mm", 8)
    assert bias_before_norm._third(odd) == (odd == "[[1], 5, 6]")
