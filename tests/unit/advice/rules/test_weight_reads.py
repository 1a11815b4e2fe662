"""Products with few rows, whose time is that of their weights."""

from tb_privateuse1.advice.rules.weight_reads import RULE
from tests.support import chains
from tests.support.program import found
from tests.support.sized import SizedProgram


def program(rows: int, slow: float = 1.0, size: int = 8192) -> SizedProgram:
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for _ in range(6):
                run.run("aten::relu", chains.X)
                run.product(rows, size, size, slow=slow)
            run.product(4096, 1024, 1024)
            run.wait()
    return run


def test_slow_reading_is_found_with_its_time_above_the_roof() -> None:
    (row,) = found(RULE, program(rows=4, slow=2).trace())
    assert row.title == "Products wait for their weights: 499.4 GB/s, 54 % of what memory reaches"
    assert row.saving_share is not None
    assert 0.4 < row.saving_share < 0.5


def test_reading_at_full_rate_is_named_without_a_saving() -> None:
    (row,) = found(RULE, program(rows=4).trace())
    assert (row.saving_ns, row.severity) == (None, "note")


def test_many_rows_are_arithmetic() -> None:
    assert found(RULE, program(rows=4096, size=2048).trace()) == []
