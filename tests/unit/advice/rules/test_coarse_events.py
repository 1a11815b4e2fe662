"""Event times that are too coarse."""

from tb_privateuse1.advice.rules.coarse_events import RULE
from tests.support import make
from tests.support.program import device_bound, found
from tests.support.simulate import Op, simulate


def test_times_in_whole_milliseconds() -> None:
    events = [make.op("aten::mm", 20 * i, 20 * i + 10, id=i + 1) for i in range(60)]
    elapsed: dict[int, float | None] = {i + 1: 1000.0 * (i % 2) for i in range(60)}
    (row,) = found(RULE, make.trace(*events, elapsed=elapsed))
    assert "no longer than the clock can tell" in row.title
    assert row.saving_ns is None


def test_fine_times_are_fine() -> None:
    trace = simulate([Op("aten::mm", 5_000, 2_000, kernel=100_000)] * 200).trace
    assert trace.meta.timeline == "inferred"
    assert found(RULE, trace) == []


def test_measured_times_are_fine() -> None:
    assert found(RULE, device_bound().trace()) == []
