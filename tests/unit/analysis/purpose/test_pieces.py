"""What the pieces of a step are for."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.purpose import pieces
from tb_privateuse1.analysis.purpose.pieces import (
    BACKWARD,
    BEHIND,
    BETWEEN,
    FORWARD,
    OPTIMIZER,
    OTHER,
)
from tb_privateuse1.trace.model import NONE
from tests.support.autograd import TrainingProgram


def program(steps: int = 3, rows: int = 64) -> TrainingProgram:
    """Steps with one more operator ahead of each pass, before and behind the optimizer."""
    run = TrainingProgram()
    for _ in range(steps):
        with run.step():
            run.rest(1)
            run.op("aten::ones", 5)
            layers = run.forward(rows, 64, 64)
            run.backward(layers)
            run.op("aten::norm", 5)
            run.optimize((64, 64), (64, 64))
            run.op("aten::histc", 5)
            run.rest(1)
    return run


def test_each_piece_of_a_step_has_its_purpose() -> None:
    found = pieces.pieces(program().trace())
    first = found.take(np.flatnonzero(found.step == 0))
    distinct = first.purpose[np.append(True, first.purpose[1:] != first.purpose[:-1])]
    assert distinct.tolist() == [OTHER, FORWARD, BACKWARD, OTHER, OPTIMIZER, OTHER]
    others = first.take(np.flatnonzero(first.purpose == OTHER))
    assert others.place.tolist() == [NONE, BETWEEN, BEHIND]
    assert (first.end_ns[:-1] <= first.start_ns[1:]).all()


def test_a_function_around_both_passes_is_divided_and_no_other() -> None:
    run = TrainingProgram()
    for _ in range(3):
        with run.step():
            run.rest(1)
            with run.frame("train.py(3): step"):
                run.rest(1)
                layers = run.forward(64, 64, 64)
                run.backward(layers)
                run.optimize((64, 64), (64, 64))
                with run.frame("train.py(9): log"):
                    run.op("aten::item", 5)
                    run.op("aten::item", 5)
                run.rest(1)
            run.rest(1)
            with run.frame("train.py(20): measure"):
                run.rest(5)
            run.rest(1)
    trace = run.trace()
    found = pieces.pieces(trace)
    behind = found.take(np.flatnonzero(found.place == BEHIND))
    frames = behind.row - len(trace.ops)
    names = [trace.text(trace.frames.name[row]) for row in frames.tolist()]
    assert names == ["train.py(9): log", "train.py(20): measure"] * 3
    assert behind.loop.tolist() == [True, False] * 3


def test_nothing_is_known_without_a_backward_pass() -> None:
    run = TrainingProgram()
    for _ in range(3):
        with run.step():
            run.forward(64, 64, 64)
    assert len(pieces.pieces(run.trace())) == 0


def test_steps_are_those_of_a_host_that_runs_ahead() -> None:
    """The device is still in the first step when the host is done with all of them."""
    found = pieces.pieces(program(rows=2_000_000).trace())
    assert found.step[found.place == BEHIND].tolist() == [0, 1, 2]
