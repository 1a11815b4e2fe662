"""Work in float64."""

from typing import Any

import pytest

from tb_privateuse1.advice.rules.double_precision import RULE
from tests.support.program import Program, found
from tests.support.sized import FP32, FP64, SizedProgram, recorded


def program(shapes: list[Any], types: list[str]) -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            for _ in range(10):
                run.op("aten::mul", 10, kernel=200, **{"Input Dims": shapes, "Input type": types})
            run.wait()
    return run


def test_a_tensor_of_doubles_is_found() -> None:
    (row,) = found(RULE, program([[64], [64]], ["double", "double"]).trace())
    assert row.events == 30
    assert row.saving_share is not None
    assert 0.4 < row.saving_share < 0.5


def test_a_number_of_pythons_is_no_tensor() -> None:
    assert found(RULE, program([[64], []], ["float", "double"]).trace()) == []


def test_floats_are_fine() -> None:
    assert found(RULE, program([[64], [64]], ["float", "float"]).trace()) == []


def test_what_a_factorization_needs_is_a_note() -> None:
    """Its errors grow with the condition of the matrix, which no trace has."""
    run = Program()
    for _ in range(3):
        with run.step():
            for name in ("aten::mul", "aten::linalg_cholesky_ex"):
                for _ in range(5):
                    inputs = {"Input Dims": [[64, 64]], "Input type": ["double"]}
                    run.op(name, 10, kernel=200, **inputs)
            run.wait()
    (row,) = found(RULE, run.trace())
    assert (row.saving_ns, row.severity) == (None, "note")
    assert "condition" in row.explanation


def test_a_factorization_in_float32_needs_no_float64() -> None:
    run = Program()
    for _ in range(3):
        with run.step():
            for name, kind in (("aten::mul", "double"), ("aten::linalg_cholesky_ex", "float")):
                for _ in range(5):
                    inputs = {"Input Dims": [[64, 64]], "Input type": [kind]}
                    run.op(name, 10, kernel=200, **inputs)
            run.wait()
    (row,) = found(RULE, run.trace())
    assert row.saving_ns is not None


def products(types: tuple[str, ...], on_host: bool = False) -> SizedProgram:
    """Steps with a product of each type; on the device both take as long."""
    run = SizedProgram()
    for _ in range(3):
        with run.step():
            run.rest(1)
            for dtype in types:
                inputs = recorded(((512, 512), dtype), ((512, 512), dtype))
                run.op("aten::mm", 1000 if on_host else 10, kernel=0 if on_host else 1000, **inputs)
            if not on_host:
                run.wait()
    return run


def test_comparable_products_in_float32_give_the_time() -> None:
    assert found(RULE, products((FP64, FP32)).trace()) == []


def test_a_device_whose_rate_is_not_known_saves_bytes_and_may_save_half() -> None:
    run = products((FP64,))
    with run.step():
        run.run("aten::mul", ((1 << 22,), FP32), ((1 << 22,), FP32))
        run.op("aten::mm", kernel=4000, **recorded(((512, 512), FP64), ((512, 512), FP64)))
        run.wait()
    rows = found(RULE, run.trace())
    assert all(row.saving_share is not None and row.saving_share < 0.1 for row in rows)


def test_a_processor_has_half_of_the_vectors() -> None:
    (row,) = found(RULE, products((FP64,), on_host=True).trace())
    assert row.saving_share == pytest.approx(0.5, abs=0.02)
