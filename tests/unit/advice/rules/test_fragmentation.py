"""Reserved memory that no tensor uses."""

from tb_privateuse1.advice.rules.fragmentation import RULE
from tests.support import make
from tests.support.program import found

GIB = 1 << 30


def rows(allocated: int, reserved: int | None) -> int:
    args = {} if reserved is None else {"Total Reserved": reserved}
    trace = make.trace(make.op("aten::empty", 0, 30), make.memory(10, GIB, allocated, **args))
    return len(found(RULE, trace))


def test_both_sides_of_the_threshold() -> None:
    assert rows(6 * GIB, 10 * GIB) == 1
    assert rows(8 * GIB, 10 * GIB) == 0


def test_little_is_no_matter() -> None:
    assert rows(GIB // 10, GIB // 2) == 0


def test_unknown_values_are_no_finding() -> None:
    assert rows(6 * GIB, None) == 0
