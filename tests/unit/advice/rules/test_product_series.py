"""Small products in a loop, and one batched product."""

from tb_privateuse1.advice.rules.product_series import RULE
from tests.support.program import found
from tests.support.sized import SizedProgram, full


def program(times: int = 32, k: int = 64, selects: int = 0, together: bool = False) -> SizedProgram:
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            run.product(2048, 2048, 2048)
            for _ in range(times if not together else 0):
                for _ in range(selects):
                    run.op("aten::select", 1)
                run.run("aten::mm", full(8, k), full(k, 64), slow=8)
            if together:
                run.run("aten::bmm", full(times, 8, k), full(times, k, 64))
            run.wait()
    return run


def test_equal_products_in_a_row_are_found() -> None:
    (row,) = found(RULE, program(k=128).trace())
    assert row.title == "Equal small products one after the other: 32 a step"
    assert row.events == 4 * 32
    assert row.saving_share is not None
    assert row.saving_share > 0.2


def test_a_batched_product_is_fine() -> None:
    assert found(RULE, program(k=128, together=True).trace()) == []


def test_query_key_and_value_are_three() -> None:
    assert found(RULE, program(k=128, times=3).trace()) == []


def test_a_product_may_be_the_operand_of_the_next_one() -> None:
    assert found(RULE, program().trace()) == []


def test_places_of_larger_tensors_are_independent() -> None:
    (row,) = found(RULE, program(selects=2).trace())
    assert row.events == 4 * 32
    assert found(RULE, program(selects=1).trace()) == []
