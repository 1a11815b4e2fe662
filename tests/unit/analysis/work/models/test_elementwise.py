"""Bytes of elementwise operators: promoted types, numbers, operations in place."""

from __future__ import annotations

import pytest

from tests.unit.analysis.work.calls import flops, moved, tensor, work

HALF = "c10::Half"


@pytest.mark.parametrize(
    ("types", "item"),
    [
        (("float", HALF), 4),
        ((HALF, "c10::BFloat16"), 4),
        ((HALF, "long int"), 2),
        (("int", "long int"), 8),
        (("bool", "unsigned char"), 1),
    ],
)
def test_the_result_has_the_promoted_type(types: tuple[str, str], item: int) -> None:
    a, b = (tensor(6, 8, dtype=one) for one in types)
    assert moved("aten::add", a, b, 1)[1] == 48 * item


def test_a_number_does_not_promote() -> None:
    assert moved("aten::mul", tensor(6, 8, dtype=HALF), tensor(dtype="double"))[1] == 96


def test_in_place_the_type_is_that_of_the_operand() -> None:
    assert moved("aten::add_", tensor(6, 8, dtype=HALF), tensor(6, 8), 1)[1] == 96


def test_operands_are_broadcast() -> None:
    assert flops("aten::mul", tensor(6, 1), tensor(8)) == 48
    assert work("aten::mul", tensor(6), tensor(8)) is None


def test_the_result_of_an_out_form_is_not_read() -> None:
    assert moved("aten::add", tensor(8), tensor(8), 1, tensor(8)) == (64, 32)


def test_gates() -> None:
    assert moved("_C::silu_and_mul", tensor(4, 8), tensor(4, 16)) == (256, 128)
