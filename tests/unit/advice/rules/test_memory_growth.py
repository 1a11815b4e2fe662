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
