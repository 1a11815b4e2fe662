"""The functions of the user's program, by both encodings of stacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_privateuse1.analysis.operators import user_functions
from tests.support import make

SOURCE = [["/job/train.py", [[1, "step", {"item": [4], "relu": [5, 7]}]]]]


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ("torch/nn/functional.py(9): relu;train.py(3): step;run.py(1): main", "train.py:3 in step"),
        ("<built-in function relu>;nn.Module: Net_0;net.py(5): forward", "net.py:5 in forward"),
        ("/env/lib/python3.11/site-packages/hf/x.py(2): f;torch/x.py(1): g",
         "/env/lib/python3.11/site-packages/hf/x.py:2 in f"),
        ("threading.py(99): run;contextlib.py(1): inner;a.py(4): <module>", "a.py:4 in <module>"),
        ("torch/optim/sgd.py(1): step", None),
        ("<built-in method item>", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_innermost_function_outside_of_libraries(frames: str, expected: str | None) -> None:
    assert user_functions.listed_title(make.trace(), frames, begins=False) == expected


def test_the_function_with_most_of_the_time() -> None:
    trace = make.trace(
        make.frame("a.py(1): f", 0, 100), make.op("aten::mm", 10, 30, id=1),
        make.frame("b.py(2): g", 100, 300), make.op("aten::mm", 110, 250, id=2),
    )  # fmt: skip
    assert str(user_functions.of_operators(trace, np.array([0, 1]))) == "g (b.py:2)"


def test_stacks_in_the_operators_arguments_have_the_lines_of_calls() -> None:
    arguments: dict[str, Any] = {"Call stack": "torch/x.py(1): y;train.py(8): step"}
    trace = make.trace(make.op("aten::mm", 0, 10, **arguments))
    found = user_functions.of_operators(trace, np.array([0]))
    assert found is not None
    assert (found.line, found.call_lines, found.call_known_from) == (None, (8,), "stack")
    assert str(found) == "train.py:8 in step"


def test_without_stacks_there_is_no_function() -> None:
    trace = make.trace(make.op("aten::mm", 0, 10), make.launch(1, 2, 1))
    assert user_functions.of_operators(trace, np.array([0])) is None
    assert user_functions.of_launches(trace, np.array([0])) is None


def test_the_function_around_a_call_by_time() -> None:
    """Frames around a call are found by thread and time."""
    trace = make.trace(
        make.frame("a.py(9): begin", 0, 1),
        make.frame("a.py(1): main", 5, 100), make.frame("torch/cuda.py(3): synchronize", 10, 50),
        make.launch(20, 30, 1), make.frame("other.py(1): f", 0, 100, thread=2),
    )  # fmt: skip
    assert str(user_functions.of_launches(trace, np.array([0]))) == "main (a.py:1)"


def test_a_backward_operator_has_the_function_of_its_forward_one() -> None:
    forward = {"Sequence number": 7, "Fwd thread id": 0}
    back = {"Sequence number": 7, "Fwd thread id": 1}
    trace = make.trace(
        make.frame("a.py(9): begin", 0, 1),
        make.frame("a.py(1): step", 5, 20), make.op("aten::mm", 6, 10, id=1, **forward),
        make.op("MmBackward0", 30, 40, id=2, thread=2, **back),
    )  # fmt: skip
    (row,) = [i for i in (0, 1) if trace.text(trace.ops.name[i]) == "MmBackward0"]
    assert str(user_functions.of_operators(trace, np.array([row]))) == "step (a.py:1)"


@pytest.mark.parametrize(
    ("called", "lines"),
    [
        ("<built-in method item of Tensor object at 0x7f>", (4,)),
        ("torch/nn/functional.py(9): relu", (5, 7)),
        ("<built-in method sort of list object at 0x7f>", ()),
    ],
)
def test_the_line_of_the_call_from_the_source(called: str, lines: tuple[int, ...]) -> None:
    trace = make.trace(
        make.frame("train.py(9): begin", 0, 1),
        make.frame("train.py(1): step", 5, 20), make.frame(called, 6, 12),
        make.op("aten::x", 7, 11), tb_privateuse1_functions=SOURCE,
    )  # fmt: skip
    found = user_functions.of_operators(trace, np.array([0]))
    assert found is not None
    assert (found.call_lines, found.call_known_from) == (lines, "source" if lines else None)
    ways = {1: ", call at line 4 (known from the source)", 0: ""}
    assert str(found) == "step (train.py:1)" + ways.get(
        len(lines), ", call at line 5 or 7 (known from the source)"
    )


def test_a_source_with_another_function_at_that_line_says_nothing() -> None:
    trace = make.trace(
        make.frame("train.py(9): begin", 0, 1),
        make.frame("train.py(2): step", 5, 20), make.frame("<built-in method item of X>", 6, 12),
        make.op("aten::x", 7, 11), tb_privateuse1_functions=SOURCE,
    )  # fmt: skip
    found = user_functions.of_operators(trace, np.array([0]))
    assert found is not None
    assert (found.title, found.call_lines) == ("step (train.py:2)", ())


def test_the_users_function_is_named_with_the_librarys_inside() -> None:
    """A package beside the program's own is a library, where the entry tells them apart."""
    trace = make.trace(
        make.frame("job/main.py(9): begin", 0, 1),
        make.frame("job/main.py(3): run", 5, 30), make.frame("nn.Module: MLP_0", 6, 29),
        make.frame("hf/mlp.py(5): forward", 7, 28), make.op("aten::mm", 8, 20),
    )  # fmt: skip
    found = user_functions.of_operators(trace, np.array([0]))
    assert found is not None
    assert (found.title, found.inner) == ("run (job/main.py:3)", "MLP.forward (hf/mlp.py:5)")
    assert str(found) == "run (job/main.py:3) → MLP.forward (hf/mlp.py:5)"
