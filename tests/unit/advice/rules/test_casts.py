"""Kernels that only convert to another type."""

from contextlib import ExitStack
from typing import Any

import pytest

from tb_privateuse1.advice.rules.casts import RULE
from tests.support.autograd import ENGINE
from tests.support.program import Program, found, kernel_inside
from tests.support.sized import BF16, FP16, FP32, full, recorded, unshaped

UNSCALES = "aten::_amp_foreach_non_finite_check_and_unscale_"


def test_they_are_found() -> None:
    (row,) = found(RULE, kernel_inside("aten::_to_copy", 200).trace())
    assert row.title.startswith("Conversions between types")
    assert row.events == 4
    assert row.saving_ns is not None
    assert 4 * 150_000 < row.saving_ns <= 4 * 200_000


def test_other_kernels_are_none() -> None:
    assert found(RULE, kernel_inside("aten::relu", 200).trace()) == []


def test_a_little_is_in_every_kernel_inside() -> None:
    assert found(RULE, kernel_inside("aten::_to_copy", 10).trace()) == []


def test_a_copy_between_devices_is_no_conversion() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=500)
            with run.around("aten::_to_copy"):
                run.copy("DtoH", 200)
    assert found(RULE, run.trace()) == []


def mixed(*, of_weight: bool) -> Program:
    """Steps that cast a tensor to a narrow type, and its gradient back."""
    run = Program()
    for number in range(4):
        forward, node = ({"Sequence number": number, **args} for args in ({}, {"Fwd thread id": 1}))
        with run.step():
            with run.around("aten::_to_copy", **forward), run.around("aten::copy_", **forward):
                run.launch("elementwise_kernel", 200)
            run.op("aten::mm", 10, kernel=500)
            with run.around(f"{ENGINE}ToCopyBackward0", **node), run.around("aten::_to_copy"):
                run.launch("elementwise_kernel", 200)
            if of_weight:
                run.op(f"{ENGINE}torch::autograd::AccumulateGrad", 2)
            else:
                run.op(f"{ENGINE}MmBackward0", 2)
            run.wait()
    return run


def test_a_weight_that_is_trained_is_cast_anew_in_each_step() -> None:
    """The optimizer has changed it, and adds its gradient in the wider type."""
    assert found(RULE, mixed(of_weight=True).trace()) == []


def test_casts_between_operators_are_found_in_training_as_well() -> None:
    (row,) = found(RULE, mixed(of_weight=False).trace())
    assert row.events == 8


def promoted(dtype: str) -> Program:
    """Products whose second factor gets the type of the first one."""
    types: dict[str, Any] = {"Input Dims": [[64], [64]], "Input type": [dtype, "float"]}
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=500)
            with run.around("aten::mul", **types), run.around("aten::_to_copy"):
                run.launch("elementwise_kernel", 200)
            run.wait()
    return run


def test_numbers_that_meet_complex_ones_have_no_other_type() -> None:
    assert found(RULE, promoted("c10::complex<float>").trace()) == []
    assert len(found(RULE, promoted("double").trace())) == 1


def of_gradients(node: str = "AmaxBackward0", dtype: str = "bool", framed: bool = False) -> Program:
    """Steps whose backward pass has a cast inside of a node."""
    types: dict[str, Any] = {"Input Dims": [[64], []], "Input type": [dtype, "Scalar"]}
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=500)
            with ExitStack() as inside:
                for name in (ENGINE + node, node, "aten::mul"):
                    inside.enter_context(run.around(name))
                if framed:
                    inside.enter_context(run.frame("train.py(5): recomputed"))
                    run.rest(1)
                inside.enter_context(run.around("aten::_to_copy", **types))
                run.launch("elementwise_kernel", 200)
            run.wait()
    return run


def test_torchs_own_formula_of_a_gradient_casts_a_mask() -> None:
    assert found(RULE, of_gradients().trace()) == []


def test_a_cast_between_real_types_is_by_the_types_of_the_program() -> None:
    assert len(found(RULE, of_gradients(dtype="float").trace())) == 1


def test_a_programs_own_function_casts_its_masks_itself() -> None:
    assert len(found(RULE, of_gradients("SelectedBackward").trace())) == 1
    assert len(found(RULE, of_gradients(framed=True).trace())) == 1


ITEM, MUL = "aten::item", "aten::mul"


def scaled(dtype: str = BF16, *, scaler: bool = True, other: str = "") -> Program:
    """Steps that compute in a narrow type, with a GradScaler, which asks ahead of each update."""
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(10):
                run.op("aten::mm", 10, kernel=60,
                       **recorded(*(full(128, 128, dtype=dtype) for _ in range(2))))  # fmt: skip
            if other:
                run.op(MUL, 10, kernel=5, **recorded(full(8, dtype=other)))
            if scaler:
                number = recorded(full(dtype=FP32))
                for name in ("aten::to", "aten::reciprocal", "aten::to", "aten::full", "aten::to"):
                    run.op(name, 10, kernel=2, **number)
                run.op(UNSCALES, 20, kernel=20)
                run.op("aten::_foreach_norm", 20, kernel=20)
                with run.around(ITEM), run.around("aten::_local_scalar_dense"):
                    run.copy("DtoH", 2)
            with run.range("Optimizer.step#AdamW.step"):
                run.rest(200)
                run.op("aten::_foreach_add_", 20, kernel=20)
            if scaler:
                run.op("aten::_amp_update_scale_", 20, kernel=2)
    return run


def test_bfloat16_needs_no_scaled_gradients() -> None:
    (row,) = found(RULE, scaled().trace())
    assert row.title.startswith("Gradients are scaled though products are in bfloat16")
    assert row.events == 4 * 8
    assert row.confidence == "medium"
    assert row.saving_ns is not None
    assert row.saving_ns > 4 * 200_000, "the wait and what follows it"


@pytest.mark.parametrize("dtype", [FP16, FP32])
def test_products_in_other_types_may_need_them(dtype: str) -> None:
    assert found(RULE, scaled(dtype).trace()) == []


@pytest.mark.parametrize("other", [FP16, "c10::Float8_e4m3fn"])
def test_a_tensor_of_a_narrower_exponent_may_need_them(other: str) -> None:
    assert found(RULE, scaled(other=other).trace()) == []


def test_without_a_scaler_there_is_nothing_to_remove() -> None:
    assert found(RULE, scaled(scaler=False).trace()) == []


def test_types_that_are_not_recorded_tell_nothing() -> None:
    assert found(RULE, unshaped(scaled())) == []


def test_a_programs_own_read_is_none_of_a_scaler() -> None:
    """It lies ahead of the scaling, or an operator lies between it and the update."""
    run = scaled()
    events = sorted(run.events, key=lambda event: event["ts"])
    for event in events:
        if event["name"] == "aten::_foreach_norm":
            event["name"] = ITEM
        elif event["name"] == ITEM:
            event["name"] = "aten::_foreach_mul_"
    (row,) = found(RULE, run.trace())
    assert row.events == 4 * 7
