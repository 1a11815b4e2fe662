"""The line of the user's program, by both encodings of stacks."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.functions import user_functions
from tests.support import make


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ("torch/nn/functional.py(9): relu;train.py(3): step;run.py(1): main", "train.py(3): step"),
        ("<built-in function relu>;nn.Module: Net_0;net.py(5): forward", "net.py(5): forward"),
        ("/env/lib/python3.11/site-packages/hf/x.py(2): f;torch/x.py(1): g",
         "/env/lib/python3.11/site-packages/hf/x.py(2): f"),
        ("threading.py(99): run;contextlib.py(1): inner;a.py(4): <module>", "a.py(4): <module>"),
        ("torch/optim/sgd.py(1): step", None),
        ("<built-in method item>", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_innermost_line_of_the_user(frames: str, expected: str | None) -> None:
    """The innermost frame outside of libraries is the user's line."""
    assert source_lines.user_line(frames) == expected


def test_the_line_with_most_of_the_time() -> None:
    """The line with the most time is returned."""
    trace = make.trace(
        make.frame("a.py(1): f", 0, 100), make.op("aten::mm", 10, 30, id=1),
        make.frame("b.py(2): g", 100, 300), make.op("aten::mm", 110, 250, id=2),
    )  # fmt: skip
    assert source_lines.operator_line(trace, np.array([0, 1])) == "b.py(2): g"


def test_stacks_in_the_operators_arguments() -> None:
    """Stacks in the arguments are read, too."""
    arguments = {"Call stack": "torch/x.py(1): y;train.py(8): step"}
    trace = make.trace(make.op("aten::mm", 0, 10, **arguments))
    assert source_lines.operator_line(trace, np.array([0])) == "train.py(8): step"


def test_without_stacks_there_is_no_line() -> None:
    """Without stacks the line is None."""
    trace = make.trace(make.op("aten::mm", 0, 10), make.launch(1, 2, 1))
    assert source_lines.operator_line(trace, np.array([0])) is None
    assert source_lines.launch_line(trace, np.array([0])) is None


def test_the_line_around_a_call_by_time() -> None:
    """Frames around a call are found by thread and time."""
    trace = make.trace(
        make.frame("a.py(1): main", 0, 100), make.frame("torch/cuda.py(3): synchronize", 10, 50),
        make.launch(20, 30, 1), make.frame("other.py(1): f", 0, 100, thread=2),
    )  # fmt: skip
    assert source_lines.launch_line(trace, np.array([0])) == "a.py(1): main"
