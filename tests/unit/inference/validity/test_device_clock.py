"""Device times on another clock than the host's."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tb_privateuse1.views.overview import overview
from tests.support.make import Event, kernel, launch, step, trace
from tests.support.program import Program, device_bound
from tests.support.quality import found, sure

_HOUR = 3_600_000_000.0


def shifted(events: Iterable[Event], us: float, device: int = 0) -> list[Event]:
    """The events, with those of a device at other times."""
    return [
        event | {"ts": event["ts"] + us} if event["args"].get("device") == device else event
        for event in events
    ]


@pytest.mark.parametrize("us", [-5_000, -3 * _HOUR, 3 * _HOUR, -400 * _HOUR, 400 * _HOUR])
def test_the_promptest_activity_starts_with_its_call(us: float) -> None:
    """In this program it starts 1 us behind."""
    events = device_bound().events
    true, t = trace(*events), trace(*shifted(events, us))
    assert (t.kernels.start_ns == true.kernels.start_ns - 1000).all()
    finding = sure(t, "clock_shifted")
    assert finding.count == len(true.kernels)
    assert ("later" if us < 0 else "earlier") in finding.message
    said, shown = overview(true).verdict, overview(t).verdict
    assert said is not None
    assert shown is not None
    assert (shown.kind, shown.time_class) == (said.kind, said.time_class)
    assert found(t, "activities_outside") is None


def test_each_device_has_its_own_clock() -> None:
    pairs = [
        event
        for i in range(4)
        for event in (
            launch(100 * i, 100 * i + 5, 2 * i + 1),
            kernel("a", 100 * i + 10, 100 * i + 40, 2 * i + 1),
            launch(100 * i + 50, 100 * i + 55, 2 * i + 2),
            kernel("b", 100 * i + 60, 100 * i + 90, 2 * i + 2, device=1),
        )
    ]
    t = trace(step(1, 0, 400), *shifted(pairs, -_HOUR, device=1))
    assert [t.text(name) for name in t.kernels.name] == ["a", "b"] * 4
    assert t.kernels.launch.tolist() == list(range(8))
    assert "device 1" in sure(t, "clock_shifted").message


def test_a_queue_and_an_exact_clock_stay() -> None:
    run = Program()
    for _ in range(20):
        run.op("aten::mm", 2, kernel=1_000)
    assert found(run.trace(), "clock_shifted") is None
    assert found(trace(*shifted(run.events, -3)), "clock_shifted") is None
