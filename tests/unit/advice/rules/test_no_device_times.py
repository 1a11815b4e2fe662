"""A device without device times."""

from tb_privateuse1.advice.rules.no_device_times import RULE
from tests.support import make
from tests.support.program import device_bound, found


def test_a_privateuse1_device_without_times() -> None:
    (row,) = found(RULE, make.trace(make.op("aten::mm", 0, 10), make.memory(5, 8, 8)))
    assert "ProfilerStubs" in row.explanation
    assert row.severity == "medium"


def test_a_host_alone_misses_nothing() -> None:
    assert found(RULE, make.trace(make.op("aten::mm", 0, 10))) == []


def test_with_device_times_there_is_nothing() -> None:
    assert found(RULE, device_bound().trace()) == []
