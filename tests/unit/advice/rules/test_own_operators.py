"""Operators of one's own far from a pass over their inputs, and those that are near to it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.own_operators import RULE
from tb_privateuse1.trace.model import Trace
from tests.support.autograd import HostTraining, TrainingProgram
from tests.support.program import found
from tests.support.sized import full, matrix, recorded

Body = Callable[[TrainingProgram], None]
SMALL = recorded(matrix(8), matrix(8), "1")
COLD_US = 2360
"""A pass over 1 MB of cold memory that writes as much to fresh memory, at worst."""
LARGE = recorded(matrix(256, 1024))


def program(body: Body, name: str = "mine::smooth") -> Trace:
    """Steps on a processor: a pass of 0.1 ms over as many bytes, calls of 3 us, and one's own."""
    run = HostTraining()
    for _ in range(4):
        with run.step(), run.frame("train.py(3): step"):
            run.rest(1)
            run.op("aten::relu", 100, **LARGE)
            for _ in range(8):
                run.op("aten::add", 3, **SMALL)
            run.rest(1)
            with run.around(name, host=1, **LARGE):
                body(run)
            run.rest(1)
    return run.trace()


def computing(us: float) -> Body:
    """Compute in C++."""
    return lambda run: run.rest(us)


def looping(us: float, calls: int = 128) -> Body:
    """Call NumPy in a loop of Python, for so long each time."""

    def body(run: TrainingProgram) -> None:
        with run.frame("train.py(9): smooth"):
            for at in range(calls):
                with run.frame(f"<built-in method mean of numpy.ndarray object at 0x7f{at:04x}>"):
                    run.rest(us)

    return body


def test_without_a_body_in_python_nothing_is_promised() -> None:
    (row,) = found(RULE, program(computing(4 * COLD_US)))
    assert row.saving_ns is None
    assert row.title.startswith("Operators of your own take 4 times as long as a pass")
    assert "mine::smooth" in row.explanation
    assert "up to 9" in row.how


def test_a_loop_of_python_has_a_range_from_nothing() -> None:
    (row,) = found(RULE, program(looping(12, calls=1024)))
    assert (row.saving_low_ns, row.confidence) == (0, "low")
    assert row.saving_high_ns == pytest.approx(4e3 * 1024 * 12, rel=0.05)
    assert "1,024" in row.explanation


def test_a_loop_of_python_need_not_be_far_from_a_pass() -> None:
    """Its calls show what it costs: 3 us each, of twice the time of a pass."""
    (row,) = found(RULE, program(looping(9, calls=512)))
    assert row.saving_low_ns == 0
    assert row.saving_high_ns == pytest.approx(4e3 * 512 * 9, rel=0.05)
    assert found(RULE, program(computing(9 * 512))) == []


def test_a_loop_over_long_calls_costs_no_python() -> None:
    (row,) = found(RULE, program(looping(1000)))
    assert row.saving_ns is None


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (computing(3 * COLD_US), "mine::smooth"),  # some passes
        (computing(8 * COLD_US), "aten::_linalg_svd"),
        (computing(8 * COLD_US), "torchvision::nms"),
        (computing(8 * COLD_US), "MulBackward0"),
    ],
)
def test_right_programs(body: Body, name: str) -> None:
    assert found(RULE, program(body, name)) == []


def test_a_device_with_a_data_sheet_is_asked_by_another_rule() -> None:
    run = TrainingProgram()
    for _ in range(3):
        with run.step():
            run.op("mine::smooth", 5, kernel=4000, **recorded(full(256, 1024)))
            run.op("aten::relu", 5, kernel=10, **recorded(full(256, 1024)))
            run.wait()
    devices = [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]
    assert found(RULE, run.trace(deviceProperties=devices)) == []
    (row,) = found(RULE, run.trace())
    assert row.saving_ns is None
