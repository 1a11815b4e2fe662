"""Memory that grows from step to step."""

from tb_privateuse1.advice.rules.memory_growth import RULE
from tests.support import make
from tests.support.program import found

MIB = 1 << 20


def rows(ends: list[int]) -> int:
    events = [make.op("aten::empty", 0, 10)]
    for i, total in enumerate(ends):
        events += [make.step(i, 100 * i, 100 * i + 90)]
        events += [make.memory(100 * i + 20, MIB, total + MIB)]
        events += [make.memory(100 * i + 50, -MIB, total)]
    return len(found(RULE, make.trace(*events)))


def test_growth_is_found() -> None:
    assert rows([100 * MIB, 110 * MIB, 120 * MIB, 130 * MIB, 140 * MIB]) == 1


def test_a_level_that_falls_back_is_fine() -> None:
    assert rows([100 * MIB, 110 * MIB, 120 * MIB, 100 * MIB]) == 0


def test_a_few_bytes_are_rounding() -> None:
    assert rows([100 * MIB, 100 * MIB + 512, 100 * MIB + 1024, 100 * MIB + 2048]) == 0


def test_the_operator_that_makes_what_stays_is_named_with_its_line() -> None:
    """Each step keeps a loss; a temporary comes and goes, and one state is made once."""
    events, total = [make.frame("train.py(7): step", 0, 600)], 100 * MIB
    for i in range(5):
        at = 100 * i
        events += [
            make.step(i, at, at + 90),
            make.op("aten::mse_loss", at + 10, at + 30),
            make.op("aten::relu", at + 40, at + 60),
            make.memory(at + 20, 8 * MIB, total + 8 * MIB, Addr=4096 * (i + 1)),
            make.memory(at + 45, MIB, total + 9 * MIB, Addr=4096 * 90),
            make.memory(at + 50, -MIB, total + 8 * MIB, Addr=4096 * 90),
        ]
        total += 8 * MIB
    (row,) = found(RULE, make.trace(*events))
    assert "In each step aten::mse_loss (8.000 MiB) make what is never released." in row.explanation
    assert str(row.where) == "step (train.py)"
