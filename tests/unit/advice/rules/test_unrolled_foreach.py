"""Foreach operators that run tensor by tensor."""

from tb_privateuse1.advice.rules.unrolled_foreach import RULE
from tests.support.program import Program, found


def program(inside: str, tensors: int = 20) -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=20)
            with run.around("aten::_foreach_add_"):
                for _ in range(tensors):
                    run.op(inside, 9, kernel=2)
    return run


def test_one_call_per_tensor_is_found() -> None:
    (row,) = found(RULE, program("aten::add_").trace())
    assert row.events == 3
    assert "made 60 calls" in row.explanation
    assert row.saving_ns is not None
    assert row.saving_ns > 3 * 19 * 7_000


def test_preparing_one_kernel_for_all_is_fine() -> None:
    assert found(RULE, program("aten::result_type").trace()) == []


def test_on_a_host_alone_there_are_no_such_kernels() -> None:
    run = Program()
    with run.step(), run.around("aten::_foreach_add_"):
        for _ in range(20):
            run.op("aten::add_", 9)
    assert found(RULE, run.trace()) == []


def test_a_few_tensors_are_fine() -> None:
    assert found(RULE, program("aten::add_", tensors=3).trace()) == []
