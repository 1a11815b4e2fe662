"""Ranges days away from all others."""

from __future__ import annotations

from tests.support.make import Event, kernel, launch, op, trace
from tests.support.quality import found, sure

_DAY = 86_400_000_000


def program(count: int = 4) -> list[Event]:
    """Operators that each launch a kernel, from the second day on."""
    at = [2 * _DAY + 100 * i for i in range(count)]
    return [
        event
        for i, t in enumerate(at)
        for event in (
            op("aten::mm", t, t + 20, id=i + 1),
            launch(t + 5, t + 8, i + 1),
            kernel("gemm", t + 10, t + 60, i + 1),
        )
    ]


def test_a_few_are_left_out_and_their_kernels_are_missing() -> None:
    events = program()
    events[5]["ts"] = 1  # its launch is two days later
    t = trace(*events)
    finding = sure(t, "far_events")
    assert finding.count == 1
    assert "1 of 12 ranges" in finding.message
    assert "kernel: 1" in finding.message
    assert (t.end_ns, len(t.kernels), t.meta.lost_launches) == (360_000, 3, 1)


def test_a_recording_of_hours_is_whole() -> None:
    t = trace(*program(), op("aten::relu", 2 * _DAY + 5 * 3_600_000_000, 2 * _DAY + 2e10, id=9))
    assert found(t, "far_events") is None
    assert len(t.ops) == 5
