"""Kernels that the capture planted: they judge a recording's bounds, and are not the run's."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.inference.device_timeline import self_test
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.method import method
from tests.support import make
from tests.support.simulate import GAP, LATENCY, MARK, Op, simulate, step

US = 1_000
KERNEL = 150 * US
ROWS = [1, 1, 1, 8, 8]
RETURN = 20 * US
"""What launching the first one and waiting for the last takes beside the work."""
LAYERS = [Op("aten::add", 20 * US, 1_000, 9 * US)] * 6
EDGE = Op("tb_privateuse1::window_end", 3_000, 1_000, blocking=True, category="user_annotation")


def planted() -> Op:
    """The annotation with all rows, each up to a wait."""
    own = Op("aten::mul_", 4 * US, 1_000, KERNEL)
    inside: list[Op] = []
    for count in ROWS:
        inside += [own] * count
        inside.append(Op("wait", 1_000, 1_000, blocking=True, category="user_annotation"))
    return Op(self_test.SELF_TEST, 1_000, 1_000, 0, inside, category="user_annotation")


def timed(lost: int = 0, late: int = 0, mark: int = MARK) -> list[list[int]]:
    """What the host saw: rows, their times and the time without a core in it.

    ``lost``: without a core, as the system tells; ``late``: as it does not. ``mark``: what an
    event costs the device.
    """
    period = KERNEL + GAP + 2 * mark
    alone = LATENCY + KERNEL + RETURN
    return [[n, alone + (n - 1) * period + lost + late * (n > 1), lost] for n in ROWS]


def record(rows: list[list[int]] | None) -> Trace:
    """A recording with the self-test behind its window."""
    program = [*(step(i, *LAYERS) for i in range(4)), EDGE, planted()]
    facts: dict[str, Any] = {} if rows is None else {"self_test": rows}
    return simulate(program, **facts).trace


def test_bounds_that_hold_are_counted() -> None:
    trace = record(timed())
    page = method(trace)
    assert page.self_test == page.self_test_held == sum(ROWS) + 2 * 7
    assert "self_test_failed" not in {one.code for one in trace.meta.findings}


def test_planted_kernels_are_no_work_of_the_run() -> None:
    trace = record(timed())
    assert {trace.text(name) for name in trace.kernels.name} == {"aten::add"}
    assert len(trace.kernels) == 4 * len(LAYERS)


def test_without_the_hosts_times_nothing_is_judged() -> None:
    trace = record(None)
    assert method(trace).self_test is None
    assert len(trace.kernels) == 4 * len(LAYERS)


@pytest.mark.parametrize("rows", [[], [[1, 2]], [[1, "a", 0]] * 5, 3, [[0, 1, 1]] * 4, [[1, 9, 0]]])
def test_damaged_times_judge_nothing(rows: Any) -> None:
    assert method(record(rows)).self_test is None


@pytest.mark.parametrize("wrong", [0.8, 1.25])
def test_kernels_of_another_length_fail(wrong: float) -> None:
    """A recording whose planted kernels took another time says so at all device figures."""
    rows = [[n, LATENCY + RETURN + int(n * wrong * KERNEL), 0] for n in ROWS]
    trace = record(rows)
    (finding,) = (one for one in trace.meta.findings if one.code == "self_test_failed")
    assert "totals" in finding.affects
    assert (method(trace).self_test_held or 0) < 0.9 * (method(trace).self_test or 0)
    assert finding in method(trace).refused


def test_a_host_without_a_core_fails_nothing() -> None:
    """What the system tells of it is doubt of the host's times."""
    page = method(record(timed(lost=60 * US)))
    assert page.self_test == page.self_test_held


def test_rows_that_were_all_held_up_judge_nothing() -> None:
    """By another thread's hold of Python's lock, or a guest of the same machine: nobody tells."""
    assert method(record(timed(late=900 * US))).self_test is None


def test_kernels_back_to_back_without_what_lies_between_fail() -> None:
    """As sums of kernels were once placed, while events cost the device 4 us each."""
    page = method(record(timed(mark=4 * US)))
    assert (page.self_test_held or 0) < 0.9 * (page.self_test or 0)


def test_memory_that_the_capture_allocated_is_not_the_programs() -> None:
    trace = make.trace(
        make.op("aten::add", 0, 10, id=1), make.memory(5, 8, 64), make.memory(105, 80, 1064),
        make.annotation(self_test.SELF_TEST, 100, 200), make.memory(210, -80, 64),
    )  # fmt: skip
    assert trace.memory.ts_ns.tolist() == [5_000]
