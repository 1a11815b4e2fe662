"""Operators that a backend decomposes."""

from tb_privateuse1.advice.rules.decomposed import RULE
from tests.support.program import Program, found

PARTS = ("aten::mean", "aten::sub", "aten::rsqrt", "aten::mul")


def program(name: str, parts: int) -> Program:
    run = Program()
    for _ in range(4):
        with run.step():
            with run.around(name):
                for part in PARTS[:parts]:
                    run.op(part, 10, kernel=200)
                if not parts:
                    run.launch("layer_norm", 200)
            run.wait()
    return run


def test_many_parts_are_found() -> None:
    (row,) = found(RULE, program("aten::native_layer_norm", 4).trace())
    assert row.events == 4
    assert row.title.startswith("aten::native_layer_norm is built of other operators")
    assert row.saving_share is not None
    assert row.saving_share > 0.5


def test_a_kernel_of_its_own_is_fine() -> None:
    assert found(RULE, program("aten::native_layer_norm", 0).trace()) == []


def test_two_parts_are_usual() -> None:
    assert found(RULE, program("aten::native_layer_norm", 2).trace()) == []


def test_operators_that_are_made_of_others_everywhere() -> None:
    assert found(RULE, program("aten::linear", 4).trace()) == []


def test_torch_has_all_kernels_of_a_processor() -> None:
    """There ``vmap`` runs an operator by others: no backend lacks one."""
    run = Program()
    for _ in range(4):
        with run.step(), run.around("aten::addmm"):
            for part in PARTS:
                run.op(part, 200)
    assert found(RULE, run.trace()) == []
