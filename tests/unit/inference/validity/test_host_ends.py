"""Host ranges that end long after their recording does."""

from __future__ import annotations

import pytest

from tb_privateuse1.trace.model import Trace
from tests.support.make import Event, annotation, frame, kernel, launch, op, step, trace
from tests.support.quality import found, sure

_DAY_US = 86_400_000_000


def program() -> list[Event]:
    """Three steps of 100 us: an operator inside of another one launches a kernel."""
    events: list[Event] = []
    for i in range(3):
        t = 5_000_000 + 100 * i
        events += [
            step(i, t, t + 95),
            op("aten::linear", t + 5, t + 50, id=10 * i + 1),
            op("aten::addmm", t + 10, t + 40, id=10 * i + 2),
            launch(t + 20, t + 25, i + 1),
            kernel("gemm", t + 30, t + 80, i + 1),
        ]
    return events


def lengthened(name: str, which: int, by_us: float) -> tuple[Trace, Event]:
    """Return the program in which one range of a name is longer, and that range as it was."""
    events = program()
    at = [i for i, event in enumerate(events) if event["name"] == name][which]
    before = events[at]
    events[at] = before | {"dur": before["dur"] + by_us}
    return trace(*events), before


def lengths(t: Trace, name: str) -> list[int]:
    rows = [i for i, n in enumerate(t.ops.name) if t.text(n) == name]
    return [int(t.ops.end_ns[i] - t.ops.start_ns[i]) for i in rows]


@pytest.mark.parametrize("by_us", [2**32 / 1000, 2**57 / 1000])
@pytest.mark.parametrize("which", [0, 2])
def test_an_operator_that_outlasts_the_one_around_it(by_us: float, which: int) -> None:
    t, _ = lengthened("aten::addmm", which, by_us)
    finding = sure(t, "impossible_host_ends")
    assert (finding.count, "aten::addmm" in str(finding.message)) == (1, True)
    assert lengths(t, "aten::addmm") == [30_000] * 3
    assert lengths(t, "aten::linear") == [45_000] * 3
    assert (t.end_ns, len(t.steps), t.kernels.op.tolist()) == (
        trace(*program()).end_ns, 3, trace(*program()).kernels.op.tolist(),
    )  # fmt: skip


def test_a_call_of_the_runtime_around_operators() -> None:
    t, _ = lengthened("cudaLaunchKernel", 0, 2**32 / 1000)
    assert sure(t, "impossible_host_ends").count == 1
    assert (t.launches.end_ns - t.launches.start_ns).tolist() == [5_000] * 3


def test_the_last_step_ends_with_the_recording() -> None:
    t, _ = lengthened("ProfilerStep#2", 0, 2 * _DAY_US)
    assert sure(t, "impossible_host_ends").count == 1
    assert (t.end_ns, len(t.steps)) == (280_000, 3)


def test_a_single_range_of_its_name_ends_with_the_one_around_it() -> None:
    events = program()
    events.append(op("aten::item", 5_000_015, 5_000_015 + 2 * _DAY_US, id=99))
    t = trace(*events)
    assert sure(t, "impossible_host_ends").count == 1
    assert lengths(t, "aten::item") == [25_000]


def test_operators_that_outlast_their_step() -> None:
    events = [event for event in program() if event["name"] != "aten::linear"]
    for at in (1, 5):
        events[at] = events[at] | {"dur": 2**32 / 1000}
    t = trace(*events)
    assert sure(t, "impossible_host_ends").count == 2
    assert (lengths(t, "aten::addmm"), t.end_ns) == ([30_000] * 3, 295_000)


def test_long_ranges_that_nothing_contradicts_stay() -> None:
    """A wait at the end, an annotation around everything, and frames that annotations cross."""
    wait = op("aten::item", 5_000_300, 9_000_000, id=99)
    assert found(trace(*program(), wait), "impossible_host_ends") is None
    around = [annotation("train", 4_999_999, 9_000_000), frame("__enter__", 4_999_990, 5_000_001)]
    assert found(trace(*program(), *around), "impossible_host_ends") is None
